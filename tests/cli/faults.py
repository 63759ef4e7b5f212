"""Faults of the operating system, one at a time: every command that writes, with the n-th call of a kind failing
(tests/faults, loaded before the program), and what must hold afterwards."""

import collections
import os
import shutil

import harness

LIBRARY = os.environ.get("PERGOLA_FAULTS", "")

GRAVITY = """
[run]
end_time = 0.125
device = "cpu"
threads = 1
[particles]
model = "plummer"
n = 64
[output]
snapshots_every = 0.0625
energy_every = 0.0625
checkpoints_kept = 1
"""
TREE = GRAVITY + """
force_audit_every = 8
[gravity]
solver = "tree"
softening = 0.01
[time]
integrator = "leapfrog"
step = 0.0078125
"""
PLASMA = """
[run]
end_time = 2
device = "cpu"
threads = 1
[plasma]
lengths = "debye"
cells = [32, 8]
cell_size = 0.5
background = true
[[plasma.species]]
name = "electrons"
charge = -1
mass = 1
particles_per_cell = 4
temperature = 1
[output]
snapshots_every = 1
energy_every = 0.5
"""

# What the operating system refuses, and memory.
FILE_KINDS = ("open", "write", "reserve", "truncate", "sync", "close", "rename", "mkdir", "remove")
KINDS = (*FILE_KINDS, "alloc")
PROMISED = {**{kind: 3 for kind in FILE_KINDS}, "alloc": 4, "mpi": 3}

Call = collections.namedtuple("Call", "kind number what second")


def calls(log):
    """The calls that the library has logged, in their order."""
    lines = (line.split("\t") for line in log.read_text().splitlines())
    return [Call(line[0], int(line[1]), line[2], line[3] if len(line) > 3 else "") for line in lines]


def with_variables(launcher, variables):
    """For the program alone: mpirun itself is left alone."""
    return [*launcher, "/usr/bin/env", *(f"{name}={value}" for name, value in variables.items())]


def run_under(directory, args, fault="", log=None, launcher=(), rank=None, every=None, **options):
    """Runs the program with the library loaded; calls about files in `directory` count, and of small allocations one in
    `every` (None: as the library does by itself)."""
    variables = {"LD_PRELOAD": LIBRARY, "PERGOLA_FAULT_UNDER": str(directory), "PERGOLA_FAULT": fault}
    if log:
        variables["PERGOLA_FAULT_LOG"] = str(log)
    if rank is not None:
        variables["PERGOLA_FAULT_RANK"] = str(rank)
    if every is not None:
        variables["PERGOLA_FAULT_EVERY"] = str(every)
    if launcher:
        return harness.run(args, launcher=with_variables(launcher, variables), **options)
    return harness.run(args, env={**os.environ, **variables}, **options)


def tree(directory):
    """Every file in a directory with its contents."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*"))
            if path.is_file()}


class Scenario:
    """A command, what lies there before, and what must hold after a fault. `work` is its folder."""

    def __init__(self, name, args, before=(), outputs=()):
        self.name, self.args, self.before, self.outputs = name, args, before, outputs

    def make_template(self, folder):
        """What lies there before the command: made once, copied for every try."""
        folder.mkdir()
        for command in self.before:
            if callable(command):
                command(folder)
            else:
                self.good(folder, *command)
        self.template = folder
        self.untouched = tree(folder)

    def good(self, work, *args):
        result = harness.run([str(arg).format(work=work) for arg in args])
        assert result.returncode == 0, f"{self.name}: {args}: {result.stderr}"

    def command(self, work):
        return [str(arg).format(work=work) for arg in self.args]

    def begin(self, work):
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(self.template, work)

    def reference(self, work):
        """Undisturbed; returns the calls. What it leaves is what other tries are held against."""
        self.begin(work)
        log = work.parent / "calls.log"
        log.unlink(missing_ok=True)
        result = run_under(work, self.command(work), log=log)
        assert result.returncode == 0, f"{self.name}: {result.stderr}"
        self.wanted = self.result(work)
        return calls(log)

    def result(self, work):
        return tree(work)

    def leftovers(self, work):
        """Half-written files and locks."""
        return [name for name in tree(work) if ".pergola-tmp-" in name or name.endswith(".lock")]

    def problems(self, work, fault):
        """Runs the command with one fault; returns its exit code and what is not as promised."""
        self.begin(work)
        kind = fault.split(":")[0]
        result = run_under(work, self.command(work), fault=fault)
        found = []
        if result.returncode not in (0, PROMISED[kind]):
            found.append(f"exit code {result.returncode}: {result.stderr.strip()[-300:]}")
        if result.returncode != 0 and not 1 <= (lines := len(harness.lines_said(result.stderr))) <= 3:
            found.append(f"{lines} lines on stderr: {result.stderr.strip()[-300:]}")
        if kind != "remove" and self.leftovers(work):
            found.append(f"left behind: {self.leftovers(work)}")
        return result.returncode, found + self.state(work, result.returncode, kind)

    def state(self, work, code, kind):
        left = tree(work)
        if kind == "remove":  # what could not be removed lies there, under a name that nobody takes for an output
            left = {name: data for name, data in left.items() if ".pergola-tmp-" not in name}
        if code == 0:
            return [] if left == self.wanted else ["exit code 0, but the output is not the undisturbed one"]
        if kind in ("sync", "alloc") and left == self.wanted and set(left) == set(self.untouched):
            return []  # replaced, whole, and what failed came after that: docs/faults.md
        if left != self.untouched:
            return [f"changed although it failed: {sorted(set(left.items()) ^ set(self.untouched.items()))}"[:300]]
        return []


class RunScenario(Scenario):
    """A run: after a fault every piece is whole, and a resume comes to the same bits as the undisturbed run."""

    def result(self, work):
        return harness.run_bits(work / "out")

    def state(self, work, code, kind):
        out = work / "out"
        if code == 0:
            return [] if self.result(work) == self.wanted else ["exit code 0, but not the bits of the undisturbed run"]
        found = []
        if out.exists():
            verified = harness.run(["info", out, "--verify"])
            if verified.returncode != 0 and tree(out):
                found.append(f"not whole: {verified.stdout}{verified.stderr}")
        resumed = harness.run(["run", work / "run.toml", "-o", out, "--resume", "--quiet"])
        if resumed.returncode != 0:
            return found + [f"the resume: exit code {resumed.returncode}: {resumed.stderr.strip()}"]
        if self.result(work) != self.wanted:
            found.append("the resumed run has not the bits of the undisturbed one")
        if self.leftovers(work):
            found.append(f"left behind by the resume: {self.leftovers(work)}")
        return found


def write(name, text):
    return lambda work: (work / name).write_text(text)


def scenarios():
    plummer = ["ic", "plummer", "--n", "300", "--seed", "1", "-o", "{work}/a.hdf5"]
    run = ["run", "{work}/run.toml", "-o", "{work}/out"]

    def resumed(name, text, half):
        """Half of the run lies there."""
        return RunScenario(name, [*run, "--resume"],
                           [write("run.toml", text), [*run, "--set", f"run.end_time={half}"]])

    return [
        Scenario("ic", plummer),
        Scenario("ic-binary", [*plummer[:-1], "{work}/a.g2"]),
        Scenario("ic-csv", [*plummer[:-1], "{work}/a.csv"]),
        Scenario("ic-overwrite", [*plummer, "--overwrite"], [[*plummer[:5], "2", *plummer[6:]]]),
        Scenario("convert", ["convert", "{work}/a.hdf5", "{work}/b.g2"], [plummer]),
        Scenario("merge", ["merge", "{work}/a.hdf5", "{work}/a.hdf5", "--pericentre", "1", "--separation", "9", "-o",
                           "{work}/b.hdf5"], [plummer]),
        Scenario("picture", ["picture", "{work}/a.hdf5", "--size", "64", "--threads", "1", "-o", "{work}/a.png"], [plummer]),
        Scenario("force", ["force", "{work}/a.hdf5", "--solver", "direct", "--threads", "1", "--dump",
                           "{work}/f.hdf5"], [plummer]),
        Scenario("plot", ["plot", "{work}/out", "-o", "{work}/plots"], [write("run.toml", GRAVITY), run]),
        RunScenario("run", run, [write("run.toml", GRAVITY)]),
        RunScenario("run-tree", run, [write("run.toml", TREE)]),
        RunScenario("run-plasma", run, [write("run.toml", PLASMA)]),
        resumed("resume", GRAVITY, 0.0625),
        resumed("resume-tree", TREE, 0.0625),
        resumed("resume-plasma", PLASMA, 1),
    ]


def by_name(name):
    return next(scenario for scenario in scenarios() if scenario.name == name)


def spread(count, most):
    """At most so many of 1 ... count, the first and the last with them."""
    if count <= most:
        return list(range(1, count + 1))
    return sorted({1 + round(k * (count - 1) / (most - 1)) for k in range(most)} if most > 1 else {1 + count // 2})


def counted(log, kind):
    return max((call.number for call in log if call.kind == kind), default=0)

"""Runs of every method that are killed, interrupted, starved and resumed at random, against the bits of the undisturbed run.
Called by scripts/soak.sh. Times only choose where a run is hit: none makes it fail."""

import argparse
import collections
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import faults
import harness

OUTPUT = """
[output]
snapshots_every = {snapshots}
energy_every = {energies}
checkpoint_every_minutes = 0.002
"""
STARS = """
[run]
end_time = {end}
device = "cpu"
threads = 1
[particles]
model = "plummer"
n = {n}
seed = 3
[gravity]
solver = "{solver}"
softening = 0.01
[time]
{time}
""" + OUTPUT
ELECTRONS = """
[run]
end_time = 20
device = "cpu"
threads = 1
[plasma]
lengths = "debye"
cells = {cells}
cell_size = 0.5
background = true
[[plasma.species]]
name = "electrons"
charge = -1
mass = 1
particles_per_cell = 16
temperature = 1
[time]
step = 0.1
""" + OUTPUT.format(snapshots=5, energies=1)


def stars(solver, n, end, steps):
    return STARS.format(solver=solver, n=n, end=end, time=steps, snapshots=end / 4, energies=end / 16)


LEAPFROG = 'integrator = "leapfrog"\n'
METHODS = {
    "direct-hermite": stars("direct", 256, 2, 'integrator = "hermite"'),
    "direct-leapfrog": stars("direct", 256, 2, LEAPFROG + "step = 0.001"),
    "tree": stars("tree", 1000, 0.25, LEAPFROG + "step = 0.0078125"),
    "tree-block": stars("tree", 1000, 0.25, LEAPFROG + 'steps = "block"'),
    "mesh": stars("mesh", 4000, 0.5, LEAPFROG + "step = 0.0078125").replace("softening = 0.01", """
[gravity.mesh]
cells = 16
boundary = "isolated\""""),
    "treepm": stars("treepm", 1000, 0.125, LEAPFROG + "step = 0.0078125").replace("softening = 0.01", """softening = 0.05
[gravity.mesh]
box = 40
box_corner = [-20, -20, -20]"""),
    "plasma-2d": ELECTRONS.format(cells="[32, 16]"),
    "plasma-3d": ELECTRONS.format(cells="[8, 8, 8]"),
}


class Soak:
    def __init__(self, top, chance, device):
        self.top, self.chance, self.device = top, chance, device
        self.tries = 0
        self.hits = collections.Counter()
        self.differences = []
        self.references = {}
        self.disk = None if not self.mount("4m") else top / "disk"

    def mount(self, size):
        """A small disk of its own, where that is allowed."""
        disk = self.top / "disk"
        disk.mkdir(exist_ok=True)
        mounted = os.path.ismount(disk)
        options = f"remount,size={size}" if mounted else f"size={size}"
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0 and not mounted:
            print(f"small disks: skipped ({done.stdout.strip()})", flush=True)
        return done.returncode == 0

    def configuration(self, method):
        return METHODS[method].replace('device = "cpu"', f'device = "{self.device}"')

    def reference(self, method):
        """Bits, seconds and bytes of the undisturbed run."""
        if method not in self.references:
            work = self.top / "undisturbed" / method
            work.mkdir(parents=True)
            (work / "run.toml").write_text(self.configuration(method))
            begin = time.monotonic()
            result = harness.run(["run", work / "run.toml", "-o", work / "out", "--quiet"], timeout=None)
            if result.returncode != 0:
                sys.exit(f"soak: {method}: the undisturbed run fails: {result.stderr}")
            size = sum(path.stat().st_size for path in (work / "out").rglob("*") if path.is_file())
            self.references[method] = harness.run_bits(work / "out"), time.monotonic() - begin, size
        return self.references[method]

    def hit(self, how, args, work, seconds, size):
        """One session of the run that may not reach its end; returns its exit code and those that are right."""
        if how in ("kill", "term", "usr1"):
            process = subprocess.Popen([harness.PROGRAM, *args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            try:
                process.wait(self.chance.uniform(0, 1.2 * seconds))
            except subprocess.TimeoutExpired:
                process.send_signal({"kill": signal.SIGKILL, "term": signal.SIGTERM, "usr1": signal.SIGUSR1}[how])
            said = process.communicate()[1]
            # A signal that comes before the program has begun to listen ends it.
            right = {"kill": (0, -signal.SIGKILL), "term": (0, 130, -signal.SIGTERM), "usr1": (0, -signal.SIGUSR1)}[how]
            return process.returncode, right, said
        if how == "fault":
            kind = self.chance.choice([kind for kind in faults.KINDS if kind != "remove"])
            most = 400 if kind in ("write", "alloc") else 60
            fault = f"{kind}:{self.chance.randint(1, most)}{self.chance.choice(['', '+'])}"
            result = faults.run_under(work, args, fault=fault, timeout=None)
            return result.returncode, (0, faults.PROMISED[kind]), f"{fault}: {result.stderr}"
        used = sum(path.stat().st_size for path in self.disk.rglob("*") if path.is_file())
        self.mount(f"{used + self.chance.randint(8, 2 * size // 1024) * 1024}")
        result = harness.run(args, timeout=None)
        self.mount("64m")
        return result.returncode, (0, 3), result.stderr

    def one(self, method, until):
        """One run, hit until it ends. The first sessions of a disk stay on it."""
        wanted, seconds, size = self.reference(method)
        starved = self.disk is not None and self.chance.random() < 0.3
        work = (self.disk if starved else self.top) / "work"
        shutil.rmtree(work, ignore_errors=True)
        if starved:
            self.mount("64m")
        work.mkdir()
        (work / "run.toml").write_text(self.configuration(method))
        args = [str(word) for word in ("run", work / "run.toml", "-o", work / "out", "--resume", "--quiet")]
        history = []
        for _ in range(self.chance.randint(1, 8)):
            if time.monotonic() > until:
                break
            how = self.chance.choice(["kill", "kill", "term", "usr1", "fault", "fault"] + (["disk"] * 6 if starved else []))
            code, right, said = self.hit(how, args, work, seconds, size)
            self.hits[how] += 1
            history.append(f"{how} ({code})")
            if code not in right:
                self.differ(work, method, history, f"exit code {code}, expected {right}: {said.strip()[-300:]}")
        result = harness.run(args, timeout=None)
        self.tries += 1
        left = [name for name in faults.tree(work) if ".pergola-tmp-" in name or name.endswith(".lock")]
        if result.returncode != 0:
            self.differ(work, method, history, f"the last resume: {result.stderr.strip()}")
        elif harness.run_bits(work / "out") != wanted:
            self.differ(work, method, history, "other bits")
        elif left:
            self.differ(work, method, history, f"left behind: {left}")

    def differ(self, work, method, history, what):
        kept = pathlib.Path(tempfile.mkdtemp(prefix="pergola-soak-difference-"))
        shutil.copytree(work, kept / "work")
        self.differences.append(what)
        print(f"DIFFERENT {method}: {', '.join(history)}: {what}\n  kept in {kept}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="soak.sh", description=__doc__)
    parser.add_argument("minutes", type=float)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--device", default="cpu", help="that the runs use, as run.device")
    options = parser.parse_args()
    print(f"soak: {options.minutes:g} minutes, --seed {options.seed}, --device {options.device}", flush=True)
    with tempfile.TemporaryDirectory(prefix="pergola-soak-") as folder:
        soak = Soak(pathlib.Path(folder).resolve(), random.Random(options.seed), options.device)
        if not os.path.exists(faults.LIBRARY):
            sys.exit("soak: PERGOLA_FAULTS: expected the library of tests/faults")
        until = time.monotonic() + 60 * options.minutes
        methods = sorted(METHODS)
        while time.monotonic() < until:
            soak.one(methods[soak.tries % len(methods)], until)
        if soak.disk:
            subprocess.run(["umount", str(soak.disk)], check=False)
    hits = ", ".join(f"{number} {how}" for how, number in sorted(soak.hits.items()))
    print(f"{soak.tries} runs hit {sum(soak.hits.values())} times ({hits}), {len(soak.differences)} differences")
    return 1 if soak.differences else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""The bits of every kind of trajectory: runs each solver, integrator and precision and the shortened examples, and
prints a hash of the final state of each, by particle id, with the final energy.

  scripts/bits.py build/release/pergola --device cpu -o bits.txt         # record
  scripts/bits.py build/release/pergola --device cpu --compare bits.txt  # exit code 1 where a hash differs

Bits hold for one binary, instruction set and GPU model: record and compare on the same machine.
"""
import argparse
import hashlib
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"

PLUMMER = """
[particles]
model = "plummer"
n = {n}
seed = 3
[time]
step = 0.01
[output]
snapshots_every = 0
energy_every = 0
"""

MASSES = """
[particles]
model = "galaxy"
n = 6000
seed = 5
[gravity]
solver = "tree"
softening = 0.02
[time]
integrator = "leapfrog"
step = 0.01
[run]
end_time = 0.1
[output]
snapshots_every = 0
energy_every = 0
"""

PLASMA = """
[run]
end_time = 2
precision = "{precision}"
[plasma]
lengths = "debye"
cells = {cells}
cell_size = 0.4
shape = "{shape}"
background = true
seed = 7
magnetic_field = [0, 0, 0.3]
[[plasma.species]]
name = "electrons"
charge = -1
mass = 1
particles_per_cell = 16
temperature = 1
start = "random"
[time]
step = 0.1
"""

STEPS = {
    "hermite": ["time.integrator=hermite"],
    "leapfrog": ["time.integrator=leapfrog"],
    "adaptive": ["time.integrator=leapfrog", "time.adaptive=true"],
    "block": ["time.integrator=leapfrog", "time.steps=block"],
}
# Examples with what shortens them to about a second.
SHORT = {
    "bernstein": ["run.end_time=3"],
    "cold-collapse": ["run.end_time=0.5", "particles.n=256"],
    "disc-satellite": ["run.end_time=0.4", "particles.n=20000", "gravity.mesh.cells=48"],
    "disc-spiral": ["run.end_time=0.4", "particles.n=20000", "gravity.mesh.cells=48"],
    "figure-eight": ["run.end_time=1"],
    "kepler": ["run.end_time=1"],
    "landau-damping": ["run.end_time=2"],
    "plasma-oscillation": ["run.end_time=2"],
    "plummer": ["run.end_time=0.0625", "particles.n=512"],
    "pythagorean": ["run.end_time=1"],
    "six-body": ["run.end_time=0.25"],
    "thermal": ["run.end_time=2"],
    "two-stream": ["run.end_time=2"],
}


def cases():
    """Name, configuration text (None: an example's file) and settings of every run."""
    for kernel, steps, precision in itertools.product(("plummer", "spline"), STEPS, ("single", "mixed", "double")):
        sets = [f"gravity.softening_kernel={kernel}", f"run.precision={precision}", "gravity.softening=0.01", *STEPS[steps]]
        yield f"direct/{kernel}/{steps}/{precision}", PLUMMER.format(n=700), sets + ["run.end_time=0.125"]
        if steps != "hermite":
            yield (f"tree/{kernel}/{steps}/{precision}", PLUMMER.format(n=12000),
                   sets + ["run.end_time=0.0625", "gravity.solver=tree", "time.step_max=0.015625"])
    for opening in ("gravity.tree.accuracy=1e-4", "gravity.tree.opening_angle=0.6"):
        yield (f"tree/{opening[13:]}", PLUMMER.format(n=12000),
               ["gravity.solver=tree", "time.integrator=leapfrog", "run.end_time=0.0625", opening])
    yield "tree/unequal-masses", MASSES, []
    yield "tree/unequal-softening", MASSES, ["gravity.softening={halo=0.05,disc=0.02,bulge=0.02}"]
    mesh = ["gravity.solver=mesh", "gravity.mesh.cells=32", "run.end_time=0.25"]
    for precision, assignment, kind in itertools.product(
            ("single", "double"), ("ngp", "cic", "tsc"), ("periodic-fft", "periodic-multigrid", "isolated-fft", "isolated-multigrid")):
        boundary, poisson = kind.split("-")
        box = ["gravity.mesh.box=80", "gravity.mesh.box_corner=[-40,-40,-40]"]
        yield (f"mesh/{kind}/{assignment}/{precision}", PLUMMER.format(n=20000),
               mesh + box + [f"run.precision={precision}", f"gravity.mesh.assignment={assignment}", "time.integrator=leapfrog",
                             f"gravity.mesh.boundary={boundary}", f"gravity.mesh.poisson={poisson}"])
    for steps in ("adaptive", "block"):
        yield (f"mesh/{steps}", PLUMMER.format(n=20000),
               mesh + ["gravity.mesh.boundary=isolated", *STEPS[steps]])
    for precision in ("single", "mixed", "double"):
        yield (f"treepm/{precision}", PLUMMER.format(n=20000),
               ["gravity.solver=treepm", "gravity.softening=0.05", "gravity.mesh.box=80",
                "gravity.mesh.box_corner=[-40,-40,-40]", f"run.precision={precision}", "time.integrator=leapfrog",
                "run.end_time=0.05"])
    for precision, shape, cells in itertools.product(("single", "double"), ("linear", "quadratic"), ("[32, 16]", "[16, 8, 8]")):
        dimensions = 1 + cells.count(",")
        yield f"plasma/{dimensions}d/{shape}/{precision}", PLASMA.format(precision=precision, shape=shape, cells=cells), []
    for name, sets in SHORT.items():
        yield f"example/{name}", None, sets


def add_arrays(group, order, digest):
    for name in sorted(group):
        item = group[name]
        if isinstance(item, h5py.Group):
            add_arrays(item, order, digest)
        elif item.shape and item.shape[0] == len(order) and name != "Potential":
            digest.update(np.ascontiguousarray(item[()][order]).tobytes())


def state_hash(path):
    """Of all particles' numbers, in the order of their ids."""
    digest = hashlib.sha256()
    with h5py.File(path, "r") as file:
        groups = []
        file.visititems(lambda name, item: groups.append(item) if isinstance(item, h5py.Group) and
                        ("ParticleIDs" in item or "id" in item) else None)
        for group in sorted(groups, key=lambda g: g.name):
            ids = group["ParticleIDs" if "ParticleIDs" in group else "id"][()]
            order = np.argsort(ids, kind="stable")
            digest.update(ids[order].tobytes())
            add_arrays(group, order, digest)
    return digest.hexdigest()[:16]


def run(program, device, text, name, sets, folder):
    config = EXAMPLES / (name.split("/")[1] + ".toml")
    if text is not None:
        config = folder / "run.toml"
        config.write_text(text)
    command = [program, "--device", device, "--quiet", "run", str(config), "-o", str(folder / "out"), "--overwrite"]
    for setting in sets:
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr.strip().splitlines()[0] if done.stderr else ''}"
    files = sorted([*(folder / "out").glob("snap_*.hdf5"), *(folder / "out").glob("plasma_*.h5")])
    record = json.loads((folder / "out" / "run.json").read_text())
    energy = (folder / "out" / "energy.csv").read_text().splitlines()[-1].split(",")[3]
    return f"{state_hash(files[-1])} E={energy} dE={record['energy_error']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="", help="names that begin so")
    parser.add_argument("-o", "--output", help="write the lines to this file too")
    parser.add_argument("--compare", help="lines of an earlier call; exit code 1 where a hash differs")
    options = parser.parse_args()
    before = {}
    if options.compare:
        for line in pathlib.Path(options.compare).read_text().splitlines():
            name, _, rest = line.partition(" ")
            before[name] = rest
    lines, different = [], 0
    for name, text, sets in cases():
        if not name.startswith(options.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            result = run(options.program, options.device, text, name, sets, pathlib.Path(folder))
        note = ""
        if options.compare and before.get(name, "").split(" ")[0] != result.split(" ")[0]:
            different += 1
            note = f"   DIFFERS, before: {before.get(name, 'not there')}"
        elif options.compare and before.get(name) != result:
            note = f"   same state, before: {before[name]}"
        lines.append(f"{name} {result}")
        print(lines[-1] + note, flush=True)
    if options.output:
        pathlib.Path(options.output).write_text("\n".join(lines) + "\n")
    if options.compare:
        print(f"{len(lines)} runs, {different} with other bits")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())

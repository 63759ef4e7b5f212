#!/usr/bin/env python3
"""What `pergola plan --ranks` foretells beside what runs under mpirun take: a table of seconds of a step for docs/results/plan.md.

    scripts/plan_check.py --pergola build/pergola --cases mesh     # 1, 2, 4, 8 and 16 ranks of one thread on 16 cores: a minute each
    scripts/plan_check.py --pergola build/pergola --ranks 1,2 --small

Cases: a mesh of 128^3 cells and TreePM, both with 128^3 particles of a universe, and a tree over a Plummer sphere of 1,000,000; with
--small an eighth of each. The network is the machine's memory: --network and --latency say what MPI makes of it.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import subprocess
import tempfile

UNIVERSE = """
[run]
end_time = {end}
precision = "single"
device = "cpu"
[particles]
model = "cosmology"
n = "{side}^3"
box = 100
redshift = 49
[cosmology]
omega_matter = 0.3
omega_lambda = 0.7
omega_baryon = 0.045
h = 0.7
sigma8 = 0.8
n_s = 0.96
[gravity]
softening = 0.05
solver = "{solver}"
{more}
[time]
steps = "shared"
step = 0.00390625
[output]
energy_every = 0
structure_most = 1
particles_most = 1024
"""
SPHERE = """
[run]
end_time = {end}
precision = "mixed"
device = "cpu"
[particles]
model = "plummer"
n = {n}
[gravity]
solver = "tree"
softening = 0.01
[time]
integrator = "leapfrog"
step = 0.015625
[output]
energy_every = 0
snapshots_every = 0
particles_most = 1024
"""
# In profile.csv; what is before and after the steps is not a part of them.
NOT_OF_STEPS = ("initial conditions", "start", "state hash", "report card", "energy", "snapshot", "checkpoint", "radii")


def cases(options):
    side, n = (64, 125000) if options.small else (128, 1000000)
    start = 1 / 50  # of redshift 49, as a scale factor
    mesh = f"[gravity.mesh]\ncells = {side}"
    universe = lambda steps, solver, more: UNIVERSE.format(end=start * math.exp(steps / 256), side=side, solver=solver, more=more)
    every = {
        "mesh": (f"mesh {side}^3", lambda steps: universe(steps, "mesh", mesh), 16),
        "treepm": (f"TreePM {side}^3", lambda steps: universe(steps, "treepm", ""), 2),
        "tree": (f"tree {n:,}", lambda steps: SPHERE.format(end=steps / 64, n=n), 2),
    }
    return {name: (text, steps) for word, (name, text, steps) in every.items() if word in options.cases.split(",")}


def environment():
    return dict(os.environ, PMIX_MCA_gds="hash", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                OMPI_MCA_rmaps_base_oversubscribe="1")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr.strip()[-500:]}")
    return done.stdout


def foretold(options, folder, name, text, steps):
    config = folder / (name.split()[0] + ".toml")
    config.write_text(text(steps))
    plan = json.loads(run([options.pergola, "--device", "cpu", "--threads", "1", "--json", "plan", config, "--ranks", options.ranks,
                           "--network", options.network, "--latency", options.latency]))
    return {one["ranks"]: one["compute_seconds_per_step"] + one["communication_seconds_per_step"] for one in plan["scaling"]}


def seconds_of_steps(options, folder, name, text, steps, ranks):
    config, out = folder / f"{name.split()[0]}.toml", folder / f"{name.split()[0]}-{ranks}-{steps}"
    config.write_text(text(steps))
    run(["mpirun", "--bind-to", "none", "-n", str(ranks), options.pergola, "--device", "cpu", "--threads", "1", "--quiet", "run", config, "-o", out])
    with open(out / "profile.csv", encoding="utf-8") as file:
        return sum(float(row["seconds"]) for row in csv.DictReader(file) if not row["stage"].startswith(NOT_OF_STEPS))


def taken(options, folder, name, text, steps, ranks):
    """From two runs of which one is longer: its first steps, with cold memory, and the forces at the start are no part of it."""
    short, long = (seconds_of_steps(options, folder, name, text, count, ranks) for count in (steps, 3 * steps))
    return (long - short) / (2 * steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pergola", required=True, help="the program")
    parser.add_argument("--cases", default="mesh,treepm,tree")
    parser.add_argument("--ranks", default="1,2,4,8,16")
    parser.add_argument("--network", default="3GB/s", help="what a rank sends another on the same machine")
    parser.add_argument("--latency", default="5e-7")
    parser.add_argument("--small", action="store_true", help="an eighth of the particles")
    options = parser.parse_args()
    options.pergola = pathlib.Path(options.pergola).resolve()
    counts = [int(text) for text in options.ranks.split(",")]
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as name:
        folder = pathlib.Path(name)
        # One after the other: ranks of two runs at once would share the machine's memory, which a plan knows nothing of.
        told = {case: foretold(options, folder, case, *how) for case, how in cases(options).items()}
        took = {(case, ranks): taken(options, folder, case, *how, ranks) for case, how in cases(options).items() for ranks in counts}
        print("| run | ranks | foretold (s) | taken (s) | foretold over taken |\n| --- | --- | --- | --- | --- |")
        for case in told:
            for ranks in counts:
                one, other = told[case][ranks], took[case, ranks]
                print(f"| {case} | {ranks} | {one:.4g} | {other:.4g} | {one / other:.2f} |")


if __name__ == "__main__":
    main()

"""The n-th write, open, fsync, rename, ... or allocation fails: the exit code is the promised one, nothing is half-written, what lay
there before is intact, and a resume comes to the bits of the undisturbed run. Here for a spread of n; by hand for all:
  PERGOLA=build/release/pergola PERGOLA_FAULTS=build/release/tests/libpergola_faults.so \\
      /usr/bin/python3 -B tests/cli/test_faults.py --all [SCENARIO...]
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest.mock

import faults
import harness


def order_problems(log):
    """What a power cut could tear apart: a file renamed before its contents were on disk, an older file removed before
    the new name was, and names or contents that never got there. A list of sentences."""
    found, contents, names = [], set(), set()
    for call in log:
        path = pathlib.Path(call.what)
        if path.name == ".lock" or "(deleted)" in call.what:
            continue
        if call.kind in ("write", "truncate"):
            contents.add(path)
        elif call.kind == "sync":
            contents.discard(path)
            names = {name for name in names if name.parent != path}
        elif call.kind == "rename":
            if path in contents:
                found.append(f"{call.second}: renamed before its contents were on disk")
            names.add(pathlib.Path(call.second))
        elif call.kind == "mkdir":
            names.add(path)
        elif call.kind == "remove":
            contents.discard(path)
            names.discard(path)
            found += [f"{call.what}: removed before the name of {name} was on disk" for name in names]
    return found + [f"{path}: never brought to disk" for path in contents | names]


@harness.unittest.skipUnless(faults.LIBRARY, "needs the library of tests/faults: PERGOLA_FAULTS")
class Faults(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.dir = self.dir.resolve()

    def hold(self, name, most):
        """`most`: how many faults of each kind."""
        scenario = faults.by_name(name)
        scenario.make_template(self.dir / "before")
        log = scenario.reference(self.dir / "work")
        for kind, few in most.items():
            for n in faults.spread(faults.counted(log, kind), few):
                with self.subTest(scenario=name, fault=f"{kind}:{n}"):
                    self.assertEqual(scenario.problems(self.dir / "work", f"{kind}:{n}")[1], [])

    def test_a_new_file_is_whole_or_not_there(self):
        self.hold("ic", {"open": 1, "write": 3, "reserve": 1, "sync": 2, "close": 1, "rename": 1, "alloc": 3})

    def test_a_file_that_is_replaced_stays_until_the_new_one_is_whole(self):
        self.hold("ic-overwrite", {"write": 1, "rename": 1})

    def test_other_commands_that_write(self):
        for name in ("ic-binary", "ic-csv", "convert", "merge", "picture", "force"):
            with self.subTest(name):
                harness.shutil.rmtree(self.dir / "before", ignore_errors=True)
                self.hold(name, {"write": 1, "alloc": 1})

    def test_plots_leave_no_folder_behind(self):
        self.hold("plot", {"mkdir": 1, "write": 2, "sync": 1})

    def test_a_run_goes_on_from_what_it_has(self):
        self.hold("run", {"open": 2, "write": 6, "reserve": 1, "truncate": 1, "sync": 4, "close": 2, "rename": 3, "mkdir": 2,
                          "remove": 1, "alloc": 6})

    def test_a_plasma_goes_on_from_what_it_has(self):
        self.hold("run-plasma", {"write": 2, "sync": 1, "alloc": 2})

    def test_a_write_that_fails_never_leaves_a_snapshot_without_its_numbers(self):
        """HDF5 writes some of them when a data set is closed."""
        config, work, log = self.dir / "run.toml", self.dir / "work", self.dir / "calls.log"
        config.write_text(faults.PLASMA.replace("end_time = 2", "end_time = 0.2"))
        command = ["run", config, "-o", work, "--quiet", "--overwrite"]
        self.assertEqual(faults.run_under(self.dir, command, log=log).returncode, 0)
        wanted = harness.run_bits(work)
        for n in faults.spread(faults.counted(faults.calls(log), "write"), 24):
            result = faults.run_under(self.dir, command, fault=f"write:{n}")
            self.assertIn(result.returncode, (0, 3), result.stderr)
            if result.returncode == 0:
                self.assertEqual(harness.run_bits(work), wanted, n)

    def test_a_resumed_run_can_be_resumed_again(self):
        self.hold("resume-tree", {"open": 1, "write": 4, "sync": 2, "rename": 2, "alloc": 4})


@harness.unittest.skipUnless(faults.LIBRARY, "needs the library of tests/faults: PERGOLA_FAULTS")
class PowerCut(harness.CliTest):
    """A file counts as written when it and its name are on disk; told by the order of calls."""

    def log_of(self, name):
        scenario = faults.by_name(name)
        scenario.make_template(self.dir.resolve() / "before")
        return scenario.reference(self.dir.resolve() / "work")

    def test_memory_that_ends_before_main_begins(self):
        with unittest.mock.patch.dict(os.environ, {"PERGOLA_FAULT_EVERY": "1"}):
            for n in (1, 2, 7):
                result = faults.run_under(self.dir, ["devices"], fault=f"alloc:{n}")
                self.assertEqual((result.returncode, result.stderr), (4, "pergola: cpu: out of memory\n"), n)

    def test_contents_and_names_are_on_disk_before_they_count(self):
        for name in ("ic", "run", "resume-tree", "run-plasma"):
            harness.shutil.rmtree(self.dir / "before", ignore_errors=True)
            with self.subTest(name):
                log = self.log_of(name)
                self.assertGreater(faults.counted(log, "sync"), 0)
                self.assertEqual(order_problems(log), [])

    def test_lines_that_a_checkpoint_counts_are_on_disk_before_it(self):
        log = self.log_of("run")
        energy = str(self.dir.resolve() / "work/out/energy.csv")
        checkpoint = self.dir / "work/out/checkpoint/checkpoint_000001.pgc"
        rows = int(float(re.search(rb'"energy_rows":([0-9.]+)', checkpoint.read_bytes()).group(1)))
        written = on_disk = 0
        for call in log:
            written += (call.kind, call.what) == ("write", energy)
            if (call.kind, call.what) == ("sync", energy):
                on_disk = written
            if call.kind == "rename" and call.second.endswith("checkpoint_000001.pgc"):
                break
        self.assertGreater(rows, 1)
        self.assertGreaterEqual(on_disk, rows)

    def test_the_order_is_seen(self):
        """The rules above find what they are to find."""
        call = faults.Call
        good = [call("write", 1, "/d/.t", ""), call("sync", 1, "/d/.t", ""), call("rename", 1, "/d/.t", "/d/a"),
                call("sync", 2, "/d", ""), call("remove", 1, "/d/b", "")]
        self.assertEqual(order_problems(good), [])
        for missing, says in ((1, "before its contents"), (3, "removed before the name of /d/a")):
            self.assertIn(says, order_problems(good[:missing] + good[missing + 1:])[0])


@harness.unittest.skipUnless(faults.LIBRARY, "needs the library of tests/faults: PERGOLA_FAULTS")
@harness.needs_mpi
class MpiFaults(harness.CliTest):
    def test_a_call_that_fails_on_one_rank_ends_all(self):
        config, out = self.dir / "run.toml", self.dir / "out"
        config.write_text(faults.GRAVITY)
        log = self.dir / "calls.log"
        args = ["run", config, "-o", out, "--quiet"]
        self.assertEqual(faults.run_under(self.dir, args, log=log, launcher=harness.MPIRUN, rank=1).returncode, 0)
        wanted = harness.run_bits(out)
        harness.shutil.rmtree(out)
        count = faults.counted(faults.calls(log), "mpi")
        self.assertGreater(count, 20)
        result = faults.run_under(self.dir, args, fault=f"mpi:{count // 2}", launcher=harness.MPIRUN, rank=1)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("MPI_", result.stderr)
        self.good("run", config, "-o", out, "--resume", "--quiet")
        self.assertEqual(harness.run_bits(out), wanted)

    def test_a_disk_that_is_full_on_one_rank_loses_nothing(self):
        """As where each node has a disk of its own: rank 1 cannot write its part of a checkpoint."""
        config, out = self.dir / "run.toml", self.dir / "out"
        config.write_text(faults.TREE)
        self.good("run", config, "-o", self.dir / "whole", "--quiet")
        args = ["run", config, "-o", out, "--quiet"]
        result = harness.run([*args, "--set", "run.end_time=0.0625"], launcher=harness.MPIRUN)
        self.assertEqual(result.returncode, 0, result.stderr)
        before = {path.name: path.read_bytes() for path in out.glob("checkpoint/*")}
        result = faults.run_under(self.dir, [*args, "--resume"], fault="write:1+", launcher=harness.MPIRUN, rank=1)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertEqual(result.stderr.count("No space left"), 1, result.stderr)
        self.assertEqual({path.name: path.read_bytes() for path in out.glob("checkpoint/*")}, before)
        self.good(*args, "--resume")
        self.assertEqual(harness.run_bits(out), harness.run_bits(self.dir / "whole"))

    def wait_for(self, true):
        deadline = time.monotonic() + 60
        while not true():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def test_ranks_that_end_while_others_give_names_leave_no_file(self):
        """Rank 0 is told to end, and is gone, before rank 1 names the last two of four files."""
        there = lambda number: (self.dir / f"a.{number}.hdf5").exists()
        launcher = faults.with_variables(harness.MPIRUN, {
            "LD_PRELOAD": faults.LIBRARY, "PERGOLA_FAULT_UNDER": self.dir, "PERGOLA_FAULT_RANK": 1,
            "PERGOLA_FAULT": "rename:1:stop"})
        mpirun = subprocess.Popen([*launcher, harness.PROGRAM, "--device", "cpu", "ic", "plummer", "--n", "100", "--files", "4",
                                   "-o", self.dir / "a.hdf5"], stderr=subprocess.DEVNULL)
        try:
            self.wait_for(lambda: there(1))
            # .a.0.hdf5.pergola-tmp-PID-0
            first, last = (int(next(self.dir.glob(f".a.{number}.*")).name.split("-")[-2]) for number in (0, 3))
            mpirun.send_signal(signal.SIGSTOP)  # or it would end rank 1 too soon
            os.kill(first, signal.SIGTERM)
            self.wait_for(lambda: not there(1))
            os.kill(last, signal.SIGCONT)
            self.wait_for(lambda: there(2) and there(3))
        finally:
            mpirun.send_signal(signal.SIGCONT)
            if mpirun.poll() is None:
                mpirun.terminate()
        self.assertNotEqual(mpirun.wait(timeout=60), 0)
        self.assertEqual(self.files(), [])


def by_hand(names):
    """All n of every kind, and for writes also a disk that stays full; prints a line per scenario and kind."""
    assert faults.LIBRARY, "PERGOLA_FAULTS: expected the library of tests/faults"
    wrong = tries = 0
    with tempfile.TemporaryDirectory(prefix="pergola-faults-") as folder:
        top = pathlib.Path(folder).resolve()
        for scenario in faults.scenarios():
            if names and scenario.name not in names:
                continue
            scenario.make_template(top / f"{scenario.name}-before")
            log = scenario.reference(top / scenario.name)
            for kind, on in [(kind, "") for kind in faults.KINDS] + [("write", "+")]:
                count, passed, begin = faults.counted(log, kind), 0, time.monotonic()
                for n in range(1, count + 1):
                    code, found = scenario.problems(top / scenario.name, f"{kind}:{n}{on}")
                    passed += code == 0
                    wrong += bool(found)
                    for problem in found:
                        print(f"WRONG {scenario.name} {kind}:{n}{on}: {problem}", flush=True)
                tries += count
                if count:
                    print(f"{scenario.name:<16}{kind + on:<10}{count:>6} faults, {passed:>5} of them harmless, "
                          f"{time.monotonic() - begin:.0f} s", flush=True)
    print(f"{tries} faults, {wrong} not survived as promised")
    return 1 if wrong else 0


if __name__ == "__main__":
    if "--all" in sys.argv:
        sys.exit(by_hand(set(sys.argv[1:]) - {"--all"}))
    harness.main()

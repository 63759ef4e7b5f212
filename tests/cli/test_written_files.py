"""Whatever fails after a command has written its files, they go again; one that was replaced stays replaced, whole."""

from unittest import mock

import faults
import harness
from test_movie import fake_ffmpeg

RUN = """
[run]
end_time = 0.25
device = "cpu"
threads = 1
[particles]
model = "plummer"
n = 50
[output]
snapshots_every = 0.125
energy_every = 0.0625
"""


class WrittenFiles(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.dir = self.dir.resolve()
        self.config = self.dir / "run.toml"
        self.config.write_text(RUN)
        self.run = self.dir / "run"
        self.good("run", self.config, "-o", self.run, "--quiet")
        self.last = self.run / "snap_002.hdf5"
        ffmpeg = mock.patch.dict(harness.os.environ, fake_ffmpeg(self.dir))
        ffmpeg.start()
        self.addCleanup(ffmpeg.stop)

    def commands(self):
        """Every command that writes files, into self.dir / "new", and what it writes there."""
        to = lambda name: self.dir / "new" / name
        return [
            (["ic", "plummer", "--n", 50, "-o", to("a.hdf5")], ["a.hdf5"]),
            (["convert", self.last, to("a.csv")], ["a.csv"]),
            (["merge", self.last, self.last, "--pericentre", 1, "--separation", 9, "-o", to("a.hdf5")], ["a.hdf5"]),
            (["force", self.last, "--solver", "direct", "--device", "cpu", "--threads", 1, "--dump", to("a.hdf5")], ["a.hdf5"]),
            (["picture", self.last, "--size", 64, "--threads", 1, "-o", to("a.png")], ["a.png"]),
            (["analyze", "radii", self.last, "--device", "cpu", "--threads", 1, "-o", to("a.csv"), "--plot", to("a.svg")],
             ["a.csv", "a.svg"]),
            (["plot", self.run, "-o", to("all/plots"), "--format", "svg"],
             [f"all/plots/{name}.svg" for name in ("energy", "momentum", "lagrangian", "profile")]),
            (["movie", self.run, "--size", 64, "--threads", 1, "-o", to("a.mp4")], ["a.mp4"]),
            (["movie", self.run, "--size", 64, "--threads", 1, "-o", f"{to('frames')}/"],
             [f"frames/frame_000{k}.png" for k in range(3)]),
        ]

    def new(self):
        """All that is in self.dir / "new", folders too."""
        return sorted(str(path.relative_to(self.dir / "new")) for path in (self.dir / "new").rglob("*"))

    def begin(self):
        harness.shutil.rmtree(self.dir / "new", ignore_errors=True)
        (self.dir / "new").mkdir()

    def test_nothing_is_left_where_stdout_is_full(self):
        for command, files in self.commands():
            with self.subTest(command[0], file=files[0]), open("/dev/full", "w") as full:
                self.begin()
                self.good(*command, "--json", "--quiet")
                for file in files:
                    self.assertTrue((self.dir / "new" / file).is_file(), self.new())
                self.begin()
                result = harness.run([*command, "--json", "--quiet"], stdout=full)
                self.assertEqual(result.returncode, 3, result.stderr)
                self.assertEqual(self.new(), [])

    def test_a_file_that_was_replaced_stays_replaced(self):
        for command, files in self.commands():
            if command[0] not in ("picture", "analyze", "plot", "movie") or "frames" in files[0]:
                continue  # the others ask for --overwrite, or for an empty folder
            with self.subTest(command[0], file=files[0]), open("/dev/full", "w") as full:
                self.begin()
                self.good(*command, "--json", "--quiet")
                whole = {file: (self.dir / "new" / file).read_bytes() for file in files}
                (self.dir / "new" / files[0]).write_bytes(b"older")
                for file in files[1:]:
                    (self.dir / "new" / file).unlink()
                self.assertEqual(harness.run([*command, "--json", "--quiet"], stdout=full).returncode, 3)
                self.assertEqual(faults.tree(self.dir / "new"), {files[0]: whole[files[0]]})

    def test_files_that_come_before_one_that_fails_go_too(self):
        (self.dir / "new").mkdir()
        (self.dir / "new/all/plots/profile.svg").mkdir(parents=True)
        command = dict((command[0], command) for command, _ in self.commands())
        self.bad(2, *command["plot"], says="profile.svg")
        self.assertEqual(self.new(), ["all", "all/plots", "all/plots/profile.svg"])
        self.begin()
        (self.dir / "new/a.svg").mkdir()
        self.bad(2, *command["analyze"], says="a.svg")
        self.assertEqual(self.new(), ["a.svg"])

    @harness.unittest.skipUnless(faults.LIBRARY, "needs the library of tests/faults: PERGOLA_FAULTS")
    def test_nothing_is_left_where_memory_ends_at_last(self):
        for command, files in self.commands():
            if files[0].endswith(".mp4"):
                continue  # ffmpeg's process would fail too
            self.begin()
            log = self.dir / "calls.log"
            log.unlink(missing_ok=True)
            self.assertEqual(faults.run_under(self.dir, command, log=log, every=1).returncode, 0)
            count = faults.counted(faults.calls(log), "alloc")
            self.assertGreater(count, 12)
            for n in range(count - 11, count + 1):
                with self.subTest(command[0], file=files[0], n=n):
                    self.begin()
                    result = faults.run_under(self.dir, command, fault=f"alloc:{n}", every=1)
                    self.assertIn(result.returncode, (0, 4), result.stderr)
                    if result.returncode == 4:
                        self.assertEqual(self.new(), [])


if __name__ == "__main__":
    harness.main()

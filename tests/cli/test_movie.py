"""`pergola movie`: frames, what goes to ffmpeg, and what is refused."""

import os
import pathlib
import shutil
import signal
import stat
import subprocess
import time
import unittest

import harness
from test_pictures import HEADER, cluster, read_png


def fake_ffmpeg(folder):
    """The environment with a stand-in for ffmpeg in the PATH: the film is the raw frames, and $FFMPEG_SAID the words of
    the command line."""
    tool = folder / "bin" / "ffmpeg"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\nfor last; do :; done\ncat > \"$last\"\necho \"$@\" > \"$FFMPEG_SAID\"\n")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    return dict(os.environ, PATH=f"{tool.parent}:{os.environ['PATH']}", FFMPEG_SAID=str(folder / "bin" / "said"))


class Movie(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.run_dir = self.dir / "run"
        self.run_dir.mkdir()

    def snapshots(self, count, n=400):
        for k in range(count):
            lines = cluster(n, seed=k + 1).splitlines(keepends=True)
            scaled = [lines[0]] + [",".join(f[:2] + [str(float(x) * (1 + k)) for x in f[2:5]] + f[5:])
                                   for f in (line.split(",") for line in lines[1:])]
            (self.run_dir / f"snap_{k:03}.csv").write_text("".join(scaled))

    def movie(self, out, *more, **options):
        return self.good_json("movie", self.run_dir, "-o", f"{self.dir}/{out}", "--size", 64, "--no-legend", *more, **options)

    def test_a_folder_has_a_file_per_frame(self):
        self.snapshots(3)
        said = self.movie("frames/", "--fps", 10)
        self.assertEqual((said["frames"], said["frames_per_second"]), (3, 10))
        names = sorted(path.name for path in (self.dir / "frames").iterdir())
        self.assertEqual(names, ["frame_0000.png", "frame_0001.png", "frame_0002.png"])

    def test_the_frame_is_the_same_for_all(self):
        # Two bodies that part: at the end they are near the edges, at first in the middle of the same frame.
        for k, x in enumerate((0.1, 1.0, 2.0)):
            (self.run_dir / f"snap_{k:03}.csv").write_text(HEADER + f"1,1,{x},0,0,0,0,0\n2,1,{-x},0,0,0,0,0\n")
        said = self.movie("frames/", "--colormap", "gray", "--no-trails")
        self.assertAlmostEqual(said["width"], 2 * 1.25 * 2, delta=0.01)
        for k, x in enumerate((0.1, 1.0, 2.0)):
            row = read_png(self.dir / "frames" / f"frame_{k:04}.png")[2][32]
            self.assertGreater(row[int(32 + x / said["width"] * 64)][0], 100, k)
            self.assertLess(row[0][0], 40)
            if k == 0:
                self.assertLess(row[int(32 + 2 / said["width"] * 64)][0], 40)

    def test_films_go_through_ffmpeg(self):
        self.snapshots(2)
        self.movie("frames/")
        frames = [read_png(self.dir / "frames" / f"frame_000{k}.png")[2] for k in range(2)]
        raw = b"".join(bytes(pixel) for frame in frames for row in frame for pixel in row)
        env = fake_ffmpeg(self.dir)
        for name, words in (("film.mp4", ["-s 64x64 -r 12", "-f mp4"]), ("film.GIF", ["-r 12", "palettegen", "-loop 0 -f gif"])):
            self.movie(name, env=env)
            self.assertEqual((self.dir / name).read_bytes(), raw)  # as the stand-in copies them
            said = pathlib.Path(env["FFMPEG_SAID"]).read_text()
            for word in words:
                self.assertIn(word, said)
            (self.dir / name).unlink()
        self.good("movie", self.run_dir, "--size", 64, "--no-legend", env=env)
        self.assertEqual((self.run_dir / "film.mp4").read_bytes(), raw)
        (self.dir / "bin" / "ffmpeg").write_text("#!/bin/sh\ncat > /dev/null\nexit 1\n")
        for name in ("no.mp4", "no.gif"):
            self.bad(3, "movie", self.run_dir, "-o", self.dir / name, "--size", 64, "--no-legend", says="ffmpeg", env=env)
            self.assertFalse((self.dir / name).exists())

    def test_without_ffmpeg_there_are_frames(self):
        self.snapshots(2)
        alone = dict(os.environ, PATH="/nowhere")
        for name in ("no.mp4", "no.gif"):
            self.bad(2, "movie", self.run_dir, "-o", self.dir / name, says=["--output", name, "ffmpeg", "PNG frames"], env=alone)
            self.assertFalse((self.dir / name).exists())
        self.good("movie", self.run_dir, "--size", 64, "--no-legend", env=alone)
        self.assertEqual(len(list((self.run_dir / "frames").iterdir())), 2)

    @unittest.skipUnless(shutil.which("ffmpeg"), "needs ffmpeg")
    def test_ffmpeg_writes_both_kinds(self):
        self.snapshots(3)
        self.movie("film.gif")
        self.movie("film.mp4")
        self.assertEqual((self.dir / "film.gif").read_bytes()[:6], b"GIF89a")
        self.assertEqual((self.dir / "film.mp4").read_bytes()[4:8], b"ftyp")

    def test_bad_input_is_refused_and_leaves_nothing(self):
        self.bad(2, "movie", self.dir / "none", says="none")
        self.bad(2, "movie", self.run_dir, says=["snapshots", "none"])
        self.snapshots(1)
        self.bad(2, "movie", self.run_dir, says=["at least two snapshots", "found 1"])
        self.snapshots(3)
        before = self.files()
        for name in ("film.avi", "film"):
            self.bad(2, "movie", self.run_dir, "-o", self.dir / name, says=["--output", name, ".gif"])
        self.bad(2, "movie", self.run_dir, "-o", f"{self.run_dir}/", says="empty folder")
        self.bad(2, "movie", self.run_dir, "--every", 3, "-o", f"{self.dir}/a/", says="at least two snapshots")
        self.bad(2, "movie", self.run_dir, "-o", f"{self.dir}/a/", "--range", "3,1", says="--range")
        (self.run_dir / "snap_002.csv").write_text("nonsense\n")
        self.bad(2, "movie", self.run_dir, "-o", f"{self.dir}/a/", says="snap_002.csv")
        self.assertEqual(self.files(), before)

    def test_an_interrupt_leaves_no_half_film(self):
        self.snapshots(300, n=50)
        before = self.files()
        film = subprocess.Popen([harness.PROGRAM, "movie", str(self.run_dir), "-o", f"{self.dir}/a/", "--size", "400",
                                 "--threads", "1"], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        patience = time.monotonic() + 200
        while film.poll() is None and not any(".pergola-tmp-" in name for name in self.files()):
            self.assertLess(time.monotonic(), patience)
            time.sleep(0.05)
        film.send_signal(signal.SIGINT)
        said = film.communicate(timeout=200)[1]
        self.assertEqual(film.returncode, 130, said)
        self.assertEqual(self.files(), before)


if __name__ == "__main__":
    harness.main()

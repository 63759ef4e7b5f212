"""`pergola movie`: frames, the animated GIF read by a decoder of its own, what goes to ffmpeg, and what is refused."""

import os
import signal
import stat
import struct
import subprocess
import time

import harness
from test_pictures import HEADER, cluster, read_png


def read_gif(path):
    """Frames as rows of (r, g, b), and the pauses in hundredths of a second, by the GIF89a specification."""
    data = path.read_bytes()
    assert data[:6] == b"GIF89a" and data[10] & 0x80 == 0
    at, frames, pauses = 13, [], []

    def blocks(at):
        body = b""
        while data[at]:
            body += data[at + 1:at + 1 + data[at]]
            at += 1 + data[at]
        return body, at + 1

    while data[at] != 0x3B:
        if data[at] == 0x21:
            body, end = blocks(at + 2)
            if data[at + 1] == 0xF9:
                pauses.append(struct.unpack("<H", body[1:3])[0])
            at = end
            continue
        assert data[at] == 0x2C
        left, top, width, height, flags = struct.unpack("<HHHHB", data[at + 1:at + 10])
        assert (left, top, flags) == (0, 0, 0x87)
        table = [tuple(data[at + 10 + 3 * k:at + 13 + 3 * k]) for k in range(256)]
        packed, end = blocks(at + 10 + 768 + 1)
        pixels = decompress(packed)
        assert len(pixels) == width * height
        frames.append([[table[p] for p in pixels[y * width:(y + 1) * width]] for y in range(height)])
        at = end
    assert at == len(data) - 1
    return frames, pauses


def decompress(packed):
    """Codes of 9 to 12 bits, the lowest bit first (Welch 1984)."""
    bits, size, words, last, out, bit = int.from_bytes(packed, "little"), 9, None, None, bytearray(), 0
    while True:
        code = bits >> bit & (1 << size) - 1
        bit += size
        if code == 256:
            words, size, last = [bytes([k]) for k in range(256)] + [b"", b""], 9, None
            continue
        if code == 257:
            return out
        word = words[code] if code < len(words) else last + last[:1]
        if last is not None and len(words) < 4096:
            words.append(last + word[:1])
        out += word
        last = word
        if len(words) == 1 << size and size < 12:
            size += 1


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

    def movie(self, out, *more):
        return self.good_json("movie", self.run_dir, "-o", f"{self.dir}/{out}", "--size", 64, "--no-legend", *more)

    def test_gif_has_the_pixels_of_the_frames(self):
        self.snapshots(3)
        said = self.movie("film.gif", "--fps", 10)
        self.assertEqual((said["frames"], said["frames_per_second"]), (3, 10))
        self.assertEqual(self.movie("frames/")["frames"], 3)
        frames, pauses = read_gif(self.dir / "film.gif")
        self.assertEqual(pauses, [10, 10, 10])
        names = sorted(path.name for path in (self.dir / "frames").iterdir())
        self.assertEqual(names, ["frame_0000.png", "frame_0001.png", "frame_0002.png"])
        for name, frame in zip(names, frames):  # at most 256 colours without text: exactly the same
            self.assertEqual(read_png(self.dir / "frames" / name)[2], frame)

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

    def test_mp4_goes_through_ffmpeg(self):
        self.snapshots(2)
        tool = self.dir / "bin" / "ffmpeg"
        tool.parent.mkdir()
        tool.write_text("#!/bin/sh\nfor last; do :; done\ncat > \"$last\"\necho \"$@\" > \"$FFMPEG_SAID\"\n")
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
        env = dict(os.environ, PATH=f"{tool.parent}:{os.environ['PATH']}", FFMPEG_SAID=str(self.dir / "said"))
        self.good("movie", self.run_dir, "-o", self.dir / "film.mp4", "--size", 64, "--no-legend", env=env)
        self.assertEqual((self.dir / "film.mp4").stat().st_size, 2 * 64 * 64 * 3)  # raw frames, as the stand-in copies them
        self.assertIn("-s 64x64 -r 12", (self.dir / "said").read_text())
        tool.write_text("#!/bin/sh\ncat > /dev/null\nexit 1\n")
        self.bad(3, "movie", self.run_dir, "-o", self.dir / "no.mp4", "--size", 64, "--no-legend", says="ffmpeg", env=env)
        self.assertFalse((self.dir / "no.mp4").exists())
        alone = dict(os.environ, PATH="/nowhere")
        self.bad(2, "movie", self.run_dir, "-o", self.dir / "no.mp4", says=["ffmpeg", ".gif"], env=alone)
        self.good("movie", self.run_dir, "--size", 64, "--no-legend", env=alone)
        self.assertTrue((self.run_dir / "film.gif").exists())

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
        self.bad(2, "movie", self.run_dir, "--every", 3, "-o", self.dir / "a.gif", says="at least two snapshots")
        self.bad(2, "movie", self.run_dir, "-o", self.dir / "a.gif", "--range", "3,1", says="--range")
        (self.run_dir / "snap_002.csv").write_text("nonsense\n")
        self.bad(2, "movie", self.run_dir, "-o", self.dir / "a.gif", says="snap_002.csv")
        self.assertEqual(self.files(), before)

    def test_an_interrupt_leaves_no_half_film(self):
        self.snapshots(300, n=50)
        before = self.files()
        film = subprocess.Popen([harness.PROGRAM, "movie", str(self.run_dir), "-o", str(self.dir / "a.gif"), "--size", "400",
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

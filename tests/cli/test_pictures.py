"""`pergola picture` and `pergola plot`: what they write, read back with Python's zlib, and what they refuse."""

import json
import math
import os
import random
import shutil
import struct
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree
import zlib

import harness

HEADER = "id,mass,x,y,z,vx,vy,vz\n"
ENERGY_HEADER = "time,kinetic,potential,total,relative_error,px,py,pz,lx,ly,lz,wall\n"


def read_png(path):
    """Width, height and rows of (r, g, b) of an 8-bit RGB file, by the PNG specification (ISO/IEC 15948)."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, width, height = 8, b"", 0, 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert (depth, colour) == (8, 2)
        if kind == b"IDAT":
            packed += body
        at += 12 + size
    raw, stride, rows, above = zlib.decompress(packed), 3 * width, [], bytearray(3 * width)
    for y in range(height):
        start = y * (stride + 1)
        rule, row = raw[start], bytearray(raw[start + 1:start + 1 + stride])
        for i in range(stride):
            left = row[i - 3] if i > 2 else 0
            corner = above[i - 3] if i > 2 else 0
            estimate = left + above[i] - corner
            paeth = min((left, above[i], corner), key=lambda v: abs(estimate - v))
            row[i] = (row[i] + (0, left, above[i], (left + above[i]) // 2, paeth)[rule]) & 255
        rows.append([tuple(row[i:i + 3]) for i in range(0, stride, 3)])
        above = row
    return width, height, rows


def svg_words(path):
    """The texts of an SVG file, without what raises and lowers their parts."""
    root = ElementTree.parse(path).getroot()
    return ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]


def cluster(n, seed=1):
    """A Plummer cluster of scale radius 1 as CSV."""
    rng = random.Random(seed)
    lines = [HEADER]
    for i in range(n):
        r = 1 / math.sqrt((rng.random() * 0.99 + 0.001) ** (-2 / 3) - 1)
        z, angle = r * (2 * rng.random() - 1), 2 * math.pi * rng.random()
        flat = math.sqrt(r * r - z * z)
        lines.append(f"{i + 1},{1 / n},{flat * math.cos(angle)},{flat * math.sin(angle)},{z},0,0,0\n")
    return "".join(lines)


class Picture(harness.CliTest):
    def csv(self, text, name="snap.csv"):
        path = self.dir / name
        path.write_text(text)
        return path

    def test_each_species_has_a_colour_of_its_own(self):
        source = self.dir / "two.csv"
        rows = ["id,mass,x,y,z,vx,vy,vz,species\n"]
        spread = random.Random(1)
        for k in range(2000):
            x = (-2 if k % 2 else 2) + spread.gauss(0, 0.3)
            rows.append(f"{k + 1},1,{x},{spread.gauss(0, 0.3)},0,0,0,0,{'disc' if k % 2 else 'bulge'}\n")
        source.write_text("".join(rows))
        self.good("picture", source, "-o", self.dir / "two.png", "--color-species", "--width", 8, "--center", "0,0,0", "--size",
                  100, "--no-legend")
        _, _, pixels = read_png(self.dir / "two.png")
        disc, bulge = pixels[50][28], pixels[50][72]
        self.assertGreater(disc[2], disc[0])
        self.assertGreater(bulge[0], bulge[2])

    def test_shows_the_cluster_bright_in_the_middle(self):
        out = self.dir / "cluster.png"
        self.good("picture", self.csv(cluster(1500)), "-o", out, "--size", 160)
        width, height, rows = read_png(out)
        self.assertEqual((width, height), (160, 160))

        def brightness(x0, y0):
            return sum(sum(rows[y][x]) for y in range(y0, y0 + 20) for x in range(x0, x0 + 20))

        self.assertGreater(brightness(70, 70), 2 * brightness(0, 70))
        self.assertEqual(self.files(), ["cluster.png", "snap.csv"])

    def test_the_particle_is_where_its_coordinates_say_on_each_axis(self):
        # Two bodies; the frame is 4 wide on 80 pixels, so 20 pixels per length about the pixel 40.
        path = self.csv(HEADER + "1,1,1,-0.5,1.5,0,0,0\n2,1,-1,0.5,-1.5,0,0,0\n")
        for axis, right, up in [("z", 1, -0.5), ("x", -0.5, 1.5), ("y", 1, 1.5)]:
            out = self.dir / "dots.png"
            self.good("picture", path, "-o", out, "--size", 80, "--axis", axis, "--width", 4, "--center", "0,0,0",
                      "--no-legend", "--colormap", "gray")
            rows = read_png(out)[2]
            self.assertGreater(rows[int(40 - 20 * up)][int(40 + 20 * right)][1], 150, axis)
            self.assertGreater(rows[int(40 + 20 * up)][int(40 - 20 * right)][1], 150, axis)
            self.assertLess(rows[int(40 + 20 * up)][int(40 + 20 * right)][1], 40, axis)

    def test_json_says_what_is_shown(self):
        text = cluster(400) + "401,1e-9,1e5,0,0,0,0,0\n"
        out = self.dir / "a.png"
        shown = self.good_json("picture", self.csv(text), "-o", out, "--size", 64, "--center", "density")
        self.assertEqual(shown["file"], str(out))
        self.assertEqual((shown["particles"], shown["pixels"], shown["axis"]), (401, 64, "z"))
        self.assertTrue(300 < shown["shown"] < 401)
        self.assertTrue(2 < shown["width"] < 12)  # the escaper does not count
        self.assertLess(max(map(abs, shown["center"])), 0.5)

    def test_the_same_picture_for_any_number_of_threads(self):
        path = self.csv(cluster(3000))
        pictures = set()
        for threads in (1, 2, 7):
            out = self.dir / f"{threads}.png"
            self.good("picture", path, "-o", out, "--size", 128, "--threads", threads, "--title", "t")
            pictures.add(out.read_bytes())
        self.assertEqual(len(pictures), 1)

    def test_a_range_is_that_of_the_colours(self):
        path, bare = self.csv(cluster(3000)), ["--size", 64, "--no-legend", "--colormap", "gray"]
        mean = lambda name: sum(c[0] for row in read_png(self.dir / name)[2] for c in row) / 64**2
        self.good("picture", path, "-o", self.dir / "low.png", "--range", "1e-4,1e-2", *bare)
        said = self.good_json("picture", path, "-o", self.dir / "high.png", "--range", "1e-2,1e3", *bare)
        self.assertEqual(said["range"], [1e-2, 1e3])
        self.assertGreater(mean("low.png"), mean("high.png") + 60)
        for text in ("1,1", "2,1", "0,1", "-1,2", "1", "1,2,3", "a,b", "nan,1"):
            self.bad(2, "picture", path, "-o", self.dir / "no.png", f"--range={text}", says="--range")

    def test_a_camera_sees_with_perspective(self):
        # From 10 along x with 90 degrees the plane of the target is 20 wide: 100 pixels, 5 to a length, y to the right.
        path = self.csv(HEADER + "1,1,0,4,2,0,0,0\n2,1,-10,-8,-6,0,0,0\n")
        said = self.good_json("picture", path, "-o", self.dir / "a.png", "--camera", "10,0,0", "--target", "0,0,0", "--fov", 90, "--size",
                              100, "--no-legend", "--colormap", "gray")
        self.assertEqual(said["camera"]["up"], [0, 0, 1])
        self.assertAlmostEqual(said["width"], 20, delta=1e-9)
        rows = read_png(self.dir / "a.png")[2]
        self.assertGreater(rows[50 - 10][50 + 20][0], 150)
        self.assertGreater(rows[50 + 15][50 - 20][0], 60)  # twice as far away: at half the distance from the middle
        self.assertLess(rows[50 + 30][50 - 40][0], 40)
        for options, word in ((["--camera", "0,4,2"], "inside particle id 1"), (["--camera", "1,2"], "--camera"),
                              (["--camera", "5,5,5", "--target", "5,5,5"], "target"), (["--target", "1,2,3"], "--camera"),
                              (["--fov", "60"], "--camera"), (["--camera", "9,0,0", "--width", "3"], "--width"), (["--camera", "9,0,0", "--axis", "x"], "--axis"),
                              (["--camera", "9,0,0", "--target", "0,0,0", "--up", "1,0,0"], "up"), (["--camera", "9,0,0", "--fov", "0"], "field of view"),
                              (["--camera", "50,0,0", "--target", "60,0,0"], "in front of the camera")):
            self.bad(2, "picture", path, "-o", self.dir / "no.png", *options, says=word)

    def test_a_volume_is_seen_by_a_camera_and_the_same_for_any_number_of_threads(self):
        path = self.csv(cluster(2000))
        volume = ["--style", "volume", "--size", 96, "--no-legend"]
        pictures = set()
        for threads in (1, 2, 5):
            said = self.good_json("picture", path, "-o", self.dir / "v.png", *volume, "--threads", threads)
            pictures.add((self.dir / "v.png").read_bytes())
        self.assertEqual(len(pictures), 1)
        self.assertGreater(said["shown"], 1000)
        rows = read_png(self.dir / "v.png")[2]
        self.assertGreater(sum(rows[48][48]), sum(rows[2][2]) + 50)
        # Two lumps on the line of sight: the nearer one is seen, whichever side the camera is on.
        spread, lines = random.Random(3), ["id,mass,x,y,z,vx,vy,vz,species\n"]
        for k in range(600):
            place = ",".join(str((1 if axis == 2 else 0) * (1 if k % 2 else -1) + spread.gauss(0, 0.1)) for axis in range(3))
            lines.append(f"{k + 1},1,{place},{k % 7},0,0,{'disc' if k % 2 else 'bulge'}\n")
        path = self.csv("".join(lines), "lumps.csv")
        middle = []
        for z in (8, -8):
            self.good("picture", path, "-o", self.dir / "l.png", *volume, "--color", "species", "--depth", 20, "--camera", f"0,0,{z}",
                      "--target", "0,0,0", "--fov", 20)
            middle.append(read_png(self.dir / "l.png")[2][48][48])
        self.assertGreater(middle[0][2], middle[0][0])  # the disc's blue from above, the bulge's orange from below
        self.assertGreater(middle[1][0], middle[1][2])
        self.good("picture", path, "-o", self.dir / "s.svg", "--style", "volume", "--color", "dispersion", "--size", 64)
        for options, word in ((["--color", "dispersion"], "--style volume"), ([*volume, "--depth", 0], "--depth"),
                              ([*volume, "--camera", "50,0,0", "--target", "60,0,0"], "in front of the camera")):
            self.bad(2, "picture", path, "-o", self.dir / "no.png", *options, says=word)

    def test_several_files_stand_side_by_side_in_one_frame(self):
        near = self.csv(HEADER + "1,1,1,0,0,0,0,0\n2,1,-1,0,0,0,0,0\n", "snap_0.csv")
        far = self.csv(HEADER + "1,1,4,0,0,0,0,0\n2,1,-4,0,0,0,0,0\n", "snap_1.csv")
        bare = ["--size", 100, "--no-legend", "--colormap", "gray", "--no-trails"]
        said = self.good_json("picture", near, far, "-o", self.dir / "a.png", *bare)
        self.assertEqual([panel["width"] for panel in said["panels"]], [10, 10])
        width, height, rows = read_png(self.dir / "a.png")
        self.assertEqual((width, height), (204, 100))
        for x in (40, 60, 104 + 10, 104 + 90):  # 10 pixels to a length about 50, and the second panel after a gap of 4
            self.assertGreater(rows[50][x][0], 150, x)
        self.assertEqual(rows[50][102], (255, 255, 255))
        self.good("picture", near, far, near, "-o", self.dir / "b.png", "--columns", 2, *bare)
        self.assertEqual(read_png(self.dir / "b.png")[:2], (204, 204))
        # One of them alone, in the frame of the series.
        self.assertEqual(self.good_json("picture", near, "-o", self.dir / "c.png", "--frame", "series", *bare)["width"], 10)
        self.assertEqual(self.good_json("picture", near, "-o", self.dir / "d.png", *bare)["width"], 2.5)
        self.bad(2, "picture", near, self.dir / "none.csv", "-o", self.dir / "no.png", says="none.csv")
        self.assertFalse((self.dir / "no.png").exists())

    def test_each_file_has_its_own_densest_place_in_the_middle(self):
        # Two clusters 300 apart: one centre for both would leave both frames empty.
        lines = cluster(300).splitlines()[1:]
        moved = [line.split(",") for line in lines]
        far = "".join(",".join([*row[:2], str(float(row[2]) + 300), *row[3:]]) + "\n" for row in moved)
        near, far = self.csv(cluster(300), "a.csv"), self.csv(HEADER + far, "b.csv")
        args = [near, far, "-o", self.dir / "both.png", "--width", 4, "--size", 64, "--no-legend"]
        panels = self.good_json("picture", *args, "--center", "density")["panels"]
        self.assertEqual([panel["width"] for panel in panels], [4, 4])
        self.assertEqual(panels[0]["shown"], panels[1]["shown"])
        self.assertGreater(panels[0]["shown"], 100)
        self.assertAlmostEqual(panels[1]["center"][0] - panels[0]["center"][0], 300, delta=1e-6)

    def test_a_frame_that_holds_nothing_is_said(self):
        path = self.csv(cluster(50))
        said = harness.run(["picture", path, "-o", self.dir / "a.png", "--center", "1000,0,0", "--width", "1", "--size", 64])
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("snap.csv: the frame holds 0 of 50 particles", said.stderr)
        self.assertEqual(len(said.stderr.splitlines()), 1, said.stderr)

    def test_svg_holds_lines_an_image_and_the_words(self):
        self.good("ic", "plummer", "--n", 2000, "--units", "gadget", "-o", self.dir / "kpc.hdf5")
        self.good("picture", self.dir / "kpc.hdf5", "-o", self.dir / "a.svg", "--size", 300, "--title", "A & <B>")
        words = svg_words(self.dir / "a.svg")
        self.assertIn("A & <B>", words)
        self.assertIn("t = 0 yr", words)
        self.assertTrue(any(word.startswith("Σ (10") for word in words), words)
        self.assertTrue(any(word.endswith(" kpc") for word in words), words)
        root = ElementTree.parse(self.dir / "a.svg").getroot()
        kinds = [element.tag.split("}")[1] for element in root.iter()]
        self.assertIn("image", kinds)
        self.assertGreater(kinds.count("path"), 5)
        self.assertGreater(kinds.count("use"), 20)  # the letters' outlines

    def test_pdf_is_one_and_has_the_words(self):
        out = self.dir / "a.pdf"
        self.good("picture", self.csv(cluster(500)), "-o", out, "--size", 200, "--title", "Cluster of stars")
        data = out.read_bytes()
        self.assertTrue(data.startswith(b"%PDF-1."))
        self.assertTrue(data.rstrip().endswith(b"%%EOF"))
        if shutil.which("pdftotext"):
            text = subprocess.run(["pdftotext", out, "-"], stdout=subprocess.PIPE, text=True, check=True).stdout
            self.assertIn("Cluster of stars", text)

    def test_without_cairo_only_text_is_missing(self):
        path, lost = self.csv(cluster(100)), dict(os.environ, PERGOLA_CAIRO=str(self.dir / "none.so"))
        for out in ("a.png", "a.svg", "a.pdf"):
            self.bad(3, "picture", path, "-o", self.dir / out, says=["libcairo2", "none.so"], env=lost)
        self.assertEqual(self.files(), ["snap.csv"])
        self.good("picture", path, "-o", self.dir / "a.png", "--no-legend", "--size", 64, env=lost)
        self.good("picture", path, "-o", self.dir / "b.png", "--no-legend", "--size", 64)
        self.assertEqual((self.dir / "a.png").read_bytes(), (self.dir / "b.png").read_bytes())

    def test_bad_input_is_refused_and_leaves_nothing(self):
        path = self.csv(cluster(20))
        out = self.dir / "a.png"
        self.bad(2, "picture", self.dir / "none.csv", "-o", out, says="none.csv")
        self.bad(2, "picture", self.csv("nonsense\n", "bad.csv"), "-o", out, says="bad.csv")
        self.bad(2, "picture", path, says="--output")
        self.bad(2, "picture", path, "-o", out, "--center", "1,2", says=["--center", "1,2"])
        self.bad(2, "picture", path, "-o", out, "--center=nan,0,0", says="--center")
        self.bad(2, "picture", path, "-o", out, "--width", "-3", says=["--width", "-3"])
        self.bad(2, "picture", path, "-o", out, "--axis", "w", says="--axis")
        self.bad(2, "picture", path, "-o", out, "--colormap", "jet", says=["--colormap", "magma"])
        self.bad(2, "picture", path, "-o", out, "--size", "2", says="--size")
        self.bad(2, "picture", path, "-o", self.dir / "no" / "a.png", says="a.png")
        for name in ("a.jpg", "a.eps", "a", "png"):
            self.bad(2, "picture", path, "-o", self.dir / name, says=["--output", name, ".png, .svg or .pdf"])
        self.assertEqual(self.files(), ["bad.csv", "snap.csv"])

    def test_the_right_end_of_the_colour_bar_is_the_brightest_colour(self):
        luma = lambda c: 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]
        for n in (400, 3000):
            path = self.csv(cluster(n))
            self.good("picture", path, "-o", self.dir / "bare.png", "--no-legend", "--size", 300)
            self.good("picture", path, "-o", self.dir / "full.png", "--size", 300, "--title", "")
            bare, full = read_png(self.dir / "bare.png")[2], read_png(self.dir / "full.png")[2]
            brightest = max((c for row in bare for c in row), key=luma)
            cap, edge = max(8, 300 / 72), 2.2 * max(8, 300 / 72)
            row = full[int(300 - edge)]
            self.assertEqual(row[int(300 - edge) - 1], brightest, n)

    def test_lengths_and_times_carry_the_units_of_the_file(self):
        self.good("ic", "plummer", "--n", 100, "--units", "gadget", "-o", self.dir / "kpc.hdf5")
        self.assertIn(" kpc wide", self.good("picture", self.dir / "kpc.hdf5", "-o", self.dir / "kpc.png"))
        self.good("ic", "plummer", "--n", 100, "-o", self.dir / "plain.hdf5")
        text = self.good("picture", self.dir / "plain.hdf5", "-o", self.dir / "plain.png")
        self.assertRegex(text, r"[0-9.]+ wide")

    def test_a_handful_of_bodies_has_trails(self):
        out = self.dir / "eight"
        self.good("run", harness.SOURCE / "examples" / "figure-eight.toml", "--set", "run.end_time=4", "--set", "output.snapshots_every=0.25",
                  "-o", out, "--quiet", "--device", "cpu", "--threads", 1)
        with_trails = self.good_json("picture", out / "snap_016.hdf5", "-o", self.dir / "a.png", "--size", 200, "--no-legend")
        without = self.good_json("picture", out / "snap_016.hdf5", "-o", self.dir / "b.png", "--size", 200, "--no-legend",
                                 "--no-trails")
        self.assertEqual(with_trails["particles"], without["particles"])
        lit = lambda name: sum(max(c) > 60 for row in read_png(self.dir / name)[2] for c in row)
        self.assertGreater(lit("a.png"), lit("b.png") + 200)

    def test_nothing_is_left_when_standard_output_is_full(self):
        path = self.csv(cluster(20))
        with open("/dev/full", "w") as full:
            for flags in ([], ["--json"]):
                result = harness.run(["picture", path, "-o", self.dir / "a.png", *flags], stdout=full)
                self.assertEqual(result.returncode, 3, result.stderr)
                result = harness.run(["force", path, "--solver", "direct", "--device", "cpu", "--dump", self.dir / "f.hdf5", *flags], stdout=full)
                self.assertEqual(result.returncode, 3, result.stderr)
        self.assertEqual(self.files(), ["snap.csv"])

    def test_a_name_with_line_ends_is_one_line_of_an_error(self):
        error = self.bad(2, "picture", self.dir / "a\nb\n\nc\td.csv", "-o", self.dir / "a.png", says="a\\nb\\n\\nc\\x09d.csv")
        self.assertEqual(len(error.splitlines()), 1)

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_a_directory_that_may_not_be_written_is_the_systems_refusal(self):
        path = self.csv(cluster(20))
        locked = self.dir / "locked"
        locked.mkdir(mode=0o555)
        self.bad(3, "picture", path, "-o", locked / "a.png", says="a.png")

    def test_help_has_an_example(self):
        for command in ("picture", "plot"):
            self.assertIn("Example", self.good(command, "--help"))


class Plot(harness.CliTest):
    def run_directory(self, energy, profile="stage,calls,seconds\nforce,10,2.5\npredict,10,0.5\n"):
        run = self.dir / "run"
        run.mkdir(exist_ok=True)
        (run / "energy.csv").write_text(energy)
        if profile is not None:
            (run / "profile.csv").write_text(profile)
        return run

    def energy(self, rows=17):
        return ENERGY_HEADER + "".join(
            f"{t / 16},0.25,-0.5,{-0.25 - 1e-8 * t},{-4e-8 * t},0,{1e-16 * t},0,0,0,0.1,{t}\n" for t in range(rows))

    def test_writes_a_plot_per_log(self):
        run = self.run_directory(self.energy())
        said = self.good_json("plot", run)
        self.assertEqual([os.path.basename(entry["file"]) for entry in said], ["energy.png", "momentum.png", "profile.png"])
        for entry in said:
            head = (run / os.path.basename(entry["file"])).read_bytes()[:24]
            self.assertEqual(struct.unpack(">II", head[16:]), (entry["width"], entry["height"]))
        rows = read_png(run / "profile.png")[2]
        lengths = [sum(pixel == (0, 114, 178) for pixel in row) for row in rows]
        self.assertAlmostEqual(max(lengths) / min(n for n in lengths if n > 0), 5, delta=0.2)  # 2.5 s and 0.5 s

    def test_vector_plots_have_the_numbers_of_their_axes(self):
        run = self.run_directory(self.energy())
        self.good("plot", run, "--format", "svg", "-o", self.dir / "svg")
        words = svg_words(self.dir / "svg" / "energy.svg")
        for word in ("Energy error", "Energies", "kinetic", "potential", "total", "time", "|E − E0| / |E0|", "0.2", "0.8", "−0.4"):
            self.assertIn(word, words)
        self.assertIn("momentum", svg_words(self.dir / "svg" / "momentum.svg"))
        self.assertIn("2.5 s · 83.3 % · 10 calls", svg_words(self.dir / "svg" / "profile.svg"))
        self.good("plot", run, "--format", "pdf")
        self.assertTrue((run / "energy.pdf").read_bytes().startswith(b"%PDF-1."))
        self.bad(2, "plot", run, "--format", "jpg", says=["--format", "svg"])
        self.bad(3, "plot", run, "-o", self.dir / "lost", says="libcairo2", env=dict(os.environ, PERGOLA_CAIRO="/none"))
        self.assertFalse((self.dir / "lost").exists())

    def test_the_energy_of_a_universe_has_the_residual_of_its_equation(self):
        run = self.run_directory(self.energy())
        (run / "run.json").write_text(json.dumps({"configuration": {"cosmology": {"omega_matter": 0.3}}}))
        self.good("plot", run, "--format", "svg")
        words = svg_words(run / "energy.svg")
        self.assertIn("residual of Layzer–Irvine / largest term", words)
        self.assertFalse([word for word in words if "E0" in word], words)

    # An AU per km/s is 4.74 years: the times of the log end at 1, those of the plot at 4.74.
    def test_radii_of_a_run_in_units_of_its_own(self):
        run = self.run_directory(self.energy())
        (run / "lagrangian.csv").write_text("time,r1,r5,r10,r25,r50,r75,r90\n0,1,2,3,4,5,6,7\n1,1,2,3,4,5,6,8\n")
        (run / "run.json").write_text(json.dumps({"configuration": {"units": {
            "system": "custom", "length_cm": 1.495978707e13, "mass_g": 1.988409870698051e33, "velocity_cm_per_s": 1e5, "time_s": 0}}}))
        self.good("plot", run, "--format", "svg")
        words = svg_words(run / "lagrangian.svg")
        for word in ("Lagrangian radii", "50 %", "radius (AU)", "time (yr)", "4"):
            self.assertIn(word, words)
        self.assertIn("energy (Msun (km/s)2)", svg_words(run / "energy.svg"))

    def test_the_name_of_one_picture_does_not_become_a_folder(self):
        self.bad(2, "plot", self.run_directory(self.energy()), "-o", self.dir / "energy.png", says=["energy.png", "folder", "--format"])
        self.assertEqual(self.files(), ["run/energy.csv", "run/profile.csv"])

    def test_other_directory_and_no_profile(self):
        run = self.run_directory(self.energy(), profile=None)
        out = self.dir / "plots"
        self.assertEqual(self.good("plot", run, "-o", out).splitlines(), [str(out / "energy.png"), str(out / "momentum.png")])
        self.assertEqual(sorted(p.name for p in run.iterdir()), ["energy.csv"])

    def test_a_line_that_is_being_written_is_left_out(self):
        self.good("plot", self.run_directory(self.energy() + "1.0625,0.2"))

    def test_bad_logs_are_refused_and_leave_nothing(self):
        self.bad(2, "plot", self.dir / "none", says="none")
        self.bad(2, "plot", self.dir, says="energy.csv")
        self.bad(2, "plot", self.run_directory(""), says="energy.csv")
        self.bad(2, "plot", self.run_directory(ENERGY_HEADER + "1,2\n"), says=["energy.csv", "line 2"])
        self.bad(2, "plot", self.run_directory(self.energy() + self.energy()), says=["line 19", "time"])
        self.bad(2, "plot", self.run_directory(self.energy(), "stage,calls\nforce,1\n"), says=["profile.csv", "seconds"])
        self.assertEqual(self.files(), ["run/energy.csv", "run/profile.csv"])


if __name__ == "__main__":
    harness.main()

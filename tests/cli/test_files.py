"""Snapshots as other programs write and read them, `pergola info` and `pergola convert`."""

import json
import os
import resource
import struct
import subprocess
import unittest

import harness
from foreign_snapshots import binary_snapshot, five_particles, write_hdf5
from harness import needs

try:
    import numpy as np
except ImportError:
    np = None
try:
    import h5py
except ImportError:
    h5py = None

CSV = "id,mass,x,y,z,vx,vy,vz\n1,0.25,0,0,0,0,1e-3,0\n7,0.75,1.5,-2,0.1,0,-3,4\n"


class Info(harness.CliTest):
    def test_describes_a_csv_snapshot(self):
        path = self.dir / "two.csv"
        path.write_text(CSV)
        info = self.good_json("info", path)
        self.assertEqual(info["format"], "csv")
        self.assertEqual(info["n"], 2)
        self.assertEqual(info["species"], {"halo": {"count": 2, "mass": 1.0}})
        self.assertEqual(info["total_mass"], 1.0)
        self.assertEqual(info["bounds"], {"min": [0, -2, 0], "max": [1.5, 0, 0.1]})
        text = self.good("info", path)
        self.assertIn("particles   2", text)

    def test_help_has_an_example(self):
        for command in ("info", "convert"):
            self.assertIn("Example:\n  pergola " + command, self.good(command, "--help"))


class RunDirectory(harness.CliTest):
    """`pergola info DIR` tells what a run left and whether it is whole."""

    def setUp(self):
        super().setUp()
        config = self.dir / "a.toml"
        config.write_text('[run]\nend_time = 0.25\n[particles]\nmodel = "plummer"\nn = 64\n[gravity]\nsoftening = 0.1\n'
                          '[time]\nintegrator = "leapfrog"\nstep = 0.0625\n[output]\nsnapshots_every = 0.125\n')
        self.good("run", config, "-o", self.dir / "out", "--quiet")

    def pieces(self, *options):
        result = harness.run(["info", self.dir / "out", "--json", *options])
        said = json.loads(result.stdout)
        return result.returncode, said, {piece["name"]: piece for piece in said["pieces"]}

    def test_whole(self):
        code, said, pieces = self.pieces("--verify")
        self.assertEqual(code, 0)
        self.assertEqual(said["status"], "finished")
        self.assertEqual(pieces["snap_001.hdf5"]["time"], 0.125)
        self.assertEqual(pieces["snap_001.hdf5"]["count"], 64)
        self.assertIn("energy.csv", pieces)
        checkpoints = [piece for piece in pieces.values() if piece["kind"] == "checkpoint"]
        self.assertEqual(len(checkpoints), 1, pieces.keys())
        self.assertIn(checkpoints[0]["time"], (0.1875, 0.25))
        self.assertEqual({piece["state"] for piece in pieces.values()}, {"whole"})
        text = self.good("info", self.dir / "out")
        self.assertIn("snap_002.hdf5", text)

    def test_damage_is_found(self):
        checkpoint = sorted((self.dir / "out" / "checkpoint").iterdir())[-1]
        for path in (self.dir / "out" / "snap_001.hdf5", checkpoint):
            data = bytearray(path.read_bytes())
            for place in range(len(data) // 2, len(data), 64):
                data[place] ^= 0x10
            path.write_bytes(data)
        code, said, pieces = self.pieces("--verify")
        self.assertEqual(code, 2)
        self.assertEqual(said["damaged"], 2)
        self.assertEqual(pieces["snap_001.hdf5"]["state"], "damaged")
        self.assertIn("snap_001.hdf5", pieces["snap_001.hdf5"]["damage"])
        self.assertEqual(pieces["snap_000.hdf5"]["state"], "whole")

    def test_a_folder_that_is_no_run(self):
        (self.dir / "empty").mkdir()
        self.bad(2, "info", self.dir / "empty", says=["empty", "directory"])


class Convert(harness.CliTest):
    def test_through_all_formats_and_back_gives_the_same_text(self):
        previous = self.dir / "start.csv"
        previous.write_text(CSV)
        for name, options in (("a.hdf5", []), ("a.gadget1", ["--double"]), ("a.g2", ["--double", "--big-endian"]),
                              ("b.dat", ["--double", "--format", "gadget1", "--big-endian"]),
                              ("c", ["--format", "hdf5"]), ("end.csv", [])):
            self.good("convert", previous, self.dir / name, *options)
            previous = self.dir / name
        self.assertEqual(previous.read_text().splitlines()[0], CSV.splitlines()[0])
        self.assertEqual([list(map(float, line.split(","))) for line in previous.read_text().splitlines()[1:]],
                         [list(map(float, line.split(","))) for line in CSV.splitlines()[1:]])

    def test_says_what_it_wrote(self):
        (self.dir / "a.csv").write_text(CSV)
        said = self.good_json("convert", self.dir / "a.csv", self.dir / "a.hdf5")
        self.assertEqual(said["n"], 2)
        self.assertEqual(said["format"], "hdf5")
        self.assertEqual(said["bytes"], (self.dir / "a.hdf5").stat().st_size)

    def precision(self, path):
        return self.good_json("info", path)["precision"]

    def test_precision_is_that_of_the_input_and_single_in_binary_files(self):
        (self.dir / "a.csv").write_text(CSV)
        for source, target, options, expected in (("a.csv", "d.hdf5", [], "double"), ("a.csv", "s.hdf5", ["--single"], "single"),
                                                  ("s.hdf5", "t.hdf5", [], "single"), ("s.hdf5", "u.hdf5", ["--double"], "double"),
                                                  ("d.hdf5", "b", [], "single"), ("d.hdf5", "b.g2", [], "single"),
                                                  ("d.hdf5", "c.g2", ["--double"], "double")):
            said = self.good_json("convert", self.dir / source, self.dir / target, *options)
            self.assertEqual(said["precision"], expected, target)
            self.assertEqual(self.precision(self.dir / target), expected, target)
        self.bad(2, "convert", self.dir / "a.csv", self.dir / "x.hdf5", "--single", "--double", says="--double")

    def test_unknown_endings_are_refused(self):
        (self.dir / "a.csv").write_text(CSV)
        for name in ("c.vtk", "c.txt", "c.hdf"):
            self.bad(2, "convert", self.dir / "a.csv", self.dir / name, says=[name, "ending", ".hdf5"])
        self.good("convert", self.dir / "a.csv", self.dir / "c.vtk", "--format", "csv")
        self.assertEqual(self.files(), ["a.csv", "c.vtk"])

    def test_what_is_there_is_not_replaced_unasked(self):
        (self.dir / "a.csv").write_text(CSV)
        (self.dir / "b.csv").write_text("mine")
        (self.dir / "c.1.hdf5").write_text("mine")
        self.bad(2, "convert", self.dir / "a.csv", self.dir / "b.csv", says=["b.csv: exists", "--overwrite"])
        self.bad(2, "convert", self.dir / "a.csv", self.dir / "c.hdf5", "--files", 2, says=["c.1.hdf5: exists"])
        self.assertEqual((self.dir / "b.csv").read_text(), "mine")
        self.assertEqual(self.files(), ["a.csv", "b.csv", "c.1.hdf5"])
        self.good("convert", self.dir / "a.csv", self.dir / "b.csv", "--overwrite")
        self.assertTrue((self.dir / "b.csv").read_text().startswith("id,mass"))

    def test_rows_without_ids_are_numbered(self):
        (self.dir / "a.csv").write_text("x,y,z,vx,vy,vz,mass\n1,0,0,0,1,0,3\n# a comment\n-1,0,0,0,-1,0,4\n")
        self.good("convert", self.dir / "a.csv", self.dir / "b.csv")
        self.assertEqual((self.dir / "b.csv").read_text(), "id,mass,x,y,z,vx,vy,vz\n1,3,1,0,0,0,1,0\n2,4,-1,0,0,0,-1,0\n")

    def test_the_input_is_never_replaced(self):
        path, other = self.dir / "two.csv", self.dir / "link.csv"
        path.write_text(CSV)
        other.symlink_to(path)
        for out in (path, other, f"{self.dir}/./two.csv"):
            self.bad(2, "convert", path, out, says=["OUT", "another file"])
        self.good("convert", path, self.dir / "two.hdf5")
        before = (self.dir / "two.hdf5").read_bytes()
        self.bad(2, "force", self.dir / "two.hdf5", "--device", "cpu", "--dump", self.dir / "two.hdf5", says=["--dump", "another file"])
        self.assertEqual((path.read_text(), (self.dir / "two.hdf5").read_bytes()), (CSV, before))

    def test_a_full_stdout_leaves_no_file(self):
        (self.dir / "a.csv").write_text(CSV)
        with open("/dev/full", "w") as full:
            result = harness.run(["convert", self.dir / "a.csv", self.dir / "b.hdf5", "--json"], stdout=full)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertEqual(self.files(), ["a.csv"])

    def test_names_that_are_not_utf8(self):
        path = os.fsencode(self.dir) + b"/a\xff.csv"
        with open(path, "w") as file:
            file.write(CSV)
        for command in (["info", path], ["convert", path, os.fsencode(self.dir) + b"/b\xfe.hdf5"]):
            result = subprocess.run([harness.PROGRAM, *command, "--json"], capture_output=True, timeout=300)
            self.assertEqual(result.returncode, 0, result.stderr)
            said = json.loads(result.stdout.decode("utf-8"))
            self.assertTrue(said["file" if command[0] == "info" else "input"].endswith("a\ufffd.csv"), said)

    @needs("numpy", "h5py")
    def test_what_is_not_carried_over_is_named(self):
        with h5py.File(self.dir / "gas.hdf5", "w") as file:
            head = file.create_group("Header")
            head.attrs["NumPart_ThisFile"] = np.array([2, 0, 0, 0, 0, 0], dtype="i4")
            gas = file.create_group("PartType0")
            gas["Coordinates"] = np.ones((2, 3))
            gas["Velocities"] = np.zeros((2, 3))
            gas["Masses"] = np.ones(2)
            gas["InternalEnergy"] = np.ones(2)
            gas["Density"] = np.ones(2)
            gas["Potential"] = np.ones(2)
        result = harness.run(["convert", self.dir / "gas.hdf5", self.dir / "b.csv"])
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in ("PartType0/InternalEnergy", "PartType0/Density", "potentials"):
            self.assertIn(name, result.stderr)
        said = self.good_json("convert", self.dir / "gas.hdf5", self.dir / "c.hdf5")
        self.assertEqual(said["not_carried"], ["PartType0/Density", "PartType0/InternalEnergy"])

    @needs("numpy", "h5py")
    def test_headers_that_mislead_are_refused(self):
        def write(name, **attributes):
            with h5py.File(self.dir / name, "w") as file:
                head = file.create_group("Header")
                head.attrs["NumPart_ThisFile"] = np.array([0, 2, 0, 0, 0, 0], dtype="i4")
                for key, value in attributes.items():
                    head.attrs[key] = value
                halo = file.create_group("PartType1")
                halo["Coordinates"] = np.ones((2, 3))
                halo["Velocities"] = np.zeros((2, 3))
                halo["Masses"] = np.ones(2)
            return self.dir / name
        self.good("info", write("good.hdf5", BoxSize=np.array([4.0, 4.0, 4.0])))
        self.bad(2, "info", write("box.hdf5", BoxSize=np.array([4.0, 4.0, 2.0])), says=["BoxSize", "equal"])
        self.bad(2, "info", write("half.hdf5", NumPart_ThisFile=np.array([0, 2.5, 0, 0, 0, 0])), says=["NumPart_ThisFile", "2.5", "whole"])
        self.bad(2, "info", write("seven.hdf5", NumPart_ThisFile=np.array([0, 2, 0, 0, 0, 0, 3], dtype="i4")), says=["NumPart_ThisFile", "type 6"])
        self.good("info", write("seven_none.hdf5", NumPart_ThisFile=np.array([0, 2, 0, 0, 0, 0, 0], dtype="i4")))
        self.bad(2, "info", write("large.hdf5", NumPart_ThisFile=np.array([0, 2**63, 0, 0, 0, 0], dtype="u8")), says="NumPart_ThisFile")

    def test_bad_options_leave_no_file(self):
        (self.dir / "a.csv").write_text(CSV)
        self.bad(2, "convert", self.dir / "a.csv", self.dir / "b", "--format", "tipsy", says="--format")
        self.bad(2, "convert", self.dir / "a.csv", self.dir / "b.hdf5", "--big-endian", says="--big-endian")
        self.bad(2, "convert", self.dir / "a.csv", says="OUT")
        self.bad(2, "convert", self.dir / "a.csv", self.dir / "nowhere" / "b.hdf5", says=["b.hdf5", "No such file"])
        self.bad(2, "convert", self.dir / "a.csv", self.dir, says="folder")
        self.assertEqual(self.files(), ["a.csv"])


@needs("numpy")
class IndependentBinary(harness.CliTest):
    """Files that an independent script wrote."""

    def check(self, name="snap", **options):
        data, pos, vel, ident, mass = binary_snapshot(**options)
        path = self.dir / name
        path.write_bytes(data)
        self.good("convert", path, self.dir / "out.csv", "--quiet", "--overwrite")
        rows = np.loadtxt(self.dir / "out.csv", delimiter=",", skiprows=1)
        np.testing.assert_array_equal(rows[:, 0], ident.astype(float))
        np.testing.assert_array_equal(rows[:, 1], mass)
        np.testing.assert_array_equal(rows[:, 2:5], pos.astype(float))
        np.testing.assert_array_equal(rows[:, 5:8], vel.astype(float))
        return self.good_json("info", path)

    def test_every_variant_is_read(self):
        for order in "<>":
            for named in (False, True):
                for real in ("f4", "f8"):
                    for ids in ("u4", "u8"):
                        with self.subTest(order=order, named=named, real=real, ids=ids):
                            info = self.check(order=order, named=named, real=real, ids=ids)
                            self.assertEqual(info["format"], "gadget2" if named else "gadget1")
                            self.assertEqual(info["byte_order"], "little" if order == "<" else "big")
                            self.assertEqual(info["precision"], "single" if real == "f4" else "double")
                            self.assertEqual(info["time"], 0.75)
                            self.assertEqual(info["species"]["halo"], {"count": 3, "mass": 1.5})
                            self.assertEqual(info["species"]["disc"]["count"], 2)

    def test_headers_of_real_files_are_accepted(self):
        self.check(num_files=0, box=0.0, totals=(0,) * 6)

    def test_no_mass_block_where_the_table_has_all(self):
        self.check(counts=(0, 4, 0, 0, 0, 0), table=(0, 0.25, 0, 0, 0, 0))

    def test_all_masses_listed(self):
        self.check(counts=(0, 4, 0, 0, 0, 0), table=(0,) * 6)


@needs("numpy", "h5py")
class SeveralFiles(harness.CliTest):
    def write_pieces(self, **options):
        options = {"totals": (0, 10, 0, 0, 0, 0), "files": 2, **options}
        write_hdf5(self.dir / "snap.0.hdf5", five_particles(), **options)
        second = five_particles()
        second["ParticleIDs"] = second["ParticleIDs"] + 100
        write_hdf5(self.dir / "snap.1.hdf5", second, **options)

    def test_any_name_of_the_snapshot_reads_all_of_it(self):
        self.write_pieces()
        for name in ("snap", "snap.hdf5", "snap.0.hdf5", "snap.1.hdf5"):
            info = self.good_json("info", self.dir / name)
            self.assertEqual((info["n"], info["files"]), (10, 2))
        self.good("convert", self.dir / "snap", self.dir / "one.csv")
        ids = [int(line.split(",")[0]) for line in (self.dir / "one.csv").read_text().splitlines()[1:]]
        self.assertEqual(ids, [1, 2, 3, 4, 5, 101, 102, 103, 104, 105])

    def test_a_missing_or_differing_piece_is_refused(self):
        self.write_pieces()
        (self.dir / "snap.1.hdf5").unlink()
        self.bad(2, "info", self.dir / "snap", says=["snap.1.hdf5", "missing"])
        write_hdf5(self.dir / "snap.1.hdf5", five_particles(), totals=(0, 11, 0, 0, 0, 0), files=2)
        self.bad(2, "info", self.dir / "snap", says="snap.1.hdf5")
        self.write_pieces(totals=(0, 11, 0, 0, 0, 0))
        self.bad(2, "info", self.dir / "snap", says="0 10 0 0 0 0")
        os.rename(self.dir / "snap.0.hdf5", self.dir / "other.hdf5")
        self.bad(2, "info", self.dir / "other.hdf5", says="2 files")

    def test_binary_pieces(self):
        totals = (0, 6, 4, 0, 0, 0)
        data = binary_snapshot(num_files=2, totals=totals)[0]
        (self.dir / "snap.0").write_bytes(data)
        (self.dir / "snap.1").write_bytes(binary_snapshot(num_files=2, totals=totals, first_id=50)[0])
        self.assertEqual(self.good_json("info", self.dir / "snap")["n"], 10)
        (self.dir / "snap.1").write_bytes(data)
        self.bad(2, "info", self.dir / "snap", says="occurs twice")


class Refusals(harness.CliTest):
    """What the operating system refuses: exit 3, its reason, and no file."""

    def setUp(self):
        super().setUp()
        rows = "".join(f"{i},1e-4,{i},0.5,0.25,0,0,0\n" for i in range(1, 5001))
        (self.dir / "a.csv").write_text("id,mass,x,y,z,vx,vy,vz\n" + rows)

    def test_a_file_system_without_room(self):
        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
        for name in ("b.hdf5", "b.csv", "b.g2", "b"):
            self.bad(3, "convert", self.dir / "a.csv", self.dir / name, says=[name, "File too large"], preexec_fn=small_files)
        self.assertEqual(self.files(), ["a.csv"])

    def test_no_permission(self):
        os.chmod(self.dir, 0o555)
        options = {"user": 65534, "cwd": "/"} if os.geteuid() == 0 else {}
        if options and harness.run(["--version"], **options).returncode != 0:
            self.skipTest("the program cannot be run by another user here")
        for name in ("b.hdf5", "b.csv", "b"):
            self.bad(3, "convert", self.dir / "a.csv", self.dir / name, says=[name, "Permission denied"], **options)
        os.chmod(self.dir, 0o755)
        os.chmod(self.dir / "a.csv", 0)
        self.bad(3, "info", self.dir / "a.csv", says=["a.csv", "Permission denied"], **options)
        self.assertEqual(self.files(), ["a.csv"])

    @unittest.skipUnless(os.path.ismount("/sys"), "needs /sys")
    def test_a_read_only_file_system(self):
        self.bad(3, "convert", self.dir / "a.csv", "/sys/b.csv", says="/sys/b.csv")

    def test_no_such_input(self):
        self.bad(2, "info", self.dir / "none.hdf5", says=["none.hdf5", "No such file"])
        self.bad(2, "force", self.dir, "--solver", "direct", says="directory")
        self.bad(2, "convert", self.dir / "none.hdf5", self.dir / "b.csv", says="none.hdf5")
        (self.dir / "ten").write_bytes(struct.pack("<I", 256) + b"\0" * 6)
        self.bad(2, "info", self.dir / "ten", says="truncated")
        self.bad(2, "info", self.dir / "ten", "--quiet", says="truncated")
        self.assertEqual(self.files(), ["a.csv", "ten"])


if __name__ == "__main__":
    harness.main()

"""Snapshots as other programs write and read them, `pergola info` and `pergola convert`."""



import struct


import harness
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


def binary_snapshot(order="<", named=False, counts=(0, 3, 2, 0, 0, 0), table=(0, 0.5, 0, 0, 0, 0), real="f4", ids="u4", **header):
    """A GADGET binary file, written from the users' guide of GADGET-2 and not from Pergola's source. Type 1 has its
    mass in the table, type 2 in the MASS block."""
    n = sum(counts)
    rng = np.random.default_rng(3)
    pos = rng.normal(size=(n, 3)).astype(order + real)
    vel = rng.normal(size=(n, 3)).astype(order + real)
    ident = np.arange(11, 11 + n).astype(order + ids)
    listed = sum(c for c, m in zip(counts, table) if m == 0)
    mass = rng.uniform(1, 2, size=listed).astype(order + real)
    totals = header.get("totals", counts)
    head = struct.pack(
        order + "6i6dddii6IiiddddII6Ii",
        *counts, *table, header.get("time", 0.75), header.get("redshift", 0.0), 0, 0, *totals, 0, header.get("num_files", 1),
        header.get("box", 0.0), 0.0, 0.0, 0.0, 0, 0, *header.get("high", (0,) * 6), 0)
    head += b"\0" * (256 - len(head))
    out = b""
    blocks = [(b"HEAD", head), (b"POS ", pos.tobytes()), (b"VEL ", vel.tobytes()), (b"ID  ", ident.tobytes())]
    if listed:
        blocks.append((b"MASS", mass.tobytes()))
    for name, data in blocks:
        if named:
            out += struct.pack(order + "i4sii", 8, name, len(data) + 8, 8)
        out += struct.pack(order + "I", len(data)) + data + struct.pack(order + "I", len(data))
    masses = []
    for count, entry in zip(counts, table):
        masses += [entry] * count if entry else list(mass[: count])
    return out, pos, vel, ident, np.array(masses, dtype=float)


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


class Convert(harness.CliTest):
    def test_through_all_formats_and_back_gives_the_same_text(self):
        previous = self.dir / "start.csv"
        previous.write_text(CSV)
        for name, options in (("a.hdf5", []), ("a.gadget1", []), ("a.g2", ["--big-endian"]), ("b.dat", ["--format", "gadget1", "--big-endian"]),
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

    def test_bad_options_leave_no_file(self):
        (self.dir / "a.csv").write_text(CSV)
        self.bad(2, "convert", self.dir / "a.csv", self.dir / "b", "--format", "tipsy", says="--format")
        self.bad(2, "convert", self.dir / "a.csv", self.dir / "b.hdf5", "--big-endian", says="--big-endian")
        self.bad(2, "convert", self.dir / "a.csv", says="OUT")
        self.bad(2, "convert", self.dir / "a.csv", self.dir / "nowhere" / "b.hdf5", says=["b.hdf5", "No such file"])
        self.bad(2, "convert", self.dir / "a.csv", self.dir, says="directory")
        self.assertEqual(self.files(), ["a.csv"])


@needs("numpy")
class IndependentBinary(harness.CliTest):
    """Files that an independent script wrote."""

    def check(self, name="snap", **options):
        data, pos, vel, ident, mass = binary_snapshot(**options)
        path = self.dir / name
        path.write_bytes(data)
        self.good("convert", path, self.dir / "out.csv", "--quiet")
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


if __name__ == "__main__":
    harness.main()

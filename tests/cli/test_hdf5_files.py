"""HDF5 snapshots and plasma files, beside h5py and yt."""

import resource

import harness
from foreign_snapshots import five_particles, write_hdf5
from harness import needs

try:
    import numpy as np
except ImportError:
    np = None
try:
    import h5py
except ImportError:
    h5py = None

@needs("numpy", "h5py")
class Hdf5Layout(harness.CliTest):
    """What Pergola writes, seen by h5py alone."""

    def test_has_the_groups_attributes_and_types_of_the_design(self):
        (self.dir / "a.csv").write_text("id,mass,x,y,z,vx,vy,vz,species\n9,0.5,1,2,3,4,5,6,1\n8,0.25,-1,0,0,0,0,0,4\n7,0.25,-2,0,0,0,0,0,1\n")
        for options, real in ((), "f8"), (("--single",), "f4"):
            self.good("convert", "--overwrite", self.dir / "a.csv", self.dir / "a.hdf5", *options)
            with h5py.File(self.dir / "a.hdf5") as file:
                self.assertEqual(set(file), {"Header", "Units", "PartType1", "PartType4"})
                header = dict(file["Header"].attrs)
                self.assertEqual(set(header), {"NumPart_ThisFile", "NumPart_Total", "NumPart_Total_HighWord", "MassTable", "Time",
                                               "Redshift", "BoxSize", "NumFilesPerSnapshot", "Flag_Entropy_ICs"})
                for name in ("NumPart_ThisFile", "NumPart_Total"):
                    self.assertEqual(header[name].tolist(), [0, 2, 0, 0, 1, 0])
                self.assertEqual(header["NumPart_Total_HighWord"].tolist(), [0] * 6)
                self.assertEqual(header["MassTable"].tolist(), [0.0] * 6)
                self.assertEqual(header["BoxSize"], 0.0)
                self.assertEqual(header["NumFilesPerSnapshot"], 1)
                self.assertEqual({name for name in file["Units"].attrs},
                                 {"UnitLength_in_cgs", "UnitMass_in_cgs", "UnitVelocity_in_cgs"})
                group = file["PartType1"]
                self.assertEqual(set(group), {"Coordinates", "Velocities", "ParticleIDs", "Masses"})
                self.assertEqual(group["ParticleIDs"].dtype, np.dtype("u8"))
                for name in ("Coordinates", "Velocities", "Masses"):
                    self.assertEqual(group[name].dtype, np.dtype(real))
                self.assertEqual(group["ParticleIDs"][:].tolist(), [9, 7])
                self.assertEqual(group["Masses"][:].tolist(), [0.5, 0.25])
                self.assertEqual(group["Coordinates"][:].tolist(), [[1, 2, 3], [-2, 0, 0]])
                self.assertEqual(group["Velocities"][0].tolist(), [4, 5, 6])

    @needs("yt")
    def test_yt_opens_it(self):
        import yt
        yt.set_log_level(50)
        write_hdf5(self.dir / "in.hdf5", five_particles())
        self.good("convert", self.dir / "in.hdf5", self.dir / "out.hdf5")
        data = yt.load(str(self.dir / "out.hdf5")).all_data()
        self.assertEqual(data["PartType1", "particle_position"].shape, (5, 3))
        self.assertAlmostEqual(data["PartType1", "Masses"].d.sum(), 1.0)
        self.assertEqual(sorted(data["PartType1", "ParticleIDs"].d.tolist()), [1, 2, 3, 4, 5])


@needs("numpy", "h5py")
class ForeignHdf5(harness.CliTest):
    """What Pergola reads of others, and what it refuses."""

    def back(self, path):
        self.good("convert", path, self.dir / "back.hdf5", "--quiet")
        with h5py.File(self.dir / "back.hdf5") as file:
            return {name: data[:] for name, data in file["PartType1"].items()}, dict(file["Header"].attrs)

    def test_masses_in_the_table_single_precision_and_short_ids(self):
        fields = five_particles()
        del fields["Masses"]
        fields["Coordinates"] = fields["Coordinates"].astype("f4")
        fields["ParticleIDs"] = fields["ParticleIDs"].astype("u4")
        write_hdf5(self.dir / "a.hdf5", fields, table=(0, 0.125, 0, 0, 0, 0))
        got, header = self.back(self.dir / "a.hdf5")
        np.testing.assert_array_equal(got["Masses"], np.full(5, 0.125))
        np.testing.assert_array_equal(got["Coordinates"], fields["Coordinates"].astype("f8"))
        np.testing.assert_array_equal(got["ParticleIDs"], np.arange(1, 6))
        self.assertEqual(header["Time"], 0.5)

    def test_compressed_big_endian_data_with_extra_groups(self):
        fields = five_particles()
        fields["Coordinates"] = fields["Coordinates"].astype(">f8")
        write_hdf5(self.dir / "a.hdf5", fields, BoxSize=10.0, Omega0=0.3, OmegaLambda=0.7, HubbleParam=0.7)
        with h5py.File(self.dir / "a.hdf5", "a") as file:
            del file["PartType1/Velocities"]
            file["PartType1"].create_dataset("Velocities", data=fields["Velocities"], chunks=(2, 3), compression="gzip", shuffle=True)
            file["PartType6/Nothing"] = [1, 2]
            file["PartType1/Colour"] = [1] * 5
        got, header = self.back(self.dir / "a.hdf5")
        np.testing.assert_array_equal(got["Coordinates"], fields["Coordinates"])
        np.testing.assert_array_equal(got["Velocities"], fields["Velocities"])
        self.assertEqual((header["BoxSize"], header["Omega0"], header["HubbleParam"]), (10.0, 0.3, 0.7))

    def test_a_universe_of_swift_becomes_one_of_gadget(self):
        """As swiftsimio documents it: comoving lengths and masses without h, velocities a dx/dt, Time the age, units of time."""
        n, h, a, box = 64, 0.7, 0.5, 10.0
        rng = np.random.default_rng(7)
        density = 0.3 * 3 * (100 * h) ** 2 / (8 * np.pi * 43.0092)            # 1e10 Msun, Mpc, km/s
        fields = {"Coordinates": rng.uniform(0, box, (n, 3)), "Velocities": rng.normal(0, 100, (n, 3)),
                  "ParticleIDs": np.arange(1, n + 1), "Masses": np.full(n, density * box**3 / n)}
        path = self.dir / "swift.hdf5"
        write_hdf5(path, fields, counts=(0, n, 0, 0, 0, 0, 0), BoxSize=[box] * 3, Redshift=[1.0])
        with h5py.File(path, "a") as file:
            for name, value in {"length in cgs (U_L)": 3.0856775814913673e24, "mass in cgs (U_M)": 1.988409870698051e43,
                                "time in cgs (U_t)": 3.0856775814913673e19}.items():
                file.require_group("Units").attrs["Unit " + name] = [value]
        self.assertAlmostEqual(self.good_json("info", path)["units"]["velocity_cm_per_s"] / 1e5, 1, delta=1e-12)
        (self.dir / "a.toml").write_text('[run]\nend_time = 0.52\n[particles]\nfile = "swift.hdf5"\n[gravity]\nsolver = "treepm"\nsoftening = 0.1\n')
        still = harness.run(["run", self.dir / "a.toml", "-o", self.dir / "still"])   # a redshift, and no universe
        self.assertIn("states redshift 1, but no universe", still.stderr)
        with h5py.File(path, "a") as file:
            for name, value in {"Cosmological run": 1, "Scale-factor": a, "Redshift": 1.0, "Omega_m": 0.3, "Omega_lambda": 0.7, "h": h}.items():
                file.require_group("Cosmology").attrs[name] = [value]
        ran = harness.run(["run", self.dir / "a.toml", "-o", self.dir / "run"])       # refused unless masses make up Omega_m
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("SWIFT", ran.stderr)
        with h5py.File(self.dir / "run/snap_000.hdf5") as file:
            header, got = dict(file["Header"].attrs), file["PartType1"]
            self.assertEqual((header["Time"], header["Redshift"], header["BoxSize"], header["HubbleParam"]), (a, 1, box * h, h))
            np.testing.assert_allclose(got["Coordinates"], fields["Coordinates"] * h, rtol=1e-14)
            np.testing.assert_allclose(got["Velocities"], fields["Velocities"] / a**0.5, rtol=1e-14)
            np.testing.assert_allclose(got["Masses"], fields["Masses"] * h, rtol=1e-14)

    def test_units_and_universe_under_the_names_of_gizmo(self):
        write_hdf5(self.dir / "gizmo.hdf5", five_particles(), BoxSize=10.0, Redshift=1.0, ComovingIntegrationOn=1, Omega_Matter=0.3,
                   Omega_Lambda=0.7, HubbleParam=0.7, UnitLength_In_CGS=3e21, UnitMass_In_CGS=2e43, UnitVelocity_In_CGS=1e5)
        found = self.good_json("info", self.dir / "gizmo.hdf5")
        self.assertEqual((found["omega0"], found["omega_lambda"], found["hubble_param"]), (0.3, 0.7, 0.7))
        self.assertEqual(found["units"], {"length_cm": 3e21, "mass_g": 2e43, "velocity_cm_per_s": 1e5})

    def test_missing_ids_are_numbered_and_potentials_kept(self):
        fields = five_particles()
        del fields["ParticleIDs"]
        fields["Potential"] = np.linspace(-2, -1, 5)
        write_hdf5(self.dir / "a.hdf5", fields)
        got, _ = self.back(self.dir / "a.hdf5")
        self.assertEqual(got["ParticleIDs"].tolist(), [1, 2, 3, 4, 5])
        np.testing.assert_array_equal(got["Potential"], fields["Potential"])

    def test_zero_totals_are_accepted_and_high_words_counted(self):
        write_hdf5(self.dir / "a.hdf5", five_particles(), totals=(0,) * 6)
        self.assertEqual(self.good_json("info", self.dir / "a.hdf5")["n"], 5)
        high = np.array((0, 1, 0, 0, 0, 0), dtype="u4")
        write_hdf5(self.dir / "a.hdf5", five_particles(), NumPart_Total_HighWord=high)
        self.bad(2, "info", self.dir / "a.hdf5", says=["a.hdf5", "4294967301"])

    def test_unusable_files_are_refused_in_one_sentence(self):
        def changed(name, value):
            fields = five_particles()
            if value is None:
                del fields[name]
            else:
                fields[name] = value
            return fields

        nan = five_particles()["Coordinates"]
        nan[3, 2] = np.nan
        infinite = five_particles()["Velocities"]
        infinite[0, 0] = np.inf
        cases = [
            ("Coordinates", None, "PartType1/Coordinates is missing"),
            ("Velocities", None, "PartType1/Velocities is missing"),
            ("Masses", None, "MassTable"),
            ("Masses", np.full(4, 0.2), "PartType1/Masses has 4 entries, expected 5"),
            ("Coordinates", np.zeros((5, 2)), "2 columns, expected 3"),
            ("Coordinates", np.zeros((5, 3, 1)), "3 dimensions"),
            ("Coordinates", np.array([["a"] * 3] * 5, dtype="S1"), "numbers"),
            ("Coordinates", np.zeros((5, 3), dtype="i4"), "floating-point"),
            ("Coordinates", nan, "particle id 4: z is nan"),
            ("Velocities", infinite, "particle id 1: vx is inf"),
            ("ParticleIDs", np.ones(5, dtype="u8"), "id 1 occurs twice"),
            ("ParticleIDs", np.arange(5, dtype="f8"), "integers"),
            ("ParticleIDs", np.arange(-2, 3, dtype="i4"), "holds -2"),
            ("Masses", np.full(5, -1.0), "mass is -1"),
        ]
        for name, value, words in cases:
            with self.subTest(words):
                write_hdf5(self.dir / "a.hdf5", changed(name, value))
                self.bad(2, "info", self.dir / "a.hdf5", says=["a.hdf5", words])
        write_hdf5(self.dir / "a.hdf5", five_particles(), counts=(0, 5, 1, 0, 0, 0))
        self.bad(2, "info", self.dir / "a.hdf5", says="PartType2")
        write_hdf5(self.dir / "a.hdf5", five_particles(), counts=(0, -5, 0, 0, 0, 0), totals=(0,) * 6)
        self.bad(2, "info", self.dir / "a.hdf5", says="-5")
        write_hdf5(self.dir / "a.hdf5", five_particles(), totals=(0, 6, 0, 0, 0, 0))
        self.bad(2, "info", self.dir / "a.hdf5", says="expected 0 6 0 0 0 0")
        with h5py.File(self.dir / "a.hdf5", "w") as file:
            file["other"] = [1, 2, 3]
        self.bad(2, "info", self.dir / "a.hdf5", says="Header")

    def test_claims_of_many_particles_take_no_memory(self):
        """Sparse datasets: a small file whose dimensions are those of a thousand million particles."""
        n = 10**9
        with h5py.File(self.dir / "a.hdf5", "w") as file:
            attributes = file.create_group("Header").attrs
            attributes["NumPart_ThisFile"] = np.array((0, n, 0, 0, 0, 0), dtype="u4")
            group = file.create_group("PartType1")
            for name in ("Coordinates", "Velocities"):
                group.create_dataset(name, shape=(n, 3), dtype="f8", chunks=(1000, 3), compression="gzip")
        def little_memory():
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        self.bad(2, "info", self.dir / "a.hdf5", says="claims 1000000000 x 3", preexec_fn=little_memory)

    def test_damaged_files_say_nothing_of_hdf5_internals(self):
        write_hdf5(self.dir / "a.hdf5", five_particles())
        data = (self.dir / "a.hdf5").read_bytes()
        for size in (9, 100, len(data) // 2, len(data) - 1):
            (self.dir / "b.hdf5").write_bytes(data[:size])
            self.bad(2, "info", self.dir / "b.hdf5", says="b.hdf5")
            self.bad(2, "convert", self.dir / "b.hdf5", self.dir / "c.csv", says="b.hdf5")
        self.assertEqual(self.files(), ["a.hdf5", "b.hdf5"])


@needs("numpy", "h5py")
class OpenPmd(harness.CliTest):
    """Plasma files with numbers that cannot be."""

    def write(self, name, shape, x=None):
        with h5py.File(self.dir / name, "w") as file:
            file.attrs["openPMD"] = np.bytes_("1.1.0")
            file.attrs["particlesPath"] = np.bytes_("particles/")
            base = file.create_group("data/0")
            base.attrs["time"], base.attrs["timeUnitSI"] = 0.0, 1.0
            electrons = base.create_group("particles/electrons")

            def component(path, value, count):
                group = electrons.create_group(path)
                group.attrs["value"], group.attrs["shape"], group.attrs["unitSI"] = value, count, 1.0
            if x is None:
                component("position/x", 1.0, shape)
            else:
                electrons["position/x"] = x
                electrons["position/x"].attrs["unitSI"] = 1.0
            electrons["momentum/x"] = np.linspace(-1, 1, 4)
            electrons["momentum/x"].attrs["unitSI"] = 1.0
            for path in ("mass", "charge", "weighting"):
                component(path, 1.0, np.array([4], dtype="u8"))
        return self.dir / name

    def test_counts_that_cannot_be_are_refused(self):
        self.assertEqual(self.good_json("info", self.write("good.h5", np.array([4], dtype="u8")))["n"], 4)
        for name, shape in (("negative.h5", np.array([-5])), ("large.h5", np.array([2**63], dtype="u8")),
                            ("largest.h5", np.array([2**63 - 1])), ("other.h5", np.array([5])), ("half.h5", np.array([3.5]))):
            path = self.write(name, shape)
            self.bad(2, "info", path, says=[name, "position/x", "shape"])
            self.bad(2, "picture", path, "--phase", "x,vx", "-o", self.dir / "a.png", says=[name, "shape"])

    def test_positions_that_are_no_numbers_are_refused(self):
        for bad in (np.nan, np.inf):
            path = self.write("bad.h5", None, np.array([0.0, bad, 1.0, 2.0]))
            self.bad(2, "picture", path, "--phase", "x,vx", "-o", self.dir / "a.png", says=["bad.h5", "position/x", "finite"])
        self.assertEqual(self.files(), ["bad.h5"])


if __name__ == "__main__":
    harness.main()

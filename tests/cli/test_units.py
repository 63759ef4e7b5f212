"""Units: those that a file states are used, and never contradicted in silence."""
import json

import harness

EARTH = """id,mass[Msun],x[AU],y[AU],z[AU],vx[AU/yr],vy[AU/yr],vz[AU/yr]
1,1,0,0,0,0,0,0
2,1e-9,1,0,0,0,6.283185307179586,0
"""
RUN = """[run]
end_time = 1
[particles]
file = "{file}"
[gravity]
softening = 0
[output]
snapshots_every = 0
"""


class Units(harness.CliTest):
    def config(self, file):
        path = self.dir / "run.toml"
        path.write_text(RUN.format(file=file))
        return path

    def stars(self):
        path = self.dir / "stars.hdf5"
        self.good("ic", "plummer", "--n", 32, "--units", "galactic", "-o", path)
        return path

    def test_a_snapshot_is_run_in_its_own_units(self):
        config = self.config(self.stars())
        self.assertIn('system = "galactic"', self.good("run", config, "--print-config"))
        self.bad(2, "run", config, "--set", "units.system=nbody", "-o", self.dir / "out",
                 says=["units.system", "stars.hdf5", "3.085678e+21 cm", '"nbody"', "1 cm"])
        self.bad(2, "plan", config, "--set", "units.system=gadget", says=["units.system", '"gadget"'])
        self.assertIn('system = "galactic"', self.good("run", config, "--set", "units.system=galactic", "--print-config"))

    # Reference: a parsec per km/s is 0.97779222 million years (IAU 2012 B2).
    def test_numbers_may_have_a_unit(self):
        stars = self.stars()
        text = self.good("run", self.config(stars), "--print-config", "--set", "gravity.softening=100 pc", "--set", "run.end_time=0.5 Gyr")
        self.assertIn("softening = 0.1 ", text)
        self.assertAlmostEqual(float(text.split("end_time = ")[1].split()[0]), 0.5 / 0.97779222, places=7)
        errors = [json.loads(self.good("force", stars, "--json", "--set", f"gravity.softening={softening}"))["error"]["rms"]
                  for softening in ("100 pc", "0.1")]
        self.assertEqual(errors[0], errors[1])
        one, other = self.dir / "one.csv", self.dir / "other.csv"
        self.good("ic", "plummer", "--n", 10, "--units", "stellar", "--mass", "1e6 Msun", "--virial-radius", "0.005 kpc", "-o", one)
        self.good("ic", "plummer", "--n", 10, "--units", "stellar", "--mass", "1e6", "--virial-radius", "5", "-o", other)
        self.assertEqual(one.read_text(), other.read_text())
        self.bad(2, "ic", "plummer", "--mass", "5 Msun", "-o", self.dir / "x.csv", says=["--mass", "no units are stated", "--units stellar", '"5 Msun"'])
        self.bad(2, "ic", "plummer", "--units", "stellar", "--mass", "5 pc", "-o", self.dir / "x.csv", says=["--mass", "a mass such as", '"5 pc"'])

    def test_lengths_of_other_commands_may_have_a_unit(self):
        stars = self.stars()
        for orbit, name in ((("1 kpc", "8 kpc"), "a.csv"), ((1, 8), "b.csv")):
            self.good("merge", stars, stars, "--pericentre", orbit[0], "--separation", orbit[1], "-o", self.dir / name)
        self.assertEqual(*((self.dir / name).read_bytes() for name in ("a.csv", "b.csv")))
        said = [self.good("analyze", "rotation", stars, "--to", to, "--softening", softening)
                for to, softening in (("2 kpc", "100 pc"), (2, 0.1))]
        self.assertEqual(*said)
        for width, center, name in (("4 kpc", "1 kpc,0,500 pc", "a.png"), (4, "1,0,0.5", "b.png")):
            self.good("picture", stars, "--width", width, "--center", center, "--size", 100, "--title", "x", "-o", self.dir / name)
        self.assertEqual(*((self.dir / name).read_bytes() for name in ("a.png", "b.png")))
        self.bad(2, "picture", stars, "--width", "4 Myr", "-o", self.dir / "no.png", says=["--width", "a length such as", '"4 Myr"'])
        self.bad(2, "picture", stars, "--width", "wide", "-o", self.dir / "no.png", says=["--width", "wide"])
        self.good("ic", "plummer", "--n", 32, "-o", self.dir / "plain.hdf5")
        plain = self.dir / "plain.hdf5"
        for command in (("picture", plain, "--width", "4 kpc"), ("analyze", "rotation", plain, "--to", "2 kpc"),
                        ("merge", plain, plain, "--pericentre", "1 kpc", "--separation", 8)):
            self.bad(2, *command, "-o", self.dir / "no.csv" if command[0] == "analyze" else self.dir / "no.png" if command[0] == "picture" else self.dir / "no.hdf5",
                     says=["no units are stated", "plain.hdf5 has none"])

    # Reference: a kiloparsec per km/s is 0.97779222 thousand million years (IAU 2012 B2).
    def test_messages_of_a_run_carry_the_unit_of_its_times(self):
        config, out = self.config(self.stars()), self.dir / "out"
        self.good("run", config, "-o", out, "--quiet", "--set", "gravity.softening=0.1", "--set", "run.end_time=1e-3")
        said = harness.run(["run", config, "-o", out, "--resume", "--set", "gravity.softening=0.1", "--set", "run.end_time=2e-3"])
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertRegex(said.stderr, r"resumed at time [0-9.e+-]+ (kyr|Myr)")

    def test_a_unit_given_in_cgs_and_si_is_refused(self):
        config = self.dir / "custom.toml"
        for one, other in (("length_cm = 1e5", "length_m = 1"), ("mass_kg = 1", "mass_g = 5"),
                           ("velocity_cm_per_s = 3", "velocity_m_per_s = 1")):
            given = {"length": "length_cm = 1e5", "mass": "mass_g = 7", "velocity": "velocity_m_per_s = 2"}
            given[one.split("_")[0]] = f"{one}\n{other}"
            config.write_text('[particles]\nmodel = "plummer"\n[units]\nsystem = "custom"\n' + "\n".join(given.values()))
            self.bad(2, "run", config, "-o", self.dir / "out",
                     says=[f"units.{one.split(' ')[0]}", f"units.{other.split(' ')[0]}", "found both"])
        config.write_text('[particles]\nmodel = "plummer"\n[units]\nsystem = "custom"\nlength_m = 3\nmass_g = 7\ntime_s = 2\n')
        self.assertIn("length_cm = 300 ", self.good("run", config, "--print-config"))
        self.assertIn("length_cm = 500 ", self.good("run", config, "--print-config", "--set", "units.length_cm=500"))
        self.assertIn("length_cm = 400 ", self.good("run", config, "--print-config", "--set", "units.length_m=4"))

    def test_force_uses_them_too(self):
        stars = self.stars()
        self.bad(2, "force", stars, "--set", "units.system=si", says=["units.system", "stars.hdf5", '"si"'])
        report = json.loads(self.good("force", stars, "--json"))
        self.assertLess(report["error"]["max"], 1e-5)

    # Reference: Kepler. A year after the start the Earth is where it was; with G = 1 it would be far away.
    def test_the_columns_of_a_table_state_units(self):
        (self.dir / "earth.csv").write_text(EARTH)
        out = self.dir / "out"
        self.good("run", self.config("earth.csv"), "-o", out, "--quiet")
        end = self.dir / "end.csv"
        self.good("convert", out / "snap_001.hdf5", end)
        earth = end.read_text().splitlines()[2].split(",")
        self.assertAlmostEqual(float(earth[2]), 1, delta=1e-3)
        self.assertAlmostEqual(float(earth[3]), 0, delta=1e-3)

    def test_a_table_that_is_written_states_its_units(self):
        (self.dir / "earth.csv").write_text(EARTH)
        self.good("convert", self.dir / "earth.csv", self.dir / "earth.hdf5")
        self.good("convert", self.dir / "earth.hdf5", self.dir / "again.csv")
        said = [json.loads(self.good("info", self.dir / name, "--json"))["units"] for name in ("earth.csv", "again.csv")]
        self.assertEqual(said[0], said[1])
        self.assertEqual((self.dir / "again.csv").read_text().splitlines()[0], "id,mass[Msun],x[AU],y[AU],z[AU],vx[AU/yr],vy[AU/yr],vz[AU/yr]")
        self.good("ic", "m81", "--n", 10, "-o", self.dir / "m81.csv")
        self.assertIn("mass[1e10 Msun],x[kpc],", (self.dir / "m81.csv").read_text())
        self.good("ic", "plummer", "--n", 10, "-o", self.dir / "plummer.csv")
        self.assertEqual((self.dir / "plummer.csv").read_text().splitlines()[0], "id,mass,x,y,z,vx,vy,vz")

    @harness.needs("h5py")
    def test_only_a_universe_has_h_in_its_units(self):
        import h5py
        path = self.stars()
        for omega, has_h in ((0.0, False), (0.3, True)):  # GADGET writes Omega0 = 0 into files of static boxes
            with h5py.File(path, "a") as file:
                file["Header"].attrs["Omega0"] = omega
                file["Header"].attrs["HubbleParam"] = 0.7
            columns = self.good("analyze", "profile", path, "--bins", 4).splitlines()[0]
            self.assertEqual("kpc/h" in columns, has_h, columns)

    def test_files_in_other_units_are_not_put_beside_each_other(self):
        stars, other = self.stars(), self.dir / "other.hdf5"
        self.good("ic", "plummer", "--n", 32, "--units", "stellar", "-o", other)
        for command in (("analyze", "radii"), ("analyze", "profile"), ("picture", "-o", self.dir / "a.png")):
            self.bad(2, *command, stars, other, says=["other.hdf5", "stars.hdf5", "kpc, Msun, km/s", "pc, Msun, km/s"])
        self.good("analyze", "radii", stars, stars)

    def test_only_binary_files_lose_units(self):
        stars = self.stars()
        for name, lost in (("a.csv", []), ("a.hdf5", []), ("a.g2", ["units"])):
            self.assertEqual(self.good_json("convert", stars, self.dir / name)["not_carried"], lost, name)
        (self.dir / "run.toml").write_text('[run]\nend_time = 0.01\n[particles]\nmodel = "plummer"\nn = 8\n')
        self.good("run", self.dir / "run.toml", "-o", self.dir / "plain", "--quiet")  # N-body units are none to lose
        plain = self.good_json("convert", self.dir / "plain" / "snap_000.hdf5", self.dir / "b.g2")
        self.assertNotIn("units", plain["not_carried"])

    # Reference: the galaxy is in equilibrium, so 2T/|W| is about 1 in its own units, kpc, 1e10 solar masses and km/s, and 43009 with G = 1.
    def test_a_file_without_units_is_not_run_in_units_that_make_no_sense(self):
        lost = harness.run(["ic", "m81", "--n", 400, "-o", self.dir / "m81.g2"])
        self.assertEqual(lost.returncode, 0, lost.stderr)
        self.assertIn('not carried over: units; a run of the file needs [units] system = "gadget"', lost.stderr)
        config = self.config("m81.g2")
        for command in (("run", config, "-o", self.dir / "out"), ("plan", config)):
            said = self.bad(2, *command, "--set", "run.end_time=1e-3", says=["m81.g2", "2T/|W|", '[units] system = "gadget"', "G = 1"])
            self.assertAlmostEqual(float(said.split(") makes it ")[1].split(",")[0]), 1, delta=0.4)
        self.assertFalse((self.dir / "out").exists())
        self.good("run", config, "-o", self.dir / "out", "--set", "run.end_time=1e-3", "--set", "units.system=gadget")
        self.good("run", config, "-o", self.dir / "nbody", "--set", "run.end_time=1e-6", "--set", "units.system=nbody")

    def test_a_run_says_which_units_it_assumes(self):
        self.good("ic", "plummer", "--n", 100, "-o", self.dir / "plain.g2")
        config = self.config("plain.g2")
        for assumed in (True, False):
            result = harness.run(["run", config, "-o", self.dir / f"out{assumed}", "--set", "run.end_time=0.01",
                                  *([] if assumed else ["--set", "units.system=nbody"])])
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual("plain.g2: states no units: taken as N-body units, in which G = 1" in result.stderr, assumed, result.stderr)
        said = harness.run(["convert", self.dir / "plain.g2", self.dir / "plain.hdf5"]).stderr
        self.assertIn("plain.g2 states no units", said)

    def test_a_merged_file_that_loses_units_says_so(self):
        stars = self.stars()
        merged = harness.run(["merge", stars, stars, "--pericentre", 1, "--separation", 20, "-o", self.dir / "both.g2"])
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assertIn('not carried over: units; a run of the file needs [units] system = "galactic"', merged.stderr)

    # Reference: the attributes of GADGET-4's data sets (its users' guide, "Snapshot file format").
    @harness.needs("h5py")
    def test_units_of_the_data_sets_are_units_of_the_file(self):
        import foreign_snapshots
        import h5py
        path = self.dir / "gadget4.hdf5"
        foreign_snapshots.write_hdf5(path, foreign_snapshots.five_particles())
        cgs = {"Coordinates": 3.085678e21, "Masses": 1.989e43, "Velocities": 1e5, "ParticleIDs": 0.0}
        with h5py.File(path, "a") as file:
            for name, factor in cgs.items():
                file["PartType1"][name].attrs["to_cgs"] = factor
        self.assertEqual(self.good_json("info", path)["units"], {"length_cm": 3.085678e21, "mass_g": 1.989e43, "velocity_cm_per_s": 1e5})
        self.assertIn('system = "gadget"', self.good("run", self.config("gadget4.hdf5"), "--print-config"))
        with h5py.File(path, "a") as file:
            del file["PartType1/Masses"].attrs["to_cgs"]
        self.assertIsNone(self.good_json("info", path)["units"])

    def test_columns_that_contradict_or_say_nothing_are_refused(self):
        def refused(old, new, *says):
            (self.dir / "earth.csv").write_text(EARTH.replace(old, new))
            self.bad(2, "info", self.dir / "earth.csv", says=["earth.csv", *says])
        refused("y[AU]", "y[pc]", "x and y", "[AU]", "[pc]")
        refused("mass[Msun]", "mass", "mass", "none", "[Msun]")
        refused("mass[Msun]", "mass[AU]", "mass", "[AU]")
        refused("[AU/yr]", "[AU]", "vx", "[km/s]")

    # Reference: with G = 1 the galaxy's 2T/|W| is 43009 and its particles cross it in a step.
    def test_a_start_that_makes_no_sense_is_said(self):
        self.good("ic", "m81", "--n", 400, "-o", self.dir / "m81.g2")
        config = self.config("m81.g2")
        for command in (("run", config, "-o", self.dir / "out"), ("plan", config)):
            said = harness.run([*command, "--set", "units.system=nbody", "--set", "run.end_time=0.01", "--set", "gravity.softening=1e-3"]).stderr
            self.assertRegex(said, r"the start makes little sense: 2T/\|W\| is [34]\.?\d*e\+04")
            said = harness.run([*command, "--overwrite"][: 4 if command[0] == "run" else 2] + ["--set", "units.system=gadget", "--set", "run.end_time=0.01",
                               "--set", "gravity.softening=500", *(["--overwrite"] if command[0] == "run" else [])]).stderr
            self.assertRegex(said, "the start makes little sense: .*gravity.softening is 500, and half of the mass lies within")

    def test_a_softening_that_nobody_chose_is_said(self):
        """1/256 of whatever the unit is: 4 pc for a galaxy in kpc, a 400th of the distance between particles of a universe."""
        config = self.dir / "m81.toml"
        config.write_text('[run]\nend_time = 1e-6\n[units]\nsystem = "gadget"\n[particles]\nmodel = "m81"\nn = 300\n[gravity]\nsolver = "tree"\n')
        for number, (softening, named) in enumerate((([], "halo, disc, bulge"), (["--set", "gravity.softening={ halo = 1, disc = 1 }"], "bulge"),
                                                     (["--set", "gravity.softening=1"], None))):
            said = harness.run(["run", config, "-o", self.dir / str(number), *softening]).stderr
            if named:
                self.assertRegex(said, rf"gravity.softening: 0.00390625 of {named} is the default.* bulge = 0\.\d+ }} suits the model")
            else:
                self.assertNotIn("gravity.softening", said)

    def test_a_universe_without_units_is_refused_with_those_that_fit(self):
        self.good("ic", "cosmology", "--n", "8^3", "--box", "50", "-o", self.dir / "box.g2")      # a format that states none
        config = self.dir / "box.toml"
        config.write_text('[run]\nend_redshift = 48\n[particles]\nfile = "box.g2"\n[gravity]\nsolver = "treepm"\nsoftening = 0.1\n')
        self.bad(2, "run", config, says=["omega_matter", 'units.system = "cosmology"'])
        self.good("run", config, "-o", self.dir / "out", "--set", "units.system=cosmology")


if __name__ == "__main__":
    harness.main()

    def test_logs_state_their_units(self):
        config = self.dir / "run.toml"
        config.write_text('[run]\nend_time = "20 kyr"\n[particles]\nmodel = "plummer"\nn = 16\nmass = "100 Msun"\n'
                          '[gravity]\nsoftening = "0.1 pc"\n[units]\nsystem = "stellar"\n'
                          '[output]\nenergy_every = "10 kyr"\nsnapshots_every = 0\n')
        out = self.dir / "out"
        self.good("run", config, "-o", out, "--quiet")
        energy = ("time[pc/(km/s)],kinetic[Msun (km/s)^2],potential[Msun (km/s)^2],total[Msun (km/s)^2],relative_error,"
                  "px[Msun km/s],py[Msun km/s],pz[Msun km/s],lx[Msun km/s pc],ly[Msun km/s pc],lz[Msun km/s pc],wall")
        lines = (out / "energy.csv").read_text().splitlines()
        self.assertEqual(lines[0], energy)
        radii = (out / "lagrangian.csv").read_text()
        self.assertTrue(radii.startswith("time[pc/(km/s)],r1[pc],r5[pc],"), radii[:80])
        self.assertIn(",center_x[pc],center_y[pc],center_z[pc],particles\n", radii)
        self.good("plot", out)
        # A run of an earlier version goes on with its lines.
        names = "time,kinetic,potential,total,relative_error,px,py,pz,lx,ly,lz,wall"
        (out / "energy.csv").write_text("\n".join([names, *lines[1:]]) + "\n")
        self.good("plot", out, "-o", self.dir / "old")
        self.good("run", config, "-o", out, "--quiet", "--resume", "--set", "run.end_time=40 kyr")
        after = (out / "energy.csv").read_text().splitlines()
        self.assertEqual(after[:len(lines)], [energy, *lines[1:]])
        self.assertEqual(len(after), len(lines) + 2)
        # Without units the names are those of any run.
        self.good("run", config, "-o", self.dir / "plain", "--quiet", "--set", "units.system=nbody", "--set", "run.end_time=0.01",
                  "--set", "particles.mass=1", "--set", "gravity.softening=0.1", "--set", "output.energy_every=0")
        self.assertEqual((self.dir / "plain" / "energy.csv").read_text().splitlines()[0], names)

"""`pergola ic`: every model, its options, its files and its refusals."""
import csv
import json
import pathlib
import resource

import harness

MODELS = {"plummer": 50, "hernquist": 50, "nfw": 50, "king": 50, "cluster": 50, "sphere": 50, "cube": 50, "exponential-disc": 50, "galaxy": 50, "m81": 50, "kepler": 2, "figure-eight": 3, "pythagorean": 3,
          "lagrange-triangle": 3, "six-body": 6}


class Models(harness.CliTest):
    def read_csv(self, *args):
        """The rows of the file that `pergola ic ARGS` makes; units are left out of the names of their columns."""
        path = self.dir / "made.csv"
        self.good("ic", *args, "-o", path, "--overwrite")
        with open(path) as file:
            return [{name.split("[")[0]: value for name, value in row.items()} for row in csv.DictReader(file)]

    def test_every_model_makes_its_particles(self):
        for model, n in MODELS.items():
            rows = self.read_csv(model, *(["--n", n] if n == 50 else []))
            self.assertEqual(len(rows), n, model)
            self.assertEqual([int(row["id"]) for row in rows], list(range(1, n + 1)))
            self.assertTrue(all(float(row["mass"]) > 0 for row in rows))

    def test_every_model_has_help_with_options_and_an_example(self):
        for model in MODELS:
            self.assertIn(f"pergola ic {model}", self.good("ic", model, "--help"))
        self.assertIn("--cutoff", self.good("ic", "plummer", "--help"))
        listed = self.good("ic", "--help")
        for model in MODELS:
            self.assertIn(model, listed)

    def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads(self):
        made = {}
        for threads in (1, 2, 7):
            path = self.dir / f"{threads}.csv"
            self.good("ic", "plummer", "--n", 9000, "--seed", 5, "--threads", threads, "-o", path)
            made[threads] = path.read_bytes()
        self.assertEqual(made[1], made[2])
        self.assertEqual(made[1], made[7])
        self.good("ic", "plummer", "--n", 9000, "--seed", 6, "-o", self.dir / "other.csv")
        self.assertNotEqual(made[1], (self.dir / "other.csv").read_bytes())

    def test_a_cube_states_its_box_and_a_cluster_has_none(self):
        for model, options, side in ("cube", ("--side", 2.5), 2.5), ("plummer", (), 0):
            self.good("ic", model, "--n", 10, *options, "-o", self.dir / f"{model}.hdf5")
            self.assertEqual(json.loads(self.good("info", self.dir / f"{model}.hdf5", "--json"))["box_size"], side)

    def test_m81_is_in_gadgets_units_and_galaxies_advise_a_softening(self):
        made = self.good_json("ic", "m81", "--n", 1000, "-o", self.dir / "m81.hdf5")
        self.assertEqual(made["units"], "gadget")
        self.assertEqual(sorted(made["softening"]), ["bulge", "disc", "halo"])
        self.assertIsNotNone(json.loads(self.good("info", self.dir / "m81.hdf5", "--json"))["units"])
        made = self.good_json("ic", "m81", "--n", 1000, "--units", "nbody", "-o", self.dir / "nbody.hdf5")
        self.assertEqual(made["units"], "nbody")
        made = self.good_json("ic", "m81", "--n", 1000, "--units", "galactic", "-o", self.dir / "galactic.hdf5")
        self.assertAlmostEqual(made["mass"] / 108e10, 1, places=9)
        self.assertAlmostEqual(made["options"]["halo_mass"] / 1e12, 1, places=9)
        self.bad(2, "ic", "galaxy", "--n", 2, "-o", self.dir / "two.hdf5", says=["--n", "at least 3"])

    def test_an_option_that_has_no_effect_is_refused(self):
        out = self.dir / "x.csv"
        self.bad(2, "ic", "cluster", "--w0", 7, "-o", out, says=["--w0", 'profile = "king"', '"plummer"'])
        self.bad(2, "ic", "king", "--half-mass-radius", 2, "--virial-radius", 3, "-o", out, says=["--virial-radius", "half_mass_radius = 0", "found 2"])

    def test_options_are_flags_or_set(self):
        by_flag = self.read_csv("kepler", "--eccentricity", 0.9, "--mass-1", 2)
        self.assertEqual(by_flag, self.read_csv("kepler", "--set", "eccentricity=0.9", "--set", "mass_1=2"))
        self.assertEqual(by_flag, self.read_csv("kepler", "--eccentricity=0.9", "--mass_1", 2))
        self.assertEqual(float(by_flag[0]["mass"]), 2)

    def test_common_options_stand_before_or_after_the_model(self):
        before, after = self.dir / "before.csv", self.dir / "after.csv"
        self.good("ic", "--n", 10, "-o", before, "plummer")
        self.good("ic", "plummer", "--n", "1e1", "-o", after)
        self.assertEqual(before.read_bytes(), after.read_bytes())

    def test_json_summary_says_what_was_made(self):
        summary = self.good_json("ic", "plummer", "--n", 8, "--seed", 3, "--cutoff", 5, "-o", self.dir / "a.hdf5")
        self.assertEqual((summary["model"], summary["n"], summary["seed"]), ("plummer", 8, 3))
        self.assertEqual(summary["options"]["cutoff"], 5)
        self.assertTrue(pathlib.Path(summary["file"]).exists())

    def test_units_scale_the_velocities(self):
        nbody, gadget = self.read_csv("kepler"), self.read_csv("kepler", "--units", "gadget")
        ratio = float(gadget[1]["vy"]) / float(nbody[1]["vy"])
        self.assertAlmostEqual(ratio**2 / 43007.1, 1, places=3)  # GADGET's G in kpc, 1e10 solar masses, km/s

    def test_one_particle_is_enough(self):
        for model in ("plummer", "sphere", "cube"):
            self.assertEqual(len(self.read_csv(model, "--n", 1)), 1)


@harness.needs_mpi
class Processes(harness.CliTest):
    def test_several_processes_write_one_file(self):
        one, two = self.dir / "one.csv", self.dir / "two.csv"
        self.good("ic", "plummer", "--n", 100, "-o", one)
        self.good("ic", "plummer", "--n", 100, "-o", two, launcher=harness.MPIRUN)
        self.assertEqual(one.read_bytes(), two.read_bytes())


class Refusals(harness.CliTest):
    def refused(self, code, *args, says, **options):
        self.bad(code, "ic", *args, says=says, **options)
        self.assertEqual(self.files(), [])

    def test_bad_numbers_of_particles(self):
        out = self.dir / "a.hdf5"
        for n in ("-5", "0", "1.5", "many", "nan"):
            self.refused(2, "plummer", "--n", n, "-o", out, says=["--n", "expected an integer >= 1", n])
        self.refused(2, "kepler", "--n", 3, "-o", out, says=["--n", "expected 2", "3"])

    def test_more_particles_than_memory_is_the_devices_refusal(self):
        for n in ("1e15", "9223372036854775807"):
            self.refused(4, "plummer", "--n", n, "-o", self.dir / "a.hdf5", says=["particles need", "free"])

    def test_bad_options_name_the_nearest_one(self):
        out = self.dir / "a.hdf5"
        self.refused(2, "plumer", "-o", out, says=["plumer", "did you mean plummer?"])
        self.refused(2, "plummer", "--cutof", 1, "-o", out, says=["--cutof", "did you mean --cutoff?"])
        self.refused(2, "plummer", "--set", "cutof=1", "-o", out, says=["cutof", "did you mean cutoff?"])
        self.refused(2, "plummer", "--set", "cutoff", "-o", out, says=["--set", "name=value"])
        self.refused(2, "plummer", "--cutoff", -1, "-o", out, says=["--cutoff", "expected a number > 0", "-1"])
        self.refused(2, "plummer", "--cutoff", "far", "-o", out, says=["--cutoff", "expected a number", "far"])
        self.refused(2, "plummer", "--seed", -1, "-o", out, says=["--seed", "-1"])
        self.refused(2, "kepler", "--start", "here", "-o", out, says=["--start", "pericentre", "here"])
        self.refused(2, "plummer", "--units", "imperial", "-o", out, says=["--units", "nbody", "imperial"])

    def test_missing_parts_are_named(self):
        self.refused(2, says=["plummer", "six-body"])
        self.refused(2, "plummer", says=["--output"])

    def test_an_existing_file_is_kept_without_overwrite(self):
        path = self.dir / "a.csv"
        path.write_text("precious")
        self.bad(2, "ic", "kepler", "-o", path, says=["a.csv", "--overwrite"])
        self.assertEqual(path.read_text(), "precious")
        self.good("ic", "kepler", "-o", path, "--overwrite")
        self.assertNotEqual(path.read_text(), "precious")

    def test_output_into_a_folder_or_a_missing_folder(self):
        self.refused(2, "kepler", "-o", self.dir, says=[str(self.dir)])
        self.refused(2, "kepler", "-o", self.dir / "none" / "a.hdf5", says=["a.hdf5"])

    def test_a_file_size_limit_is_the_systems_refusal(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

        for name in ("a.hdf5", "a.csv", "a.g2"):
            self.bad(3, "ic", "plummer", "--n", 5000, "-o", self.dir / name, says=name, preexec_fn=limit)
        self.assertEqual(self.files(), [])

    def test_a_full_stdout_leaves_no_file(self):
        with open("/dev/full", "w") as full:
            self.refused(3, "kepler", "--json", "--quiet", "-o", self.dir / "a.csv", says="standard output", stdout=full)

    def test_a_cuda_device_that_is_not_there(self):
        if any(d["device"].startswith("cuda:") and d["usable"] for d in self.good_json("devices")):
            self.skipTest("this machine has a CUDA device")
        self.refused(4, "kepler", "--device", "cuda", "-o", self.dir / "a.hdf5", says="cuda")


if __name__ == "__main__":
    harness.main()

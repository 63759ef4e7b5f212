"""A configuration that cannot be used is refused with file, line, key, what was expected and what was found."""
import os

import harness

PLUMMER = '[particles]\nmodel = "plummer"\nn = 16\n'


class Refusals(harness.CliTest):
    def refused(self, text, *says, sets=()):
        path = self.dir / "run.toml"
        path.write_text(text)
        extra = [word for s in sets for word in ("--set", s)]
        self.bad(2, "plan", path, *extra, says=says)
        self.assertEqual(self.files(), ["run.toml"])

    def test_unknown_and_mistyped_keys(self):
        self.refused(PLUMMER + "[time]\nete = 1\n", "run.toml:5", "time.ete", "did you mean time.eta?")
        self.refused(PLUMMER + "cutof = 1\n", "run.toml:4", "particles.cutof", "did you mean particles.cutoff?")
        self.refused('[particles]\nmodel = "plumer"\n', "run.toml:2", "particles.model", 'did you mean "plummer"?')

    def test_wrong_types_and_values_out_of_range(self):
        self.refused(PLUMMER + "[time]\neta = -1\n", "run.toml:5: time.eta: expected a number > 0, found -1")
        self.refused(PLUMMER + "[time]\nstep = 0\n", "run.toml:5: time.step: expected a number > 0, found 0")
        self.refused(PLUMMER + '[time]\nstep = "small"\n', 'time.step: expected a number > 0, found "small"')
        self.refused('[particles]\nmodel = "plummer"\nn = -5\n', "particles.n: expected an integer >= 1, found -5")
        self.refused(PLUMMER + "[run]\nend_time = nan\n", "run.end_time: expected a number > 0, found nan")
        self.refused(PLUMMER + "[gravity]\nsoftening = -0.1\n", "gravity.softening: expected a number >= 0, found -0.1")
        self.refused(PLUMMER + "[gravity]\nsoftening_kernel = 1\n", "gravity.softening_kernel: expected plummer, spline, found 1")

    def test_what_is_not_toml(self):
        self.refused("[time\n", "run.toml:1", "TOML")
        self.refused(PLUMMER + "n = 17\n", "run.toml:4", "TOML")

    def test_sets_are_checked_in_the_same_way(self):
        self.refused(PLUMMER, "--set: time.eta: expected a number > 0, found -1", sets=["time.eta=-1"])
        self.refused(PLUMMER, "--set", "did you mean time.eta?", sets=["time.ete=1"])
        self.refused(PLUMMER, "--set: expected key=value", sets=["time.eta"])

    def test_neither_model_nor_file(self):
        self.refused("[time]\neta = 0.1\n", "run.toml", "particles.model")

    def test_a_missing_configuration(self):
        self.bad(2, "plan", self.dir / "none.toml", says=["none.toml", "No such file"])
        self.bad(2, "plan", self.dir, says=[str(self.dir), "directory"])

    def test_a_missing_particle_file(self):
        self.refused('[particles]\nfile = "none.hdf5"\n', "none.hdf5")

    def test_more_particles_than_memory(self):
        path = self.dir / "run.toml"
        path.write_text('[particles]\nmodel = "plummer"\nn = 1000000000000000\n')
        self.bad(4, "run", path, "-o", self.dir / "out", says=["particles need"])
        self.assertEqual(self.files(), ["run.toml"])


class Reading(harness.CliTest):
    def test_the_configuration_may_be_a_pipe(self):
        text = self.good("run", "/dev/stdin", "--print-config", input=PLUMMER)
        self.assertIn('model = "plummer"', text)

    def test_a_printed_configuration_prints_itself(self):
        path = self.dir / "run.toml"
        path.write_text(PLUMMER + "[gravity]\nsoftening = { halo = 0.1, disc = 0.05 }\n[expect]\nvirial_ratio = 0.5\n")
        once = self.good("run", path, "--print-config", "--set", "time.eta=0.01")
        path.write_text(once)
        self.assertEqual(self.good("run", path, "--print-config"), once)

    def test_a_relative_particle_file_starts_from_the_configurations_folder(self):
        folder = self.dir / "deep"
        os.mkdir(folder)
        (folder / "run.toml").write_text('[particles]\nfile = "a.csv"\n')
        self.assertIn(str(folder / "a.csv"), self.good("run", folder / "run.toml", "--print-config", cwd=self.dir))


if __name__ == "__main__":
    harness.main()

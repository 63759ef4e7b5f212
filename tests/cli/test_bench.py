"""pergola bench: its JSON and its suites, at sizes that take a moment. No speed is asserted here."""

from harness import CliTest, main

LAYOUT = {"suite", "case", "device", "precision", "n", "seconds", "rate", "unit", "fraction_of_ceiling"}


class Bench(CliTest):
    def test_direct_measures_every_sum_in_every_precision(self):
        results = self.good_json("bench", "direct", "--device", "cpu", "--n", "1000", "--quiet")
        for result in results:
            self.assertEqual(set(result), LAYOUT)
            self.assertEqual((result["suite"], result["device"], result["n"]), ("direct", "cpu", 1000))
            self.assertEqual(result["unit"], "interactions/s")
            self.assertAlmostEqual(result["rate"] * result["seconds"] / 1e6, 1, places=9)
        found = {(result["case"], result["precision"]): result["fraction_of_ceiling"] for result in results}
        cases = ("direct/acc", "direct/acc+pot", "direct/acc+jerk+pot")
        self.assertEqual(set(found), {(case, p) for case in cases for p in ("single", "mixed", "double")})
        defined = {key for key, fraction in found.items() if fraction is not None}
        self.assertEqual(defined, {("direct/acc+pot", "single"), ("direct/acc+pot", "double"),
                                   ("direct/acc+jerk+pot", "mixed")})
        self.assertTrue(all(found[key] > 0 for key in defined))

    def test_hermite_measures_runs_and_a_small_block(self):
        results = self.good_json("bench", "hermite", "--device", "cpu", "--n", "256", "--threads", "1", "--quiet")
        self.assertEqual([(r["case"], r["unit"]) for r in results],
                         [("hermite/plummer/256", "interactions/s"), ("hermite/block-steps/256", "steps/s"),
                          ("hermite/small-block/256", "interactions/s")])

    def test_g6_measures_the_library_beside_the_solver(self):
        results = self.good_json("bench", "g6", "--device", "cpu", "--n", "512", "--threads", "1", "--quiet")
        self.assertEqual([(r["case"], r["unit"]) for r in results],
                         [("g6/direct-solver", "interactions/s"), ("g6/sweep", "interactions/s"), ("g6/block/32", "blocks/s")])

    def test_mesh_measures_steps_and_their_parts(self):
        # About as many cells, 15.9 along an axis: 16.
        results = self.good_json("bench", "mesh", "--device", "cpu", "--n", "4000", "--threads", "2", "--quiet")
        found = {result["case"]: result for result in results}
        steps = [f"mesh/{case}/16" for case in ("step/cic/fft", "step-disc/cic/fft", "one-cell/cic/fft", "step/cic/multigrid")]
        parts = ["mesh/fft-pair/16", "mesh/poisson/fft/16", "mesh/poisson/multigrid/16"]
        self.assertEqual(set(found), {*steps, *parts})
        for case, result in found.items():
            n = 4000 if case in steps else 4096
            self.assertEqual((set(result), result["n"], result["precision"]), (LAYOUT, n, "single"))
            self.assertEqual(result["unit"], "particle steps/s" if case in steps else "cells/s")
            self.assertEqual(result["fraction_of_ceiling"] is None, "multigrid" in case)

    def test_pic_times_particles_and_whole_steps(self):
        results = self.good_json("bench", "pic", "--device", "cpu", "--n", "20000", "--threads", "2", "--quiet")
        self.assertEqual([r["case"] for r in results], ["pic/particles/16x32", "pic/step/16x32"])
        for r in results:
            self.assertEqual((r["precision"], r["n"], r["unit"]), ("single", 20000, "particle steps/s"))
            self.assertAlmostEqual(r["rate"] * r["seconds"], 20000, delta=1)
            self.assertGreater(r["fraction_of_ceiling"], 0)

    def test_em_times_a_plasma_with_light(self):
        results = self.good_json("bench", "em", "--device", "cpu", "--n", "20000", "--threads", "2", "--quiet")
        self.assertEqual([r["case"] for r in results], ["em/particles/warm/16x16", "em/step/warm/16x16"])
        for r in results:
            self.assertEqual((r["precision"], r["n"], r["unit"]), ("single", 16 * 16 * 64, "particle steps/s"))

    def test_power_and_groups_measure_the_analyses(self):
        for suite, n in (("power", 4096), ("groups", 8000)):
            results = self.good_json("bench", suite, "--device", "cpu", "--n", str(n), "--threads", "2", "--quiet")
            self.assertEqual([(r["case"], r["n"], r["unit"]) for r in results],
                             [(f"{suite}/clustered/{n}", n, "particles/s")])
            self.assertAlmostEqual(results[0]["rate"] * results[0]["seconds"], n, delta=1)

    def test_treepm_measures_a_late_and_an_early_box_with_their_errors(self):
        results = self.good_json("bench", "treepm", "--device", "cpu", "--n", "4096", "--threads", "2", "--quiet")
        self.assertEqual([(r["case"], r["precision"]) for r in results],
                         [("treepm/clustered/4096/1e-02", "single"), ("treepm/clustered/4096/5e-03", "single"),
                          ("treepm/clustered/4096/4e-03", "single"),
                          ("treepm/clustered/4096/1e-03", "single"), ("treepm/clustered/4096/1e-03", "mixed"),
                          ("treepm/clustered/4096/1e-04", "mixed"),
                          ("treepm/early/4096/1e-02", "single"), ("treepm/early/4096/1e-03", "mixed"),
                          ("treepm/early/4096/1e-04", "mixed")])
        for r in results:
            self.assertEqual((set(r), r["unit"]), (LAYOUT | {"error"}, "particles/s"))
            self.assertEqual(set(r["error"]), {"median", "p99", "rms_difference"})
            accuracy = float(r["case"].split("/")[-1])
            if "clustered" in r["case"]:
                self.assertLess(r["error"]["median"], accuracy)

    def test_treepm_measures_what_is_set_by_hand(self):
        by_hand = ("--set", "gravity.tree.accuracy=4e-3", "--set", "gravity.treepm.cut_off=3.68",
                   "--set", "run.precision=single")
        results = self.good_json("bench", "treepm", "--device", "cpu", "--n", "512", "--quiet", "--sample", "20", *by_hand)
        self.assertEqual([(r["case"], r["precision"]) for r in results],
                         [("treepm/clustered/512/4e-03", "single"), ("treepm/early/512/4e-03", "single")])
        self.bad(2, "bench", "treepm", "--set", "gravity.treepm.cutoff=3", says="cut_off")
        self.bad(2, "bench", "direct", "--sample", "20", says="--sample: expected treepm")

    def test_table_for_people(self):
        self.assertIn("direct/acc+pot", self.good("bench", "direct", "--device", "cpu", "--n", "64", "--quiet"))

    def test_unknown_suite_is_refused(self):
        self.bad(2, "bench", "dirct", says='did you mean "direct"')


if __name__ == "__main__":
    main()

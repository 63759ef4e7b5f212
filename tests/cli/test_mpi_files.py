"""What several processes make of files together (ic, analyze, picture) is what one makes, byte for byte."""

import json

import harness
import mpi_case


class MpiFilesTest(mpi_case.MpiCase):
    def test_ranks_make_initial_conditions_together(self):
        models = (["plummer", "--n", 1000], ["cosmology", "--n", "16^3", "--box", 50, "--redshift", 20],
                  ["plummer", "--n", 300, "--exact-energy"])
        for number, model in enumerate(models):
            for files in (1, 4):
                said = []
                for ranks in (1, 2, 3):
                    folder = self.dir / f"{number}-{files}-{ranks}"
                    folder.mkdir()
                    command = ["--json", "--quiet", "--device", "cpu", "ic", *model, "--files", files, "-o", folder / "a.hdf5"]
                    result = harness.run(command) if ranks == 1 else self.mpirun(ranks, *command)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    said.append({name: value for name, value in json.loads(result.stdout).items() if name != "file"})
                    self.same_files(self.dir / f"{number}-{files}-1", folder)
                self.assertEqual(said[1:], said[:1] * 2)

    def same_table(self, ranks, *what):
        """What one process and several write of an analysis, byte for byte; its lines."""
        command = ["--device", "cpu", "analyze", *what, "-o"]
        self.good(*command, self.dir / "one.csv")
        result = self.mpirun(ranks, *command, self.dir / "several.csv")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count("several.csv"), 1, result.stdout)
        self.assertEqual((self.dir / "several.csv").read_bytes(), (self.dir / "one.csv").read_bytes())
        return (self.dir / "one.csv").read_text().splitlines()

    def test_ranks_measure_a_box_together(self):
        box = self.dir / "box.hdf5"
        self.good("--device", "cpu", "ic", "cosmology", "--n", "16^3", "--box", "50", "--redshift", "0", "--files", "3",
                  "-o", box)
        for ranks in (2, 3):
            self.same_table(ranks, "power", box)
        groups = self.same_table(3, "groups", box, "--linking", "0.5", "--least", "8")
        self.assertGreater(len(groups), 10)
        self.same_table(2, "groups", box, "--linking", "0.5", "--least", "8", "--species", "halo")
        self.same_table(3, "mass-function", box, "--linking", "0.5", "--least", "8", "--sigma8", "0.8")
        shells = self.same_table(3, "profile", box, "--linking", "0.5", "--groups", "5", "--bins", "6", "--from", "0.5", "--to", "5")
        self.assertEqual(len(shells), 1 + 5 * 7)
        self.same_table(2, "profile", box, "--center", "25,25,25", "--to", "10")
        sphere = self.dir / "sphere.hdf5"
        self.good("--device", "cpu", "ic", "plummer", "--n", "3000", "-o", sphere)
        for ranks in (2, 4):
            self.same_table(ranks, "radii", sphere, sphere)

    def test_ranks_that_read_a_part_refuse_an_id_that_occurs_twice(self):
        """First and last particle, which no rank of three reads both, in the words of one process."""
        text = "id,mass,x,y,z,vx,vy,vz\n" + "".join(f"{k % 29},1,{k},0,0,0,0,0\n" for k in range(30))
        (self.dir / "twice.csv").write_text(text)
        for command in (["analyze", "groups", self.dir / "twice.csv", "--linking-length", "2"],
                        ["picture", self.dir / "twice.csv", "-o", self.dir / "a.png"]):
            result = self.mpirun(3, *command)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertEqual(result.stderr.count("particle id 0 occurs twice"), 1, result.stderr)
            self.assertIn(harness.run(command).stderr, result.stderr)

    def test_ranks_make_a_picture_together(self):
        """The file, and what is said of it, of one process; also of what rank 0 makes alone."""
        galaxy, other, box = self.dir / "galaxy.hdf5", self.dir / "other.hdf5", self.dir / "box.hdf5"
        self.good("--device", "cpu", "ic", "galaxy", "--n", "3000", "-o", galaxy)
        self.good("--device", "cpu", "ic", "galaxy", "--n", "2000", "--seed", "2", "-o", other)
        self.good("--device", "cpu", "ic", "cosmology", "--n", "12^3", "--box", "50", "--redshift", "0", "-o", box)
        pictures = [[galaxy], [galaxy, "--axis", "x", "--color", "species"], [galaxy, "--species", "halo", "--width", "40"],
                    [galaxy, other, "--columns", "1"], [box, "--center", "5,5,5", "--width", "30"],
                    [galaxy, "--camera", "100,0,30"], [galaxy, "--center", "density"], [box, "--style", "volume"],
                    [galaxy, other, "--style", "volume", "--color", "dispersion"],
                    [galaxy, "--style", "volume", "--color", "species", "--camera", "100,0,30"]]
        for number, what in enumerate(pictures):
            command = ["--json", "picture", *what, "--size", "200", "-o"]
            one, several = self.dir / f"one-{number}.png", self.dir / f"several-{number}.png"
            said = json.loads(self.good(*command, one))
            result = self.mpirun(3, *command, several)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual({**json.loads(result.stdout), "file": None}, {**said, "file": None})
            self.assertEqual(several.read_bytes(), one.read_bytes(), what)
        result = self.mpirun(2, "picture", galaxy, "--camera", "1,0,0", "--target", "1,0,0", "-o", self.dir / "no.png")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertFalse((self.dir / "no.png").exists())
        run = self.dir / "run"
        run.mkdir()
        for number, file in enumerate((galaxy, other)):
            file.rename(run / f"snap_00{number}.hdf5")
        self.good("movie", run, "--size", "100", "-o", f"{self.dir}/one/")
        result = self.mpirun(3, "movie", run, "--size", "100", "-o", f"{self.dir}/several/")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count("2 frames"), 1, result.stdout)
        for frame in ("frame_0000.png", "frame_0001.png"):
            self.assertEqual((self.dir / "several" / frame).read_bytes(), (self.dir / "one" / frame).read_bytes())


if __name__ == "__main__":
    harness.main()

"""HDF5 files of others, without checksums, that make the HDF5 library crash: refused like any damaged file."""

import pathlib
import shutil

import harness

CORPUS = pathlib.Path(__file__).resolve().parents[1] / "fuzz" / "corpus" / "gadget-hdf5-old"

CONFIG = """
[run]
end_time = 0.1
[particles]
file = "{file}"
[gravity]
softening = 0.1
[time]
integrator = "leapfrog"
step = 0.05
"""


class DamagedHdf5(harness.CliTest):
    def damaged(self, name="damaged.hdf5"):
        return pathlib.Path(shutil.copy(CORPUS / "huge_address.hdf5", self.dir / name))

    def test_a_file_on_which_hdf5_crashes_is_refused(self):
        file = self.damaged()
        self.bad(2, "info", file, says=["damaged.hdf5", "HDF5"])
        self.bad(2, "info", file, "--json", says="damaged.hdf5")
        self.bad(2, "convert", file, self.dir / "a.csv", says="damaged.hdf5")
        self.bad(2, "force", file, "--solver", "direct", "--device", "cpu", says="damaged.hdf5")
        self.bad(2, "picture", file, "-o", self.dir / "a.png", says="damaged.hdf5")
        self.assertEqual(self.files(), ["damaged.hdf5"])

    def test_also_where_a_configuration_names_it(self):
        self.damaged()
        config = self.dir / "run.toml"
        config.write_text(CONFIG.format(file="damaged.hdf5"))
        self.bad(2, "plan", config, says="damaged.hdf5")
        self.bad(2, "run", config, "-o", self.dir / "out", "--device", "cpu", says="damaged.hdf5")
        self.assertFalse((self.dir / "out").exists())

    def test_also_where_the_record_of_a_run_names_it(self):
        file = self.dir / "a.hdf5"
        shutil.copy(CORPUS / "whole.hdf5", file)
        config = self.dir / "run.toml"
        config.write_text(CONFIG.format(file="a.hdf5"))
        self.good("run", config, "-o", self.dir / "out", "--device", "cpu", "--quiet", "--set", "run.end_time=0.3")
        self.damaged("a.hdf5")
        record = self.dir / "out/run.json"
        for words in (["--reproduce", record], [f"--reproduce={record}"]):
            self.bad(2, "run", *words, says=["a.hdf5", "HDF5 library"])
        self.assertFalse((self.dir / "out-again").exists())

    def test_also_as_a_piece_of_a_snapshot_in_several_files(self):
        shutil.copy(CORPUS / "whole.hdf5", self.dir / "snap.0.hdf5")
        self.damaged("snap.1.hdf5")
        self.bad(2, "info", self.dir / "snap.0.hdf5", says="snap.")

    def test_also_in_the_directory_of_a_run_or_beside_a_snapshot_of_a_series(self):
        for number in range(3):
            shutil.copy(CORPUS / "whole.hdf5", self.dir / f"snap_00{number}.hdf5")
        out = self.dir.parent / (self.dir.name + "-out")
        frames = self.dir / "frames"
        self.good("movie", self.dir, "-o", f"{frames}/", "--size", "64")
        self.good("analyze", "radii", self.dir)
        shutil.rmtree(frames)
        self.damaged("snap_001.hdf5")
        self.bad(2, "movie", self.dir, "-o", f"{out}/", says=["snap_001.hdf5", "HDF5 library"])
        self.bad(2, "analyze", "radii", self.dir, says=["snap_001.hdf5", "HDF5 library"])
        self.bad(2, "picture", self.dir / "snap_000.hdf5", "--frame", "series", "-o", out, says=["snap_001.hdf5", "HDF5"])
        self.good("picture", self.dir / "snap_000.hdf5", "-o", self.dir / "a.png", "--size", "64")
        self.assertFalse(out.exists())

    def test_a_whole_file_of_the_old_kind_is_read(self):
        shutil.copy(CORPUS / "whole.hdf5", self.dir / "whole.hdf5")
        self.assertEqual(self.good_json("info", self.dir / "whole.hdf5")["n"], 5)


if __name__ == "__main__":
    harness.main()

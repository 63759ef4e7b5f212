"""A plasma's files and pictures: openPMD snapshots as others read them, spectra, fitted waves, and the examples' report cards."""

import csv
import json

import harness
from harness import needs
from test_pictures import svg_words

if harness.has_module("h5py") and harness.has_module("numpy"):
    import h5py
    import numpy as np

OSCILLATION = """
[run]
end_time = {end}
[plasma]
cells = [16, 6]
background = true
{plasma}
[[plasma.species]]
name = "electrons"
charge = -1
mass = 1
particles_per_cell = 16
temperature = 0.01
perturbation = {{ mode = [1, 0], amplitude = 0.1 }}
[[plasma.species]]
name = "beam"
charge = -1
mass = 2
density = 0.25
particles_per_cell = 9
cold = true
drift = [0.5, 0]
[output]
spectrum_every = 2
energy_every = 1
snapshots_every = 4
{more}
"""


class PlasmaTest(harness.CliTest):
    def configure(self, end=8, plasma="", more="", name="plasma.toml"):
        path = self.dir / name
        path.write_text(OSCILLATION.format(end=end, plasma=plasma, more=more))
        return path

    def finished(self, out="out", **options):
        self.good("run", self.configure(**options), "-o", self.dir / out, "--quiet", "--device", "cpu")
        return self.dir / out


def text(value):
    return value.decode() if isinstance(value, bytes) else value


@needs("numpy", "h5py")
class OpenPmdFiles(PlasmaTest):
    """Required by STANDARD.md 1.1.0 and EXT_ED-PIC.md 1.1.0 of the openPMD project."""

    ROOT = ["openPMD", "openPMDextension", "basePath", "iterationEncoding", "iterationFormat", "meshesPath", "particlesPath"]
    ITERATION = ["time", "dt", "timeUnitSI"]
    MESH = ["geometry", "dataOrder", "axisLabels", "gridSpacing", "gridGlobalOffset", "gridUnitSI", "unitDimension",
            "timeOffset", "fieldSmoothing"]
    MESHES = ["fieldSolver", "fieldBoundary", "particleBoundary", "currentSmoothing", "chargeCorrection"]
    SPECIES = ["particleShape", "currentDeposition", "particlePush", "particleInterpolation", "particleSmoothing"]
    RECORD = ["unitDimension", "timeOffset", "weightingPower", "macroWeighted"]

    def has(self, thing, names):
        for name in names:
            self.assertIn(name, thing.attrs, f"{thing.name} has no {name}")

    def components(self, record):
        constant_or_scalar = isinstance(record, h5py.Dataset) or "value" in record.attrs
        return [record] if constant_or_scalar else list(record.values())

    def test_hold_all_that_the_standard_requires(self):
        for out, plasma in (("points", ""), ("smooth", "smoothing = 0.5")):
            out = self.finished(out, plasma=plasma)
            with h5py.File(out / "plasma_000080.h5") as file:
                self.has(file, self.ROOT)
                self.assertEqual(text(file.attrs["openPMD"]), "1.1.0")
                self.assertEqual(file.attrs["openPMDextension"].dtype, np.dtype("u4"))
                self.assertEqual(text(file.attrs["basePath"]), "/data/%T/")
                self.assertEqual(text(file.attrs["iterationEncoding"]), "fileBased")
                self.assertEqual(text(file.attrs["iterationFormat"]), "plasma_%T.h5")
                self.assertEqual(list(file["data"]), ["80"])  # the step
                base = file["data/80"]
                self.has(base, self.ITERATION)
                self.assertAlmostEqual(base.attrs["time"], 4)
                self.assertEqual(base.attrs["dt"], 0.05)
                self.check_meshes(base[text(file.attrs["meshesPath"])])
                self.check_particles(base[text(file.attrs["particlesPath"])])

    def check_meshes(self, meshes):
        self.has(meshes, self.MESHES)
        self.assertEqual(set(meshes), {"rho", "phi", "E"})
        for record in meshes.values():
            self.has(record, self.MESH)
            self.assertEqual(record.attrs["unitDimension"].shape, (7,))
            self.assertEqual([text(label) for label in record.attrs["axisLabels"]], ["x", "y"])
            if text(record.attrs["fieldSmoothing"]) != "none":
                self.has(record, ["fieldSmoothingParameters"])
            for component in self.components(record):
                self.has(component, ["unitSI", "position"])
                self.assertEqual(component.shape, (16, 6))
        self.assertEqual(set(meshes["E"]), {"x", "y"})
        # The total charge is zero, and E = -grad phi in the first wave along x.
        self.assertLess(abs(meshes["rho"][:].sum()), 1e-4)
        k = 2 * np.pi / 16
        phi, field = np.fft.fft(meshes["phi"][:].mean(axis=1))[1], np.fft.fft(meshes["E/x"][:].mean(axis=1))[1]
        self.assertLess(abs(field + 1j * k * phi), 1e-3 * abs(field))

    def check_particles(self, particles):
        self.assertEqual(set(particles), {"electrons", "beam"})
        for name, count in (("electrons", 16 * 96), ("beam", 9 * 96)):
            species = particles[name]
            self.has(species, self.SPECIES)
            self.assertEqual(set(species), {"position", "positionOffset", "momentum", "charge", "mass", "weighting", "id"})
            for record in species.values():
                self.has(record, self.RECORD)
                for component in self.components(record):
                    self.has(component, ["unitSI"])
                    shape = component.attrs["shape"] if "value" in component.attrs else component.shape
                    self.assertEqual(list(shape), [count])
            self.assertEqual(len(set(species["id"][:])), count)
            self.assertTrue(((species["position/x"][:] >= 0) & (species["position/x"][:] < 16)).all())
        ids = [particles[name]["id"][:] for name in particles]
        self.assertEqual(len(np.intersect1d(*ids)), 0)
        beam = particles["beam"]
        velocity = beam["momentum/x"][:] / (beam["mass"].attrs["value"] * beam["weighting"].attrs["value"])
        self.assertAlmostEqual(velocity.mean(), 0.5, delta=0.2)

    def test_a_sample_of_the_particles_stands_for_all(self):
        out = self.finished(more="particles_most = 100")
        with h5py.File(out / "plasma_000000.h5") as first, h5py.File(out / "plasma_000160.h5") as last:
            ids = [file["data"][number]["particles/electrons/id"][:] for file, number in ((first, "0"), (last, "160"))]
            self.assertEqual(len(ids[0]), 100)
            self.assertEqual(ids[0].tolist(), ids[1].tolist())

    def test_the_folder_of_a_run_holds_one_series_of_them(self):
        """What OpenPMDTimeSeries of openPMD-viewer reads: in each HDF5 file of the folder the iterations below /data."""
        out = self.finished()
        found = {}
        for path in [*out.glob("*.h5"), *out.glob("*.hdf5")]:
            with h5py.File(path) as file:
                found.update({int(step): (path.name, base.attrs["time"]) for step, base in file["data"].items()})
        self.assertEqual({step: name for step, (name, _) in found.items()},
                         {step: f"plasma_{step:06}.h5" for step in (0, 80, 160)})
        for step, (_, time) in found.items():
            self.assertAlmostEqual(time, 0.05 * step)
        self.assertTrue((out / "tables" / "spectrum.hdf5").exists())

    def test_the_uniform_magnetic_field_stands_in_them(self):
        out = self.finished(plasma="magnetic_field = [0, 0, 0.7]\nvelocities = 3")
        with h5py.File(out / "plasma_000080.h5") as file:
            field = file["data/80/fields/B"]
            self.has(field, self.MESH)
            self.assertEqual(field.attrs["unitDimension"].tolist(), [0, 1, -2, -1, 0, 0, 0])  # tesla
            for axis, value in (("x", 0), ("y", 0), ("z", 0.7)):
                self.has(field[axis], ["unitSI", "position"])
                np.testing.assert_allclose(field[axis][:], np.full((16, 6), value), rtol=1e-7)
            # The cyclotron frequency e B/m_e is 0.7 in the unit of time, whatever that is in seconds.
            tesla = field["z"][0, 0] * field["z"].attrs["unitSI"]
            per_second = 1.602176634e-19 * tesla / 9.1093837015e-31
            self.assertAlmostEqual(per_second * file["data/80"].attrs["timeUnitSI"], 0.7, delta=1e-6)
        said = self.good_json("picture", out / "plasma_000080.h5", "-o", self.dir / "b.png", "--field", "Bz")
        self.assertAlmostEqual(said["max"], 0.7, delta=1e-6)

    def test_particles_are_where_yt_looks_for_them(self):
        """yt counts them by species["/position"], which is a path from the root of the file, for all species alike."""
        with h5py.File(self.finished("sampled", more="particles_most = 100") / "plasma_000080.h5") as file:
            for species in file["data/80/particles"].values():
                self.assertEqual(set(species["/position"]), {"x", "y"})
                self.assertEqual(len(species["/position/x"]), len(species["position/x"]))
        with h5py.File(self.finished("all") / "plasma_000080.h5") as file:
            self.assertNotIn("position", file)  # 1536 electrons and 864 of the beam: one number is wrong for one of them

    @needs("yt")
    def test_yt_opens_it(self):
        import yt
        yt.set_log_level(50)
        out = self.finished()
        data = yt.load(str(out / "plasma_000080.h5"))
        self.assertEqual(data.dimensionality, 2)
        self.assertEqual(data.domain_dimensions.tolist(), [16, 6, 1])
        grid = data.covering_grid(0, data.domain_left_edge, data.domain_dimensions)
        with h5py.File(out / "plasma_000080.h5") as file:
            for name in ("rho", "phi"):
                record = file["data/80/fields/" + name]
                np.testing.assert_allclose(grid["openPMD", name].d[:, :, 0], record[:] * record.attrs["unitSI"], rtol=1e-6)
            self.assertAlmostEqual(float(data.current_time) / file["data/80"].attrs["timeUnitSI"], 4, delta=1e-6)
        self.assertIn(("electrons", "particle_momentum_x"), data.field_list)
        sampled = yt.load(str(self.finished("sampled", more="particles_most = 100") / "plasma_000080.h5"))
        for name in ("electrons", "beam"):
            self.assertEqual(len(sampled.all_data()[name, "particle_position_x"]), 100)

    def test_info_says_what_is_in_it(self):
        out = self.finished()
        info = self.good_json("info", out / "plasma_000080.h5")
        self.assertEqual(info["format"], "openpmd")
        self.assertEqual(info["version"], "1.1.0")
        self.assertEqual(info["step"], 80)
        self.assertEqual(info["cells"], [16, 6])
        self.assertEqual(info["species"]["beam"]["count"], 9 * 96)
        self.assertEqual([field["name"] for field in info["fields"]], ["E", "phi", "rho"])
        self.assertEqual(info["units"]["time"], "1/omega_p")
        said = self.good("info", out / "plasma_000080.h5")
        for word in ("openPMD 1.1.0", "electrons", "16 x 6", "E(x y) phi rho"):
            self.assertIn(word, said)


class PlasmaPictures(PlasmaTest):
    def test_phase_space_and_fields(self):
        file = self.finished() / "plasma_000160.h5"
        for number, args in enumerate(([], ["--phase", "x,vy", "--species", "beam"], ["--phase", "vx,vy"], ["--field", "phi"],
                                       ["--field", "Ex", "--colormap", "viridis", "--title", "field", "--size", "600"])):
            picture = self.dir / f"{number}.png"
            said = self.good_json("picture", file, "-o", picture, *args)
            self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
            self.assertEqual(said["file"], str(picture))
        self.assertEqual(said["field"], "Ex")
        self.assertLess(said["min"], said["max"])
        first = self.good_json("picture", file, "-o", self.dir / "a.png", "--threads", "1")
        self.good("picture", file, "-o", self.dir / "b.png", "--threads", "2")
        self.assertEqual(first["species"], ["beam", "electrons"])
        self.assertEqual((self.dir / "a.png").read_bytes(), (self.dir / "b.png").read_bytes())

    def test_species_have_colours_of_their_own(self):
        file = self.finished() / "plasma_000160.h5"
        self.good("picture", file, "-o", self.dir / "one.svg")
        self.good("picture", file, "-o", self.dir / "each.svg", "--color-species")
        for name in ("electrons", "beam"):
            self.assertNotIn(name, svg_words(self.dir / "one.svg"))
            self.assertIn(name, svg_words(self.dir / "each.svg"))
        self.bad(2, "picture", file, "-o", self.dir / "no.png", "--color-species", "--field", "phi", says=["--field", "species"])

    def test_four_panels_are_two_by_two_and_share_a_colour_bar(self):
        out = self.finished()
        files = [out / f"plasma_{step:06}.h5" for step in (0, 80, 160, 80)]
        said = self.good_json("picture", *files, "-o", self.dir / "four.svg", "--size", "600")
        self.assertEqual(said["height"], 2 * 400 + 4)
        bars = [word for word in svg_words(self.dir / "four.svg") if word.startswith("particles per")]
        self.assertEqual(len(bars), 1)
        self.assertEqual(self.good_json("picture", files[0], "-o", self.dir / "one.svg", "--size", "600")["width"], 600)

    def test_plots_of_a_plasma_say_what_a_plasma_has(self):
        out = self.finished()
        self.good("plot", out, "--format", "svg")
        energy, momentum = svg_words(out / "energy.svg"), svg_words(out / "momentum.svg")
        for name in ("electrons", "beam", "field"):
            self.assertIn(name, energy)
        self.assertIn("Change of momentum", momentum)
        self.assertNotIn("angular momentum", momentum)
        record = json.loads((out / "run.json").read_text())
        for when in ("energy_start", "energy_end"):
            self.assertNotIn("virial_ratio", record[when])
            self.assertIn("kinetic", record[when])

    def test_what_is_not_there_is_refused(self):
        file = self.finished() / "plasma_000000.h5"
        picture = self.dir / "no.png"
        self.bad(2, "picture", file, "-o", picture, "--species", "ions", says=["--species", "electrons", "ions"])
        self.bad(2, "picture", file, "-o", picture, "--field", "Bz", says=["--field", "Ex", "phi", "rho"])
        self.bad(2, "picture", file, "-o", picture, "--phase", "x", says=["--phase", "x,vx"])
        self.bad(2, "picture", file, "-o", picture, "--phase", "x,x", says=["--phase", "x,vx"])
        self.bad(2, "picture", file, "-o", picture, "--phase", "x,vz", says=["--phase", "vz", "one value for all"])
        self.bad(2, "convert", file, self.dir / "no.csv", says=["openPMD", "expected a GADGET-style snapshot"])
        self.bad(2, "picture", file, "-o", picture, "--phase", "x,vz", "--field", "phi", says=["--field", "--phase"])
        data = file.read_bytes()
        (self.dir / "half.h5").write_bytes(data[:len(data) // 2])
        self.bad(2, "picture", self.dir / "half.h5", "-o", picture, says="half.h5")
        self.bad(2, "info", self.dir / "half.h5", says="half.h5")
        self.good("ic", "plummer", "--n", 10, "-o", self.dir / "stars.hdf5")
        self.bad(2, "picture", self.dir / "stars.hdf5", "-o", picture, "--phase", "x,vx", says=["--phase", "openPMD"])
        self.assertFalse(picture.exists())

    @needs("numpy", "h5py")
    def test_a_field_without_cells_or_of_other_cells_is_refused(self):
        whole = (self.finished() / "plasma_000000.h5").read_bytes()
        picture = self.dir / "no.png"
        for shape, name in [((0, 4), "phi"), ((4, 0), "phi"), ((3, 2), "rho"), ((3, 2), "phi")]:
            damaged = self.dir / "damaged.h5"
            damaged.write_bytes(whole)
            with h5py.File(damaged, "r+") as file:
                meshes = file["data"][next(iter(file["data"]))]["fields"]
                attributes = dict(meshes[name].attrs)
                del meshes[name]
                field = meshes.create_dataset(name, data=np.zeros(shape))
                for key, value in attributes.items():
                    field.attrs[key] = value
            self.bad(2, "picture", damaged, "-o", picture, "--field", name, says=["damaged.h5", name])
        self.assertFalse(picture.exists())


class PlasmaWaves(PlasmaTest):
    def rows(self, path):
        with open(path, newline="") as file:
            return list(csv.DictReader(file))

    def test_spectrum_and_wave_are_written_and_plotted(self):
        out = self.finished(end=20, plasma="[plasma.wave]\nmode = [1, 0]")
        wave = self.rows(out / "tables" / "wave.csv")
        self.assertEqual(len(wave), 201)
        self.assertAlmostEqual(float(wave[1]["time"]), 0.1)
        first = float(wave[0]["amplitude"])
        k = 2 * 3.14159265 / 16
        # phi_k = rho_k/k^2, half of the amplitude 0.1 in each of the two waves; the cloud of the particles takes 2.5 %.
        self.assertAlmostEqual(first, 0.05 / k**2, delta=0.03 * 0.05 / k**2)
        spectrum = self.rows(out / "tables" / "spectrum.csv")
        self.assertEqual([row["axis"] for row in spectrum], ["x"] * 8 + ["y"] * 3)
        self.good("plot", out, "--format", "svg")
        for name, axes in {"energy": ["time (1/ωp)", "energy (n0 me cell4 ωp2)"],
                           "momentum": ["distance from the first value (n0 me cell3 ωp)"],
                           "wave": ["time (1/ωp)", "|φk| (me (cell ωp)2/e)"],
                           "spectrum_x": ["kx (1/cell)", "ω (ωp)", "power of the potential ((me (cell ωp)2/e)2)"]}.items():
            words = svg_words(out / f"{name}.svg")
            for axis in axes:
                self.assertIn(axis, words)
        files = {entry["file"].rsplit("/", 1)[1] for entry in self.good_json("plot", out)}
        self.assertEqual(files, {"energy.png", "momentum.png", "profile.png", "spectrum_x.png", "wave.png"})  # three modes along y: little to see

    def test_a_wave_that_nobody_asked_for_is_not_fitted(self):
        out = self.finished()
        self.assertTrue((out / "tables" / "spectrum.csv").exists())
        self.assertFalse((out / "tables" / "wave.csv").exists())
        record = json.loads((out / "run.json").read_text())
        self.assertNotIn("wave", record)
        self.assertNotIn("mode", record["configuration"]["plasma"]["wave"])
        self.good("plot", out)
        self.assertFalse((out / "wave.png").exists())
        # [expect] asks for one: the longest along x.
        asked = self.finished("asked", more="[expect]\nfrequency = 1\n")
        self.assertEqual(json.loads((asked / "run.json").read_text())["wave"]["mode"], [1, 0, 0])
        self.assertTrue((asked / "tables" / "wave.csv").exists())

    def test_no_spectrum_unless_it_is_asked_for(self):
        out = self.dir / "out"
        self.good("run", self.configure(), "-o", out, "--set", "output.spectrum_every=0", "--quiet", "--device", "cpu")
        self.assertFalse((out / "tables").exists())

    def test_resumed_run_gives_the_same_files(self):
        config = self.configure(end=20, plasma="[plasma.wave]\nfrom = 1")
        self.good("run", config, "-o", self.dir / "whole", "--quiet", "--device", "cpu")
        self.good("run", config, "-o", self.dir / "parts", "--set", "run.end_time=7.93", "--quiet", "--device", "cpu")
        self.good("run", config, "-o", self.dir / "parts", "--resume", "--quiet", "--device", "cpu")
        for name in ("tables/spectrum.hdf5", "tables/spectrum.csv", "tables/wave.csv", "plasma_000400.h5"):
            self.assertEqual((self.dir / "parts" / name).read_bytes(), (self.dir / "whole" / name).read_bytes(), name)
        checks = [json.loads((self.dir / run / "run.json").read_text())["checks"] for run in ("whole", "parts")]
        self.assertEqual(checks[0], checks[1])

    def test_tables_that_an_earlier_version_left_beside_the_snapshots_are_moved(self):
        config, out = self.configure(end=20, plasma="[plasma.wave]\nmode = [1, 0]"), self.dir / "out"
        self.good("run", config, "-o", out, "--set", "run.end_time=8", "--quiet", "--device", "cpu")
        for table in (out / "tables").iterdir():
            table.rename(out / table.name)
        (out / "tables").rmdir()
        self.good("plot", out)  # which still finds them
        self.assertTrue((out / "spectrum_x.png").exists())
        said = harness.run(["run", config, "-o", out, "--resume", "--device", "cpu"])
        self.assertEqual(said.returncode, 0)
        self.assertIn("earlier version", said.stderr)
        self.assertFalse((out / "spectrum.hdf5").exists() or (out / "wave.csv").exists())
        self.assertEqual(len(self.rows(out / "tables" / "wave.csv")), 201)  # written again: of the whole run
        (out / "spectrum.hdf5").write_text("of an earlier version")
        self.good("run", config, "-o", out, "--overwrite", "--set", "output.spectrum_every=0", "--quiet", "--device", "cpu")
        self.assertFalse((out / "spectrum.hdf5").exists() or (out / "tables").exists())

    def test_keys_that_make_no_sense_are_refused(self):
        out = self.dir / "out"
        self.bad(2, "run", self.configure(more="[expect]\nfrequency = 1\n"), "-o", out, "--set", "output.spectrum_every=0",
                 says=["expect.frequency", "output.spectrum_every"])
        self.bad(2, "run", self.configure(plasma="[plasma.wave]\nfrom = 5\nuntil = 4\n"), "-o", out, says=["plasma.wave.until"])
        self.bad(2, "run", self.configure(plasma="[plasma.wave]\nmode = [0, 0]\n"), "-o", out, says=["plasma.wave.mode"])
        self.bad(2, "run", self.configure(plasma="[plasma.wave]\nmode = [1, 0, 1]\n"), "-o", out, says=["plasma.wave.mode"])
        self.bad(2, "run", self.configure(plasma="[plasma.wave]\nmod = [1, 0]\n"), "-o", out, says=["plasma.wave.mod", "mode"])
        (self.dir / "stars.toml").write_text("[particles]\nmodel = \"plummer\"\n[expect]\ngrowth_rate = 1\n")
        self.bad(2, "run", self.dir / "stars.toml", "-o", out, says=["expect.growth_rate"])


class PlasmaExamples(harness.CliTest):
    """Each carries its theoretical value in the report card."""

    def check(self, name, *measured):
        out = self.dir / name
        self.good("run", harness.SOURCE / "examples" / f"{name}.toml", "-o", out, "--quiet", "--strict", "--device", "cpu")
        record = json.loads((out / "run.json").read_text())
        checks = {check["name"]: check for check in record["checks"]}
        for expectation in (*measured, "energy_error"):
            self.assertTrue(checks[expectation]["passed"], checks[expectation])
        # The record and the picture show the fit of the card.
        fit = record["wave"]
        shown = {"frequency": fit["frequency"]}
        if fit["fit"] != "none":
            shown |= {"growth_rate": fit["growth_rate"], "damping_rate": -fit["growth_rate"]}
        self.good("plot", out, "--format", "svg")
        title = " ".join(svg_words(out / "wave.svg"))
        self.assertEqual(fit["fit"] == "none", "no clear wave" in title, title)
        for name in set(measured) & set(shown):
            self.assertEqual(checks[name]["measured"], shown[name])
            if fit["fit"] != "none":
                self.assertIn(f"{abs(shown[name]):.4g}", title)
        return fit

    def test_plasma_oscillation(self):
        fit = self.check("plasma-oscillation", "frequency", "damping_rate")
        self.assertEqual((fit["fit"], fit["theory"]), ("oscillation", 0))

    def test_landau_damping(self):
        fit = self.check("landau-damping", "frequency", "damping_rate")
        self.assertLess(abs(fit["growth_rate"] - fit["theory"]), 5 * fit["error"] + 0.002)

    def test_two_stream(self):
        self.assertEqual(self.check("two-stream", "growth_rate")["fit"], "line")

    def test_thermal(self):
        fit = self.check("thermal", "field_energy")  # fluctuations: no rate
        self.assertEqual((fit["fit"], fit["growth_rate"], fit["error"]), ("none", None, None))

    def test_streams_that_are_stable_are_said_to_be(self):
        # k v = 4 sqrt(3/8) omega_p: far beyond the waves that grow.
        out = self.dir / "stable"
        self.good("run", harness.SOURCE / "examples" / "two-stream.toml", "-o", out, "--quiet", "--device", "cpu", "--set",
                  "plasma.wave.mode=[8, 0]", "--set", "plasma.wave.from=0", "--set", "plasma.wave.until=0", "--set", "run.end_time=10")
        record = json.loads((out / "run.json").read_text())
        self.assertEqual(record["wave"]["theory"], "stable")
        self.assertIsNone(record["wave"]["frequency_theory"])
        self.good("plot", out, "--format", "svg")
        self.assertIn("theory: stable", " ".join(svg_words(out / "wave.svg")))

    def test_bernstein(self):
        self.check("bernstein", "frequency")


if __name__ == "__main__":
    harness.main()

"""`pergola view`: a page with the directory of a run, for whoever has its token."""

import math
import random
import unittest

from harness import CliTest, main, needs
from page_client import Page, from_above, picture, points

RUN = """
[run]
end_time = 0.25
[particles]
model = "plummer"
n = 256
seed = 3
[gravity]
softening = 0.05
[output]
snapshots_every = 0.125
energy_every = 0.0625
"""


PLASMA = """
[run]
end_time = 1
device = "cpu"
[plasma]
background = true
cells = [16, 8]
[[plasma.species]]
name = "electrons"
charge = -1
mass = 1
particles_per_cell = 4
temperature = 1
[time]
step = 0.1
[output]
snapshots_every = 0.5
"""


class View(CliTest):
    def setUp(self):
        super().setUp()
        config = self.dir / "run.toml"
        config.write_text(RUN)
        self.run_dir = self.dir / "plummer"
        self.good("--quiet", "run", config, "-o", self.run_dir)

    def open(self, page):
        socket = page.socket()
        self.addCleanup(socket.close)
        return socket

    @needs("h5py")
    def test_the_page_gets_the_particles_of_every_snapshot(self):
        import h5py
        with Page("view", self.run_dir) as page:
            line = self.open(page)
            state = line.ask(ask="state")
            self.assertEqual(state["snapshots"], [0, 1, 2])
            self.assertEqual(state["status"], "finished")
            self.assertEqual(len(state["energy"]["time"]), 5)
            for number in state["snapshots"]:
                header, places = points(line.ask(ask="snapshot", number=number, most=1000))
                with h5py.File(self.run_dir / f"snap_{number:03}.hdf5") as file:
                    self.assertEqual(header["time"], file["Header"].attrs["Time"])
                    expected = file["PartType1/Coordinates"][:]
                self.assertEqual(len(places), 256)
                for k in range(3):
                    most = max(abs(p[k] - e[k]) for p, e in zip(places, expected))
                    self.assertLessEqual(most, header["side"][k] / 65535)
            header, places = points(line.ask(ask="snapshot", number=2, most=10))
            self.assertEqual((header["count"], header["total"]), (10, 256))
            header, _ = points(line.ask(ask="newest", after=0, most=10))
            self.assertEqual(header["number"], 2)
            self.assertIn("no snapshot 3", line.ask(ask="snapshot", number=3, most=10)["message"])
            self.assertIn("steered", line.ask(do="pause")["message"])

    @needs("h5py")
    def test_the_page_gets_a_picture_of_all_particles(self):
        import h5py
        with Page("view", self.run_dir) as page:
            line = self.open(page)
            header, levels = picture(line.ask(ask="density", number=1, **from_above(2.0, 8)))
            with h5py.File(self.run_dir / "snap_001.hdf5") as file:
                places = file["PartType1/Coordinates"][:]
            counts = [0] * 64
            for x, y, _ in places:
                column, row = math.floor((x / 2 + 1) / 2 * 8), math.floor((1 - y / 2) / 2 * 8)
                if 0 <= column < 8 and 0 <= row < 8:
                    counts[8 * row + column] += 1
            self.assertEqual((header["total"], header["most"], header["number"]), (256, max(counts), 1))
            self.assertEqual(levels, [round(255 * math.log(1 + n) / math.log(1 + max(counts))) for n in counts])
            self.assertIn("no snapshot 3", line.ask(ask="density", number=3, **from_above(2.0, 8))["message"])
            self.assertEqual(line.ask(ask="density", after=0, wait=0, **from_above(2.0, 8)), {"kind": "nothing"})
            self.assertIn("13 numbers", line.ask(ask="density", number=1, camera="1 2", width=8, height=8)["message"])

    def test_the_page_gets_the_fields_of_a_plasma(self):
        config = self.dir / "plasma.toml"
        config.write_text(PLASMA)
        out = self.dir / "plasma"
        self.good("--quiet", "run", config, "-o", out)
        with Page("view", out) as page:
            line = self.open(page)
            header, _ = points(line.ask(ask="snapshot", number=5, most=100))  # that of step 5
            charge, field = header["maps"]
            self.assertEqual((charge["title"], field["title"]), ("charge density", "|E|"))
            self.assertEqual((charge["unit"], charge["width"], charge["height"], charge["side"]), ("e n_0", 16, 8, [16, 8]))
            self.assertLess(charge["range"][0], 0)
            self.assertGreater(charge["range"][1], 0)
            self.assertGreater(field["range"][1], field["range"][0])
            along, waves = header["curves"]
            self.assertEqual((along["title"], along["x"]), ("Ex(x)", list(range(16))))
            self.assertEqual((waves["title"], waves["look"], len(waves["y"])), ("Ex by kx", "logarithmic", 8))
            header, levels = picture(line.ask(ask="density", number=5, **from_above(100.0, 2)))
            self.assertEqual(header["total"], 512)
            self.assertEqual(header["most"], 512)  # all on one side of the origin, for vx is seen from above
            self.assertEqual(levels, [0, 255, 0, 0])

    def test_nobody_else_is_answered(self):
        with Page("view", self.run_dir) as page:
            status, body = page.get()
            self.assertEqual(status, 200)
            self.assertIn(b"<!doctype html>", body)
            self.assertLess(len(body), 300_000)
            self.assertEqual(page.get("/")[0], 401)
            self.assertEqual(page.get("/?token=" + "0" * 32)[0], 401)
            self.assertEqual(page.get("/other?" + page.url.query)[0], 404)
            self.assertEqual(page.get(host="evil.example")[0], 403)
            self.assertEqual(page.get(origin="http://evil.example")[0], 403)
            for refused in (page.socket(query="token=1"), page.socket(origin="http://evil.example"),
                            page.socket(host="evil.example")):
                self.assertNotEqual(refused.status, 101)
                refused.close()
            self.assertEqual(self.open(page).status, 101)

    def test_random_messages_do_no_harm(self):
        dice = random.Random(11)
        pieces = ['{"ask":"', "state", "snapshot", "newest", "density", '"', "}", "{", '"number":', '"most":', "-1", "1e300", "\u00e9",
                  "7", ",", '{"do":"', "[", "null", "99999999999999999999", "\\u0000"]
        with Page("view", self.run_dir) as page:
            line = self.open(page)
            for k in range(10_000):
                if k % 2:
                    message = "".join(dice.choice(pieces) for _ in range(dice.randrange(12)))
                else:
                    message = bytes(dice.randrange(256) for _ in range(dice.randrange(40)))
                line.send(message, opcode=1 if isinstance(message, str) else 2)
                line.receive()
            self.assertEqual(line.ask(ask="state")["kind"], "state")
            for k in range(50):  # no WebSocket, no HTTP
                raw = page.socket()
                raw.connection.sendall(bytes(dice.randrange(256) for _ in range(200)))
                raw.close()
            self.assertEqual(self.open(page).ask(ask="state")["kind"], "state")

    def test_what_is_no_run_is_refused(self):
        self.bad(2, "view", self.dir / "nowhere", says=["nowhere"])
        empty = self.dir / "empty"
        empty.mkdir()
        self.bad(2, "view", empty, says=["not the directory of a run"])
        self.bad(2, "view", self.run_dir, "--listen", "somewhere", says=["--listen"])


if __name__ == "__main__":
    main()

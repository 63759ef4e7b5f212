"""`pergola view`: a page with the directory of a run, for whoever has its token."""

import random
import unittest

from harness import CliTest, needs
from page_client import Page, points

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
        pieces = ['{"ask":"', "state", "snapshot", "newest", '"', "}", "{", '"number":', '"most":', "-1", "1e300", "\u00e9",
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
    unittest.main()

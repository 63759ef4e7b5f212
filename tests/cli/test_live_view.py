"""`pergola run --view` and `--control`: a page with a run as it goes on. Nothing here depends on how fast that is."""

import json
import random
import shlex
import socket
import time
import unittest

from harness import MPIRUN, CliTest, main, needs_mpi
from page_client import LivePage, from_above, picture, points

# Lasts until it is told to end.
LONG = """
[run]
end_time = 100000
device = "cpu"
threads = 1
[particles]
model = "plummer"
n = 300
seed = 3
[gravity]
softening = 0.05
[output]
snapshots_every = 0
energy_every = 0
"""

PLASMA = """
[run]
end_time = 1e6
device = "cpu"
threads = 1
[plasma]
background = true
cells = [16, 16]
[[plasma.species]]
name = "electrons"
charge = -1
mass = 1
particles_per_cell = 4
temperature = 1
[time]
step = 0.1
[output]
snapshots_every = 0
energy_every = 0
"""


class LiveView(CliTest):
    def setUp(self):
        super().setUp()
        self.config = self.dir / "long.toml"
        self.config.write_text(LONG)
        self.out = self.dir / "watched"

    def page(self, *args):
        page = LivePage(self.config, "-o", self.out, *args)
        self.addCleanup(page.__exit__)
        return page

    def open(self, page):
        line = page.socket()
        self.addCleanup(line.close)
        return line

    def wait_for(self, line, true):
        """The first state of which it is true. A run that fails ends, and the line with it."""
        deadline = time.monotonic() + 120
        while True:
            state = line.ask(ask="state")
            if true(state):
                return state
            self.assertLess(time.monotonic(), deadline, state)
            time.sleep(0.01)

    def newest(self, line, after):
        """Points that may take their time."""
        while True:
            answer = line.ask(ask="newest", after=after, most=1000)
            if isinstance(answer, bytes):
                return points(answer)
            self.assertEqual(answer, {"kind": "nothing"})

    def density(self, line, after, **sight):
        """A picture that may take its time."""
        while True:
            answer = line.ask(ask="density", after=after, **sight)
            if isinstance(answer, bytes):
                return picture(answer)
            self.assertEqual(answer, {"kind": "nothing"})

    def paused(self, line):
        self.assertIn("pauses", line.ask(do="pause")["message"])
        return self.wait_for(line, lambda state: state["paused"])

    def record(self, directory):
        return json.loads((directory / "run.json").read_text())

    def test_the_page_follows_the_run(self):
        page = self.page("--view")
        line = self.open(page)
        header, places = self.newest(line, 0)
        self.assertEqual((header["count"], header["total"], len(places)), (300, 300, 300))
        for _ in range(3):
            before = header
            header, places = self.newest(line, before["number"] + 1)
            self.assertGreater(header["number"], before["number"])
            self.assertGreater(header["time"], before["time"])
            self.assertTrue(all(abs(x) < 1e3 for place in places for x in place))
        state = self.wait_for(line, lambda state: "totals" in state and state["time"] > 0)
        self.assertEqual((state["status"], state["live"], state["control"]), ("running", True, False))
        steps, = state["curves"]
        self.assertEqual((steps["title"], sum(steps["y"])), ("particles by step", 300))
        self.assertEqual(steps["x"], sorted(steps["x"]))
        self.assertIn("--control", line.ask(do="pause")["message"])
        self.assertEqual(page.get("/?token=" + "0" * 32)[0], 401)
        self.assertEqual(page.get(origin="http://evil.example")[0], 403)
        self.assertEqual(page.end(), 130)
        self.assertNotIn("control", self.record(self.out))

    def test_the_page_steers_the_run_and_alters_nothing(self):
        page = self.page("--control")
        line = self.open(page)
        held = self.paused(line)
        # Its time has stopped, and the page gets the particles of that time.
        header, _ = self.newest(line, 0)
        if header["time"] != held["time"]:
            header, _ = self.newest(line, header["number"] + 1)
        self.assertEqual(header["time"], held["time"])
        # A picture is of the same moment, for each camera.
        for reach in (1e9, 3.0):
            drawn, levels = self.density(line, 0, **from_above(reach, 2))
            self.assertEqual((drawn["time"], drawn["total"], len(levels)), (held["time"], 300, 4))
        for _ in range(3):
            self.assertEqual(line.ask(ask="state")["totals"]["steps"], held["totals"]["steps"])
        line.ask(do="step")
        stepped = self.wait_for(line, lambda state: state["paused"] and state["totals"]["steps"] > held["totals"]["steps"])
        self.assertEqual(stepped["totals"]["steps"], held["totals"]["steps"] + 1)
        line.ask(do="checkpoint")
        self.wait_for(line, lambda state: list(self.out.glob("checkpoint/*.pgc")))
        line.ask(do="go")
        self.wait_for(line, lambda state: state["totals"]["steps"] > stepped["totals"]["steps"] + 1)
        self.assertIn("expected pause", line.ask(do="dance")["message"])
        self.assertEqual(page.end(), 130)

        record = self.record(self.out)
        self.assertEqual([entry["command"] for entry in record["control"]], ["pause", "step", "checkpoint", "go"])
        self.assertEqual(record["control"][0]["steps"], held["totals"]["steps"])
        end = f"run.end_time={record['time'] + 0.1}"
        self.good("--quiet", "run", self.config, "-o", self.out, "--resume", "--set", end)
        alone = self.dir / "alone"
        self.good("--quiet", "run", self.config, "-o", alone, "--set", end)
        final = self.record(self.out)
        self.assertEqual(final["hashes"]["final_state"], self.record(alone)["hashes"]["final_state"])
        self.assertEqual(len(final["control"]), 4)

    def test_pictures_follow_the_run(self):
        page = self.page("--view")
        line = self.open(page)
        sight = from_above(1e9, 1)
        drawn, levels = self.density(line, 0, **sight)
        self.assertEqual((drawn["total"], drawn["most"], levels), (300, 300, [255]))
        for _ in range(2):
            before = drawn
            drawn, levels = self.density(line, before["number"] + 1, **sight)
            self.assertGreater(drawn["number"], before["number"])
            self.assertGreater(drawn["time"], before["time"])
            self.assertEqual((drawn["most"], levels), (300, [255]))
        self.assertEqual(page.end(), 130)

    def test_a_run_is_forked_from_the_page(self):
        self.out = self.dir / "it's watched"
        page = self.page("--control")
        line = self.open(page)
        held = self.paused(line)
        for keys, word in (("gravity.softning=1", "gravity.softening"), ("nonsense", "nonsense"), ("time.eta=-1", "time.eta")):
            self.assertIn(word, line.ask(do="fork", argument=keys)["message"])
        self.assertFalse((self.dir / "it's watched-fork-001").exists())
        line.ask(do="fork", argument=f"gravity.softening=0.1 run.end_time={held['time'] + 0.1}")
        said = self.wait_for(line, lambda state: "is written" in state["said"])["said"]
        self.assertEqual(page.end(), 130)
        command = shlex.split(said[said.index("pergola run"):])
        self.good("--quiet", *command[1:])
        fork = self.record(self.dir / "it's watched-fork-001")
        self.assertEqual(fork["status"], "finished")
        self.assertEqual(fork["start_time"], held["time"])
        self.assertEqual(fork["configuration"]["gravity"]["softening"], 0.1)
        self.assertEqual(fork["n"], 300)

    def test_a_plasma_is_shown_in_phase_space(self):
        self.config.write_text(PLASMA)
        page = self.page("--control")
        line = self.open(page)
        header, places = self.newest(line, 0)
        self.assertEqual((header["axes"], header["kinds"]), (["x", "y", "vx"], ["electrons"]))
        self.assertEqual(len(places), 1000)  # of 1024
        self.assertTrue(all(0 <= place[k] <= 16 for place in places for k in range(2)))
        self.assertTrue(any(place[2] < 0 for place in places) and any(place[2] > 0 for place in places))
        charge, strength = header["maps"]
        self.assertEqual((charge["title"], charge["width"], charge["height"]), ("charge density", 16, 16))
        self.assertEqual(strength["title"], "|E|")
        drawn, levels = self.density(line, 0, **from_above(100.0, 2))
        self.assertEqual((drawn["total"], drawn["most"], levels), (1024, 1024, [0, 255, 0, 0]))
        field, waves = line.ask(ask="state")["curves"]
        self.assertEqual((field["title"], field["x"]), ("Ex(x)", list(range(16))))
        self.assertEqual((waves["title"], len(waves["y"])), ("Ex by kx", 8))
        self.assertIn("fork: expected", line.ask(do="fork", argument="")["message"])
        self.assertEqual(page.end(), 130)

    def test_random_messages_do_no_harm(self):
        dice = random.Random(12)
        camera = '{"ask":"density","wait":1,"after":0,"width":4,"height":4,"camera":"1 0 0 0 0 1 0 0 0 0 0 1 1"}'
        pieces = ['{"ask":"', "state", "newest", camera, '"', "}", "{", '"after":', '"most":', "-1", "7", ",", '{"do":"', "[",
                  '{"do":"pause"}', '{"do":"step"}', '{"do":"go"}', '{"do":"checkpoint"}', '{"do":"fork","argument":"x"}']
        page = self.page("--control")
        line = self.open(page)
        for _ in range(1000):
            line.send("".join(dice.choice(pieces) for _ in range(dice.randrange(4))))
            line.receive()
        line.ask(do="go")
        before = self.wait_for(line, lambda state: "totals" in state)["totals"]["steps"]
        self.wait_for(line, lambda state: state["totals"]["steps"] > before)
        self.assertEqual(page.end(), 130)

    def test_a_vanished_page_holds_up_nobody(self):
        page = self.page("--view")
        gone = page.socket()
        gone.send(json.dumps({"ask": "newest", "after": 0, "most": 100000}))
        gone.close()
        line = self.open(page)
        header, _ = self.newest(line, 0)
        self.newest(line, header["number"] + 1)
        self.assertEqual(page.end(), 130)

    def test_stdout_and_bits_are_those_of_a_run_without_a_page(self):
        short = ("--set", "run.end_time=0.05")
        alone = self.good_json("run", self.config, "-o", self.dir / "alone", *short)
        shown = self.good_json("run", self.config, "-o", self.out, *short, "--control")
        self.assertEqual(alone["hashes"], shown["hashes"])

    @needs_mpi
    def test_rank_0_has_the_page(self):
        short = ("--set", "run.end_time=0.05", "--quiet")
        self.good("run", self.config, "-o", self.dir / "alone", *short)
        self.good("run", self.config, "-o", self.out, *short, "--view", launcher=MPIRUN)
        self.assertEqual(self.record(self.dir / "alone")["hashes"]["final_state"],
                         self.record(self.out)["hashes"]["final_state"])

    def test_what_cannot_be_shown_is_refused(self):
        self.bad(2, "run", self.config, "-o", self.out, "--port", "0", says=["--port", "--view"])
        self.bad(2, "run", self.config, "-o", self.out, "--view", "--listen", "somewhere", says=["--listen"])
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            self.bad(3, "run", self.config, "-o", self.out, "--view", "--port", port, says=[str(port)])
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    main()

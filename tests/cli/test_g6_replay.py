"""`pergola g6-replay` on traces that are written here, byte by byte: what it reports, and what it refuses."""

import struct

import harness

MAGIC = b"PergolaG6Trace1\n\0" + struct.pack("<I", 0x01020304)
OPEN, CLOSE, SET_TIME, SET_J_PARTICLE, FIRST_HALF, LAST_HALF = range(6)


def call(kind, body=b"", cluster=0, result=0):
    return struct.pack("<Bii", kind, cluster, result) + body


def numbers(values, kind="d"):
    return struct.pack(f"<Q{len(values)}{kind}", len(values), *values)


def particle(address, index, x, mass=1.0):
    return call(SET_J_PARTICLE, struct.pack("<ii17d", address, index, 0.0, mass, *[0.0] * 12, *x))


def first_half(nj, indices, x, v=(), h2=()):
    return call(FIRST_HALF, struct.pack("<id", nj, 0.0) + numbers(indices, "i") + numbers(x) + numbers(v) + numbers(h2))


def last_half(acceleration, jerk=(), potential=(), nearest=(), distance=()):
    return call(LAST_HALF, numbers(acceleration) + numbers(jerk) + numbers(potential) + numbers(nearest, "i") +
                numbers(distance, "f"))


TWO = particle(0, 10, (0, 0, 0)) + particle(1, 11, (2, 0, 0))
BLOCK = first_half(2, [10, 11], [0, 0, 0, 2, 0, 0])
ANSWER = last_half([0.25, 0, 0, -0.25, 0, 0], potential=[-0.5, -0.5])
GOOD = call(OPEN) + TWO + BLOCK + ANSWER + call(CLOSE)


class G6Replay(harness.CliTest):
    def trace(self, calls, name="trace.g6"):
        path = self.dir / name
        path.write_bytes(MAGIC + calls)
        return path

    def replay(self, path):
        return ["g6-replay", path, "--device", "cpu", "--threads", 1]

    def test_answers_are_compared(self):
        report = self.good_json(*self.replay(self.trace(GOOD)), "--tolerance", "1e-6")
        self.assertEqual((report["j_particles"], report["blocks"], report["i_particles"], report["interactions"]), (2, 1, 2, 4))
        self.assertEqual(report["acceleration"]["count"], 2)
        self.assertEqual(report["potential"]["count"], 2)

    def test_a_trace_that_ends_within_a_call_is_replayed_up_to_there_and_fails(self):
        for cut in (1, 30, len(call(CLOSE)) + 5):
            result = harness.run(self.replay(self.trace(GOOD[:-cut])))
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("trace.g6", result.stderr)
            self.assertIn("2 j-particles", result.stdout)
        self.good(*self.replay(self.trace(GOOD[:-len(call(CLOSE))])))  # between two calls: nothing is missing that we know

    def test_calls_that_contradict_each_other_are_refused(self):
        damaged = {
            "positions": first_half(2, [10, 11], [0, 0, 0]),
            "velocities": first_half(2, [10, 11], [0] * 6, v=[0] * 5),
            "h2": first_half(2, [10, 11], [0] * 6, h2=[0]),
            "nj": first_half(3, [10, 11], [0, 0, 0, 2, 0, 0]),
            "address": particle(2**30 - 1, 5, (0, 0, 0)),
            "a list": call(FIRST_HALF, struct.pack("<id", 2, 0.0) + struct.pack("<Q", 2**40)),
            "answers": BLOCK + last_half([0] * 9),
            "accelerations": BLOCK + last_half([0] * 5, potential=[0, 0]),
            "a call": b"\x77",
        }
        for word, calls in damaged.items():
            self.bad(2, *self.replay(self.trace(TWO + calls)), says=["trace.g6", word])


if __name__ == "__main__":
    harness.main()

"""scripts/results.py: it measures the benches that the tables of docs/results name, and renews their rows. No speed is asserted here."""

import subprocess
import sys

from harness import SOURCE, CliTest, main

SCRIPT = SOURCE / "scripts" / "results.py"
sys.path.append(str(SCRIPT.parent))
import results  # noqa: E402

PROGRAM = """#!{python}
import json, sys
case = {{"suite": "tree", "case": "tree/plummer/1000/1e-03", "device": "cuda:0", "n": 1000, "rate": 6.054e8, "unit": "particles/s",
        "seconds": 0.02771, "fraction_of_ceiling": None, "error": {{"median": 1.04e-4, "p99": 7.2e-4}}}}
answers = {{"--version": "pergola 0.1.0 (commit 0123456789ab)\\nCUDA: yes", "devices": json.dumps([{{"device": "cuda:0", "name": "NVIDIA H900"}}]),
           "tree": json.dumps([dict(case, precision="single"), dict(case, precision="mixed", rate=5e8, fraction_of_ceiling=0.504)])}}
words = [word for word in sys.argv[1:] if word in answers]
print(answers[words[0]]) if words else sys.exit(2)
"""

HEAD = "| case | device | figure | peer | fraction of the ceiling | commit | command |\n| --- | --- | --- | --- | --- | --- | --- |\n"
TREE = "`pergola bench tree --device cuda`"
OLD = f"""# Tree

{HEAD}| `tree/plummer/1000/1e-03` single | H200 | 1e8 particles/s | Bonsai 1.2e8 | — | 1c5a698 | {TREE} |
| `tree/plummer/1000/1e-03` mixed, 1,000 | H200 | 1e8 particles/s | — | — | 1c5a698 | {TREE} |
| `tree/plummer/2000/1e-03` single | H200 | 1e8 particles/s | — | — | 1c5a698 | {TREE} |
| a run | H200 | 3 s | — | — | 1c5a698 | `pergola run tree.toml` |
| `groups/box/1000` | H200 | 3 s | — | — | 1c5a698 | `pergola bench groups --file none.hdf5 --device cuda` |
| `pic/step/16x32` | H200 | 3 s | — | — | 1c5a698 | `pergola bench pic --device cuda` |

| other | columns |
| --- | --- |
| `tree/plummer/1000/1e-03` single | {TREE} |
"""
NEW = {
    f"| `tree/plummer/1000/1e-03` single | H200 | 1e8 particles/s | Bonsai 1.2e8 | — | 1c5a698 | {TREE} |":
    f"| `tree/plummer/1000/1e-03` single | H900 | 6.05e8 particles/s, 27.7 ms; errors 1.04e-4, 7.20e-4 | Bonsai 1.2e8 | — | 0123456 | {TREE} |",
    f"| `tree/plummer/1000/1e-03` mixed, 1,000 | H200 | 1e8 particles/s | — | — | 1c5a698 | {TREE} |":
    f"| `tree/plummer/1000/1e-03` mixed, 1,000 | H900 | 5.00e8 particles/s, 27.7 ms; errors 1.04e-4, 7.20e-4 | — | 50 % | 0123456 | {TREE} |",
}


class Results(CliTest):
    def script(self, *words):
        return subprocess.run([sys.executable, "-B", SCRIPT, "--folder", self.dir, *map(str, words)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60)

    def test_a_row_is_renewed_and_nothing_else_changes(self):
        program, page, measured = self.dir / "pergola", self.dir / "tree.md", self.dir / "results.json"
        program.write_text(PROGRAM.format(python=sys.executable), encoding="utf-8")
        program.chmod(0o755)
        page.write_text(OLD, encoding="utf-8")
        found = self.script("run", program, "-o", measured)
        self.assertEqual(found.returncode, 1, found.stderr)  # one bench fails, and the others are kept
        self.assertIn("failed with exit code 2: pergola bench pic", found.stderr)
        self.assertIn("left out, its file is missing: pergola bench groups", found.stderr)
        found = self.script("pages", measured)
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertIn("tree.md: 2 rows", found.stdout)
        self.assertIn("has no one case `tree/plummer/2000/1e-03`", found.stderr)
        expected = OLD
        for old, new in NEW.items():
            expected = expected.replace(old, new)
        self.assertEqual(page.read_text(encoding="utf-8"), expected)

    def test_the_pages_name_a_case_for_each_bench(self):
        seen = 0
        for page in sorted(results.PAGES.glob("*.md")):
            lines = page.read_text(encoding="utf-8").split("\n")
            for number, cells in results.rows(lines):
                command = results.command_of(cells)
                with self.subTest(page=page.name, line=number + 1):
                    self.assertEqual("pergola bench" in cells[-1], command is not None)
                    if command:
                        seen += 1
                        self.assertRegex(results.key_of(cells)[0], f"^{command.split()[2]}/")
        self.assertGreater(seen, 30)


if __name__ == "__main__":
    main()

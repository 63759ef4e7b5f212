"""The notebooks of docs/notebooks: every code cell runs, one after the other, as in a kernel."""
import glob
import json
import os
import unittest

import harness

try:
    import matplotlib
    matplotlib.use("Agg")
except ImportError:
    matplotlib = None


def code_cells(path):
    with open(path, encoding="utf-8") as file:
        notebook = json.load(file)
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


@unittest.skipIf(matplotlib is None, "matplotlib is not installed")
class TestNotebooks(unittest.TestCase):
    def run_notebook(self, name):
        names = {"__name__": "__main__"}
        for number, cell in enumerate(code_cells(os.path.join(harness.SOURCE, "docs", "notebooks", name + ".ipynb"))):
            exec(compile(cell, f"{name}.ipynb, code cell {number}", "exec"), names)
        matplotlib.pyplot.close("all")

    def test_cluster(self):
        self.run_notebook("cluster")

    def test_own_force(self):
        self.run_notebook("own-force")

    def test_two_stream(self):
        self.run_notebook("two-stream")

    def test_analysis(self):
        self.run_notebook("analysis")

    def test_galaxy_collision(self):
        self.run_notebook("galaxy-collision")

    def test_cosmology(self):
        self.run_notebook("cosmology")

    def test_there_are_no_others(self):
        names = [os.path.basename(path) for path in glob.glob(os.path.join(harness.SOURCE, "docs", "notebooks", "*.ipynb"))]
        self.assertEqual(sorted(names), ["analysis.ipynb", "cluster.ipynb", "cosmology.ipynb", "galaxy-collision.ipynb", "own-force.ipynb", "two-stream.ipynb"])


if __name__ == "__main__":
    unittest.main()

"""The examples in the docstrings and in the pages of docs/, run."""
import doctest
import glob
import os
import re
import unittest

import harness
import pergola
from pergola import _particles, _run, _settings, _simulation, _units, plot


def load_tests(loader, tests, pattern):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for module in (pergola, _particles, _run, _settings, _simulation, _units, plot):
        tests.addTests(doctest.DocTestSuite(module, optionflags=flags))
    for page in sorted(glob.glob(os.path.join(harness.SOURCE, "docs", "*.md"))):
        with open(page, encoding="utf-8") as file:
            if "\n>>> " in file.read():
                tests.addTests(doctest.DocFileSuite(page, module_relative=False, optionflags=flags, encoding="utf-8"))
    return tests


class TestStubs(unittest.TestCase):
    def test_every_public_name_has_a_stub(self):
        with open(os.path.join(os.path.dirname(pergola.__file__), "__init__.pyi")) as stub:
            text = stub.read()
        for name in pergola.__all__:
            self.assertTrue(re.search(rf"^(def|class) {name}\b|^{name}:|import plot", text, re.M), name)

    def test_the_version_is_the_project_version(self):
        with open(os.path.join(harness.SOURCE, "pyproject.toml")) as file:
            self.assertIn(f'version = "{pergola.__version__}"', file.read())


if __name__ == "__main__":
    unittest.main()

"""What all tests of the Python module share: they look for it in the build tree (PERGOLA_PYTHON)."""
import os
import sys

sys.path.insert(0, os.environ["PERGOLA_PYTHON"])
SOURCE = os.environ.get("PERGOLA_SOURCE", os.path.join(os.path.dirname(__file__), "..", ".."))

"""Every command in README.md, CONTRIBUTING.md and docs/ is run, page by page, in an empty directory with examples/ in it.

`sh` blocks must end with success; `console` blocks must print what the page shows (numbers to a ten-thousandth); `toml` blocks must
be read as a configuration; `python` blocks are run. A block that cannot be run here says why on the line before it, and its
commands and those within the text must still name commands, options, keys and files that exist.
"""

import functools
import math
import os
import re
import shlex
import shutil
import subprocess
import sys

import doc_pages
import harness

PAGES = doc_pages.pages(harness.SOURCE)
SECONDS = 400
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def same_line(expected, found):
    """The same text; `…` stands for anything. Numbers to a ten-thousandth: other instruction sets and devices sum floats in another order, and
    differences of sums (the epicyclic frequency, say) keep fewer digits than these."""
    if "…" in expected:
        return re.fullmatch(".*".join(map(re.escape, expected.split("…"))), found) is not None
    if NUMBER.sub("#", expected) != NUMBER.sub("#", found):
        return False
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(found))
    return all(math.isclose(float(a), float(b), rel_tol=1e-4, abs_tol=1e-12) for a, b in pairs)


@functools.lru_cache(maxsize=None)
def help_of(*words):
    """The help page of a command, or None where there is no such command."""
    result = harness.run([*words, "--help"])
    return result.stdout if result.returncode == 0 else None


def has_option(text, option):
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) is not None


class DocTest(harness.CliTest):
    def prepare(self, page):
        (self.dir / "work").mkdir()
        (self.dir / "output").mkdir()
        shutil.copytree(harness.SOURCE / "examples", self.dir / "work" / "examples")
        for place in (self.dir / "bin", self.dir / "work" / "build" / "release"):
            place.mkdir(parents=True)
            (place / "pergola").symlink_to(shutil.which(harness.PROGRAM))
        environment = dict(os.environ, DOC_OUTPUT=str(self.dir / "output"), LC_ALL="C.UTF-8")
        environment["PATH"] = f"{self.dir / 'bin'}{os.pathsep}{environment['PATH']}"
        skips = [] if can_use_mpi() else ["mpirun "]
        script = self.dir / "page.sh"
        script.write_text(doc_pages.shell_script(page, sys.executable if harness.has_module("h5py") else None, skips), encoding="utf-8")
        return script, environment

    def run_page(self, page):
        script, environment = self.prepare(page)
        prologue = f"set -eu; trap 'echo \"{page.path.name}: line $LINENO failed: $BASH_COMMAND\" >&2' ERR; . {shlex.quote(str(script))}"
        result = subprocess.run(["bash", "-c", prologue], cwd=self.dir / "work", env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS)
        said = "".join(path.read_text(errors="replace") for path in sorted((self.dir / "output").iterdir()))
        self.assertEqual(result.returncode, 0, (said + result.stdout)[-4000:])
        for line, expected in doc_pages.expected_outputs(page):
            if not expected:
                continue  # the page does not show what it prints
            found = (self.dir / "output" / f"{line}.out").read_text(encoding="utf-8").splitlines()
            where = f"{page.path.name}: line {line} prints\n" + "\n".join(found)
            self.assertEqual(len(found), len(expected), where)
            for a, b in zip(expected, found):
                self.assertTrue(same_line(a, b), f"{where}\nand the page says\n{a}")


@functools.lru_cache(maxsize=None)
def can_use_mpi():
    return shutil.which("mpirun") is not None and "MPI: yes" in harness.run(["--version"]).stdout


def add_page(page):
    setattr(DocTest, f"test_{doc_pages.name_of(page, harness.SOURCE)}", lambda self: self.run_page(page))


for each in doc_pages.with_commands(harness.SOURCE):
    add_page(each)


class BlockTest(harness.CliTest):
    def test_every_block_has_a_language(self):
        for page in PAGES:
            for block in page.blocks:
                with self.subTest(page=page.path.name, line=block.line):
                    self.assertIn(block.language, doc_pages.LANGUAGES)
                    if block.language == "text":
                        self.assertFalse([line for line in block.lines if re.match(r"(\$ )?pergola ", line)], "commands are sh or console")

    def test_configurations_are_read(self):
        for page in PAGES:
            for block in page.blocks:
                if block.language == "toml" and not block.no_test:
                    with self.subTest(page=page.path.name, line=block.line):
                        path = self.dir / "block.toml"
                        path.write_text("\n".join(block.lines), encoding="utf-8")
                        self.good("run", path, "--print-config")

    def test_lines_of_cpp_are_compiled_somewhere(self):
        """C++ on a page is an excerpt of an example or a test: its lines stand there, whatever their indent."""
        folders = [harness.SOURCE / "examples", harness.SOURCE / "tests"]
        compiled = {line.strip() for folder in folders for path in folder.rglob("*.cpp") for line in path.read_text(encoding="utf-8").split("\n")}
        for page in PAGES:
            for block in page.blocks:
                if block.language == "cpp" and not block.no_test:
                    with self.subTest(page=page.path.name, line=block.line):
                        self.assertEqual([line for line in block.lines if line.strip() not in compiled], [])


    def test_theory_names_files_that_exist(self):
        text = (harness.SOURCE / "docs" / "theory.md").read_text(encoding="utf-8")
        names = re.findall(r"`(\w+\.(?:hpp|inl))`", text)
        self.assertGreater(len(names), 12)
        self.assertEqual([name for name in names if not (harness.SOURCE / "src" / "physics" / name).exists()], [])

    def test_each_picture_of_the_gallery_has_its_command(self):
        """After a picture comes a block of commands that writes a file of its name."""
        gallery = doc_pages.read_page(harness.SOURCE / "docs" / "gallery.md")
        shown = [(line, name) for line, text in gallery.prose for name in re.findall(r"\]\(images/([\w.-]+)\)", text)]
        self.assertGreater(len(shown), 8)
        for line, name in shown:
            after = next(block for block in gallery.blocks if block.line > line)
            self.assertIn(name, " ".join(after.lines), f"line {line}")


class NamedKeyTest(harness.CliTest):
    """Keys of the configuration that the text names."""

    KEY = re.compile(r"`((?:run|particles|gravity|time|output|units|cosmology|plasma|expect)\.[a-z0-9_.]+)")

    def keys(self):
        for page in PAGES:
            for line, text in page.prose:
                if page.path.name == "coming-from.md" and text.startswith("|"):
                    text = text.split("|", 2)[2]  # on the left stand those of others
                for key in self.KEY.findall(text):
                    if not key.endswith((".json", ".toml", ".hpp")):
                        yield key, f"{page.path.name}:{line}"

    def test_they_are_keys(self):
        places = dict(self.keys())
        self.assertGreater(len(places), 40)
        for key, where in sorted(places.items()):
            base = "two-stream" if key.startswith("plasma.") else "plummer"
            with self.subTest(key=key, where=where):
                said = harness.run(["run", harness.SOURCE / "examples" / f"{base}.toml", "--set", f"{key}=0", "--print-config"]).stderr
                self.assertNotIn("unknown key", said)


class NamedCommandTest(harness.CliTest):
    """Commands that are not run: within the text, and in blocks with a reason."""

    def commands(self):
        for page in PAGES:
            for line, command in page.inline_commands():
                yield f"{page.path.name}:{line}", command
            for line, text in page.prose:
                if text.startswith("    pergola "):  # a record of what was measured
                    yield f"{page.path.name}:{line}", text.strip()
            for block in page.blocks:
                for offset, text in enumerate(block.lines if block.no_test and block.language in ("sh", "console") else []):
                    found = re.search(r"(?:^|[ /])(pergola [a-z].*)", text)
                    if found:
                        yield f"{page.path.name}:{block.line + offset + 1}", found.group(1)

    def check(self, command):
        try:
            words = shlex.split(command.replace("…", ""), comments=True)[1:]
        except ValueError:  # a quotation that the text cuts short
            words = command.split()[1:]
        if not re.fullmatch(r"[a-z0-9-]+", words[0]):
            return
        text = help_of(words[0])
        self.assertIsNotNone(text, f"there is no command {words[0]}")
        if words[0] in ("ic", "analyze") and len(words) > 1 and re.fullmatch(r"[a-z0-9-]+", words[1]):
            more = help_of(*words[:2])
            self.assertIsNotNone(more, f"{words[0]} has no {words[1]}")
            text += more
        text += help_of()
        for word in words[1:]:
            option = re.match(r"\[?(--?[a-z][\w-]*)", word)
            if option:
                self.assertTrue(has_option(text, option.group(1)), f"{words[0]} has no option {option.group(1)}")
            for name in re.findall(r"examples/[\w./-]+", word):
                self.assertTrue((harness.SOURCE / name).exists(), f"there is no {name}")
        if words[0] == "run" and len(words) > 1 and words[1].startswith("examples/") and "--resume" not in words:
            keep = [part for key, value in zip(words, words[1:]) if key == "--set" for part in (key, value)]
            self.good("run", harness.SOURCE / words[1], *keep, "--print-config")

    def test_they_name_what_exists(self):
        for where, command in self.commands():
            with self.subTest(where=where, command=command):
                self.check(command)


if __name__ == "__main__":
    harness.main()

"""The Markdown pages as the tests read them: code blocks with their language, line and mark, and commands within the text.

A block is run by tests/cli/test_docs.py unless the line before its fence says why not:  <!-- no-test: needs a GPU -->
"""

import dataclasses
import pathlib
import re
import sys

FENCE = re.compile(r"^```(.*)$")
NO_TEST = re.compile(r"^<!-- no-test: (.+) -->$")
INLINE = re.compile(r"`(pergola [a-z][^`]*)`")
# sh: commands. console: commands after "$ " and what they print. What else there is has checks of its own or is only shown.
LANGUAGES = {"sh", "console", "toml", "json", "python", "cpp", "c", "cmake", "text"}


@dataclasses.dataclass
class Block:
    language: str
    line: int  # of the opening fence, from 1
    lines: list
    no_test: str  # the reason, or ""


@dataclasses.dataclass
class Page:
    path: pathlib.Path
    lines: list
    blocks: list
    prose: list  # (line, text) outside of blocks

    def inline_commands(self):
        """`pergola …` within the text, as (line, command)."""
        for number, text in self.prose:
            for command in INLINE.findall(text):
                yield number, command


def read_page(path):
    page = Page(path, path.read_text(encoding="utf-8").split("\n"), [], [])
    block = None
    for number, text in enumerate(page.lines, 1):
        fence = FENCE.match(text)
        if fence and block is None:
            mark = NO_TEST.match(page.lines[number - 2]) if number > 1 else None
            block = Block(fence.group(1), number, [], mark.group(1) if mark else "")
        elif fence:
            page.blocks.append(block)
            block = None
        elif block is not None:
            block.lines.append(text)
        else:
            page.prose.append((number, text))
    if block is not None:
        raise ValueError(f"{path}:{block.line}: the code block does not end")
    return page


def pages(source):
    """README.md, CONTRIBUTING.md and all of docs/."""
    return [read_page(path) for path in [source / "README.md", source / "CONTRIBUTING.md", *sorted((source / "docs").rglob("*.md"))]]


def name_of(page, source):
    """docs_results_direct for docs/results/direct.md: what ctest and unittest call the page."""
    return re.sub(r"\W", "_", str(page.path.relative_to(source).with_suffix("")))


def shell_script(page, python, skips=()):
    """The blocks of a page as one bash script, each line where the page has it, so that the shell's line numbers are the
    page's. What a console block's command prints goes to the file LINE.out in $DOC_OUTPUT, LINE being that of its prompt. Blocks
    with a command that begins with a word of `skips` are left out, and Python's where `python` is None."""
    script = [""] * len(page.lines)
    for block in page.blocks:
        if block.no_test or block.language not in ("sh", "console", "python"):
            continue
        if any(line.startswith(tuple(skips)) for line in block.lines):
            continue
        if block.language == "python":
            if python and not any(line.startswith(">>>") for line in block.lines):  # those are for doctest, tests/python/test_docs.py
                script[block.line - 1] = f"{python} - <<'END_OF_BLOCK'"
                script[block.line : block.line + len(block.lines)] = block.lines
                script[block.line + len(block.lines)] = "END_OF_BLOCK"
            continue
        for offset, text in enumerate(block.lines):
            place = block.line + offset  # in the list; the page's line is one more
            if block.language == "console":
                if text.startswith("$ "):
                    script[place] = f'{{ {text[2:]}; }} >"$DOC_OUTPUT/{place + 1}.out" 2>&1'
            else:
                script[place] = text
    return "\n".join(script) + "\n"


def expected_outputs(page):
    """Of each prompt of a console block its line, and the lines that must follow."""
    for block in page.blocks:
        if block.no_test or block.language != "console":
            continue
        prompt, lines = None, []
        for offset, text in enumerate([*block.lines, "$ "]):
            if text.startswith("$ "):
                if prompt is not None:
                    yield prompt, lines
                prompt, lines = block.line + offset + 1, []
            else:
                lines.append(text)


def with_commands(source):
    """The pages that have something to run."""
    return [page for page in pages(source) if shell_script(page, sys.executable).strip()]


if __name__ == "__main__":  # the list of pages for ctest:  doc_pages.py SOURCE
    for each in with_commands(pathlib.Path(sys.argv[1])):
        print(name_of(each, pathlib.Path(sys.argv[1])))

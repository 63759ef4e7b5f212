#!/usr/bin/env python3
"""Makes the documentation's site from the Markdown of the repository:  scripts/site.py [--output FOLDER] [--check-only]

The pages are those of docs/ with its notebooks, README.md, ARCHITECTURE.md, CONTRIBUTING.md, CHANGELOG.md, the README.md of every room in src/ and the references that
scripts/api_reference.py makes; mkdocs.yml says how they are ordered. They are laid out under FOLDER/pages (default: build/site), with links that fit there, and mkdocs (Debian's package)
builds FOLDER/html from them. Every link to a file, a folder or a heading of the repository is checked first, and after the build all files that pages of the site name.
Exit code 1 where a link is broken or a page is in no menu, 77 where mkdocs is missing.
"""
import argparse
import base64
import json
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

import api_reference

ROOT = pathlib.Path(__file__).resolve().parent.parent
FRONT = {"README.md": "index.md", "ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
STYLE = """\
.wy-nav-content { max-width: 1100px; }
.wy-nav-content-wrap { background: #fcfcfc; }
.rst-content pre code { white-space: pre-wrap; overflow-wrap: anywhere; }
"""
PAGE = re.compile(r"(?<!\]\()(?<![\w/\[`.])(`?)(docs/[\w/-]+\.md)\1(?![\w`])")  # a page of docs/ that is named and not linked
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^()\s]+)(\))")


def sources():
    """Pages of the repository by their path in it, with the path that they have in the site."""
    found = dict(FRONT)
    for path in sorted((ROOT / "docs").rglob("*.md")):
        found[path.relative_to(ROOT).as_posix()] = path.relative_to(ROOT / "docs").as_posix()
    for path in sorted((ROOT / "src").glob("*/README.md")):
        found[path.relative_to(ROOT).as_posix()] = f"rooms/{path.parent.name}.md"
    return found


def without_code(text):
    """The text with what is code blanked out, line by line, so that nothing in it looks like a link or a heading."""
    inside = False
    for line in text.split("\n"):
        fence = line.startswith("```")
        yield "" if inside or fence else re.sub(r"`[^`]*`", lambda found: " " * len(found.group()), line)
        inside ^= fence


def anchors(text):
    """The anchors of a page's headings, as GitHub and mkdocs both name them."""
    found, inside = set(), False
    for line in text.split("\n"):
        inside ^= line.startswith("```")
        heading = re.match(r"#+ (.*)", line)
        if heading and not inside:
            words = re.sub(r"[^\w\s-]", "", heading.group(1).lower()).strip()
            found.add(re.sub(r"\s", "-", words))
    return found


def as_mkdocs_reads(text):
    """GitHub's Markdown as mkdocs's: a list or a table begins after an empty line, and what belongs to a list's item is indented by four."""
    shown, before, inside = [], "", False
    for line in text.split("\n"):
        fence = line.startswith("```")
        if not inside and not fence:
            part = re.match(r"(\s*)([-*] |\d+\. |\|)", line)
            goes_on = re.match(r"\s*([-*] |\d+\. |\|)|\s+\S|$", before)
            if part and not goes_on:
                shown.append("")
            line = re.sub(r"^ {2,3}(?=\S)", "    ", line)
        inside ^= fence
        shown.append(line)
        before = line
    return "\n".join(shown)


def notebook_page(path):
    """A notebook as Markdown, with what its cells printed and drew: the page and its pictures by name."""
    lines, pictures = [], {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        lines += ["```python", source, "```", ""] if cell["cell_type"] == "code" else [source, ""]
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                name = f"{path.stem}-{len(pictures) + 1}.png"
                pictures[name] = base64.b64decode("".join(data["image/png"]))
                lines += [f"![what the cell draws]({name})", ""]
            else:
                lines += ["```text", "".join(output.get("text") or data.get("text/plain", "")).rstrip("\n"), "```", ""]
    return "\n".join([*lines, f"The notebook itself: [{path.name}]({path.name})", ""]), pictures


class Site:
    def __init__(self, folder):
        self.pages = folder / "pages"
        self.places = sources()
        self.texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in self.places}
        self.extra = {}  # files and folders that pages link to, by their path in the repository
        self.problems = []

    def place_of(self, name):
        """Where a file or a folder of the repository is in the site."""
        if name in self.places:
            return self.places[name]
        if f"{name}/README.md" in self.places:
            return self.places[f"{name}/README.md"]
        if (ROOT / name).is_dir():
            self.extra[name] = posixpath.join("files", name, "index.md")
        elif name.startswith("docs/"):
            return name.removeprefix("docs/").replace(".ipynb", ".md")
        else:
            self.extra[name] = posixpath.join("files", name if "." in posixpath.basename(name) else name + ".txt")
        return self.extra[name]

    def check(self, name, number, target, anchor):
        if not (ROOT / target).exists():
            self.problems.append(f"{name}:{number}: there is no {target}")
        elif anchor and anchor not in anchors(self.texts.get(target, "")):
            self.problems.append(f"{name}:{number}: {target} has no heading #{anchor}")

    def with_links(self, name):
        """The page with its links as they must be in the site; broken ones are noted."""
        lines = self.texts[name].split("\n")
        here = posixpath.dirname(self.places[name])
        for number, (line, plain) in enumerate(zip(lines, without_code(self.texts[name]))):
            if plain:
                line = plain = PAGE.sub(lambda found: self.as_link(found, plain, posixpath.dirname(name)), line)
                plain = re.sub(r"`[^`]*`", lambda found: " " * len(found.group()), plain)
            new, copied = [], 0
            for found in LINK.finditer(plain):
                address, _, anchor = found.group(2).partition("#")
                if re.match(r"[a-z]+:", address):
                    continue
                target = posixpath.normpath(posixpath.join(posixpath.dirname(name), address)) if address else name
                self.check(name, number + 1, target, anchor)
                if address and (ROOT / target).exists():
                    place = posixpath.relpath(self.place_of(target), here or ".")
                    new += [line[copied : found.start()], self.with_title(line[found.start() : found.start(2)], target), place + (f"#{anchor}" if anchor else "")]
                    copied = found.end(2)
            lines[number] = "".join(new) + line[copied:]
        return "\n".join(lines)

    def as_link(self, found, plain, folder):
        """A page that is named, as a link; not where it is a part of a command."""
        if not found.group(1) and plain[found.start() : found.end()] != found.group():
            return found.group()
        return f"[{found.group(2)}]({posixpath.relpath(found.group(2), folder or '.')})" if found.group(2) in self.texts else found.group()

    def with_title(self, start, target):
        """The start of a link, [TEXT](, with the title of the page where the text is no more than the page's file."""
        title = re.match(r"# (.*)", self.texts.get(target, ""))
        return f"[{title.group(1)}](" if title and re.fullmatch(r"\[`?[\w./-]+\.md`?\]\(", start) else start

    def write(self, place, text):
        path = self.pages / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def stage(self):
        shutil.rmtree(self.pages, ignore_errors=True)
        shutil.copytree(ROOT / "docs", self.pages, ignore=shutil.ignore_patterns("*.md"))
        for name, place in self.places.items():
            self.write(place, as_mkdocs_reads(self.with_links(name)))
        for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
            page, pictures = notebook_page(path)
            self.write(f"notebooks/{path.stem}.md", page)
            for name, picture in pictures.items():
                (self.pages / "notebooks" / name).write_bytes(picture)
        self.write("css/pergola.css", STYLE)
        self.write("reference-cpp.md", api_reference.cpp_page())
        self.write("reference-python.md", api_reference.python_page())
        for name, place in self.extra.items():
            if (ROOT / name).is_dir():
                self.write_folder(name, place)
            else:
                self.copy(name, place)

    def copy(self, name, place):
        (self.pages / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, self.pages / place)

    def write_folder(self, name, place):
        """A folder of the repository as a page with its files."""
        files = sorted(path.name for path in (ROOT / name).iterdir() if path.is_file())
        self.write(place, f"# {name}\n\n" + "".join(f"- [{file}]({file})\n" for file in files))
        for file in files:
            self.copy(f"{name}/{file}", posixpath.join(posixpath.dirname(place), file))

    def check_menu(self):
        """Every page stands in the menu of mkdocs.yml."""
        menu = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
        notebooks = [f"notebooks/{path.stem}.md" for path in (ROOT / "docs" / "notebooks").glob("*.ipynb")]
        for place in [*self.places.values(), *notebooks, "reference-cpp.md", "reference-python.md"]:
            if place not in menu:
                self.problems.append(f"mkdocs.yml: its menu lacks {place}")


def mend_theme(html):
    """Debian's mkdocs has the theme's pages of one version and scripts of another: jQuery has another name, and one is missing."""
    for jquery in sorted((html / "js").glob("jquery-*.min.js")):
        if not (html / "js" / "jquery-3.6.0.min.js").exists():
            shutil.copyfile(jquery, html / "js" / "jquery-3.6.0.min.js")
    if not (html / "js" / "theme_extra.js").exists():
        (html / "js").mkdir(exist_ok=True)
        (html / "js" / "theme_extra.js").write_text("$('div.rst-content table').addClass('docutils');\n", encoding="utf-8")


def missing_files(html):
    """What pages of the site name and the site does not have: scripts, styles, pictures, pages."""
    missing = {}
    for page in sorted(html.rglob("*.html")):
        text = re.sub(r"<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)  # with what is for old browsers
        for address in re.findall(r'\s(?:src|href)="([^"#?]+)', text):
            if re.match(r"[a-z]+:|//", address):
                continue
            file = html / address.lstrip("/") if address.startswith("/") else page.parent / address
            if not file.resolve().exists():
                missing.setdefault(address, page.relative_to(html).as_posix())
    return [f"{page} (and perhaps others): there is no {address} in the site" for address, page in missing.items()]


def build(folder):
    if not shutil.which("mkdocs"):
        print("skipped: mkdocs is not installed (links and menu were checked)")
        return 77
    settings = folder / "mkdocs.yml"
    settings.write_text(f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: {folder / 'pages'}\nsite_dir: {folder / 'html'}\n", encoding="utf-8")
    result = subprocess.run(["mkdocs", "build", "--strict", "--clean", "--quiet", "--config-file", str(settings)], cwd=folder).returncode
    if result:
        return 1
    mend_theme(folder / "html")
    missing = missing_files(folder / "html")
    print("\n".join(missing) if missing else folder / "html" / "index.html")
    return 1 if missing else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build" / "site", help="folder to build in (build/site)")
    parser.add_argument("--check-only", action="store_true", help="links and menu only")
    options = parser.parse_args()
    folder = options.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    site = Site(folder)
    site.stage()
    site.check_menu()
    site.problems += [f"scripts/api_reference.py: finds nothing of {name}" for name in api_reference.missing()]
    for problem in site.problems:
        print(problem, file=sys.stderr)
    if site.problems:
        return 1
    return 0 if options.check_only else build(folder)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Pages with the public interfaces, made from the headers' comments and from the docstrings; scripts/site.py calls it.

C++: the headers that src/pergola.hpp names. Each declaration with the comment before it; of a class what is public.
Python: the names of pergola.__all__, with the signatures of the stubs and the docstrings of the package.
"""
import ast
import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent


def public_headers():
    text = (ROOT / "src" / "pergola.hpp").read_text(encoding="utf-8")
    return re.findall(r'#include "([^"]+)"', text)


def depth_change(line):
    """Braces and parentheses that a line opens, less those that it closes; those in comments and quotations do not count."""
    code = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'|//.*', "", line)
    return sum(code.count(mark) for mark in "({") - sum(code.count(mark) for mark in ")}")


def declarations(text):
    """(comment lines, code lines) of what stands in namespace pergola, outside of namespaces within it."""
    comment, code, depth = [], [], 0
    inside = False
    for line in text.split("\n"):
        if not inside:
            inside = line.startswith("namespace pergola {")
            continue
        if not code and not line.strip():
            comment = []
        elif not code and line.startswith("///"):
            comment.append(line[3:].removeprefix(" "))
        elif not code and line.startswith(("#", "//", "}", "PERGOLA_")) and not line.startswith("PERGOLA_API"):
            comment = []
        else:
            code.append(line)
            depth += depth_change(line)
            ended = re.sub(r"\s*//.*", "", line).rstrip()
            if depth == 0 and ended.endswith((";", "}")):
                yield comment, code
                comment, code = [], []


def is_class(code):
    return re.search(r"^\s*(class|struct|union|enum)\b", re.sub(r"^template <.*?>\s*(?=class|struct)", "", "\n".join(code))) is not None


def shown_code(code):
    """A declaration as a reader wants it: a class without what is private, a function without its body."""
    if not is_class(code):
        text = "\n".join(code)
        body = re.search(r"\)[^;{]*\{", text)
        text = text[: body.end() - 1].rstrip() + ";" if body else text
        return re.sub(r"\bPERGOLA_API\s+", "", text)
    shown, hidden = [], False
    for line in code:
        access = re.match(r"\s*(public|private|protected):", line)
        if access:
            hidden = access.group(1) != "public"
        if not hidden or line.startswith("}"):
            shown.append(line)
    return re.sub(r"\bPERGOLA_API\s+", "", "\n".join(shown))


def header_section(name):
    text = (ROOT / "src" / name).read_text(encoding="utf-8")
    lines = [f"## `pergola/{name}`", ""]
    for comment, code in declarations(text):
        if re.match(r"(class|struct|enum) \w+;|namespace ", code[0]):
            continue  # known by name only, or details
        comment = [line.replace("](", "]\\(") for line in comment]  # code such as [&](x), no link
        if comment and lines[-1] == "":
            comment = [*comment, ""]
        lines += [*comment, "```cpp", shown_code(code), "```", ""]
    return lines


def cpp_page():
    lines = ["# C++ reference", "", "What `#include <pergola/pergola.hpp>` brings, header by header, from their comments. All of it is in `namespace pergola`.", ""]
    for name in public_headers():
        lines += header_section(name)
    return "\n".join(lines) + "\n"


class Docstrings(ast.NodeVisitor):
    """Docstrings of the package by name: "read", "Simulation", "Simulation.run"."""

    def __init__(self):
        self.found = {}
        self.prefix = ""

    def keep(self, node):
        text = ast.get_docstring(node)
        if text:
            self.found.setdefault(self.prefix + node.name, text)

    def visit_FunctionDef(self, node):
        self.keep(node)

    def visit_ClassDef(self, node):
        self.keep(node)
        before, self.prefix = self.prefix, f"{self.prefix}{node.name}."
        self.generic_visit(node)
        self.prefix = before

    def visit_Assign(self, node):  # Particles.__doc__ = """…"""
        target = node.targets[0]
        if isinstance(target, ast.Attribute) and target.attr == "__doc__" and isinstance(target.value, ast.Name):
            self.found.setdefault(target.value.id, textwrap.dedent(node.value.value).strip())


def prose(text):
    """A docstring as Markdown: ``code`` is `code`, and examples are blocks."""
    lines, example = [], False
    for line in text.replace("``", "`").split("\n"):
        if line.startswith(">>> ") and not example:
            lines += ["```python"]
            example = True
        elif example and not line.strip():
            lines += ["```"]
            example = False
        lines.append(line)
    return [*lines, "```"] if example else lines


def signature(node):
    """A function or property of the stub in one line."""
    decorators = {ast.unparse(one) for one in node.decorator_list}
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    if "property" in decorators:
        return f"{node.name}: {ast.unparse(node.returns)}"
    arguments = ast.unparse(node.args).replace("=...", "=…")
    return ("classmethod " if "classmethod" in decorators else "") + f"{node.name}({arguments}){returns}"


def python_class(node, documented):
    lines = [f"## class `{node.name}`", "", *prose(documented.get(node.name, "")), ""]
    plain = []  # members that need no words, in one block
    for member in node.body:
        if isinstance(member, ast.AnnAssign):
            plain.append(f"{member.target.id}: {ast.unparse(member.annotation)}")
        elif isinstance(member, ast.FunctionDef) and not any("setter" in ast.unparse(one) for one in member.decorator_list):
            if member.name.startswith("__") and member.name != "__init__":
                continue
            words = prose(documented.get(f"{node.name}.{member.name}", ""))
            if words == [""]:
                plain.append(signature(member))
            else:
                lines += ["```text", signature(member), "```", "", *words, ""]
    return [*lines, "```text", *plain, "```", ""] if plain else lines


def python_page():
    package = ROOT / "src" / "python" / "pergola"
    stubs = ast.parse((package / "__init__.pyi").read_text(encoding="utf-8"))
    documents = Docstrings()
    for path in [*sorted(package.glob("_[a-z]*.py")), package / "__init__.pyi"]:
        documents.visit(ast.parse(path.read_text(encoding="utf-8")))
    plots = Docstrings()
    plots.visit(ast.parse((package / "plot.py").read_text(encoding="utf-8")))
    documents.found["models"] = documents.found["_Models"]
    lines = ["# Python reference", "", "`import pergola`, from the stubs and the docstrings. `=…` marks what may be left out.", ""]
    for node in stubs.body:
        name = getattr(node, "name", getattr(getattr(node, "target", None), "id", "_"))
        if name.startswith("_"):
            continue
        if isinstance(node, ast.ClassDef):
            lines += python_class(node, documents.found)
        elif isinstance(node, ast.FunctionDef):
            lines += [f"## `{name}`", "", "```text", signature(node), "```", "", *prose(documents.found.get(name, "")), ""]
        elif isinstance(node, ast.AnnAssign):
            lines += [f"## `{name}`", "", *prose(documents.found.get(name, "")), ""]
    lines += ["## `plot`", "", "Into matplotlib's axes, where it is installed.", ""]
    for node in ast.parse((package / "plot.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            lines += ["```text", f"plot.{signature(node)}", "```", "", *prose(plots.found.get(node.name, "")), ""]
    return "\n".join(lines) + "\n"


def missing():
    """Headers and public names of Python that the pages show nothing of: what is documented in a way that this script does not read."""
    lost = [name for name in public_headers() if "```cpp" not in header_section(name)]
    init = (ROOT / "src" / "python" / "pergola" / "__init__.py").read_text(encoding="utf-8")
    names = re.findall(r'"(\w+)"', init[init.index("__all__") :])
    headings = re.findall(r"^## (?:class )?`(\w+)`", python_page(), re.MULTILINE)
    return lost + [name for name in names if name not in headings]


def main():
    print(cpp_page())
    print(python_page())


if __name__ == "__main__":
    main()

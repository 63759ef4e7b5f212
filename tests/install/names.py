#!/usr/bin/env python3
"""names.py INCLUDE: a C++ program, on stdout, that names every function and every method that the headers of an
installed Pergola (INCLUDE/pergola) export, and asks for the type of every exported class. It links where all of them are
in the library. Functions are told apart by their types; constructors are made where they take nothing.
"""
import pathlib
import re
import sys

EXPORTED_CLASS = re.compile(r"^(?:template\s*<[^>]*>\s*)?(?:class|struct)\s+PERGOLA_API\s+(\w+)")
FUNCTION = re.compile(r"^(?P<result>.*?[\s&*>])(?P<name>\w+)\s*\((?P<parameters>.*)\)\s*(?P<const>const)?\s*(?:noexcept)?$", re.S)
NOT_A_METHOD = re.compile(r"^(using|friend|typedef|explicit|static_assert|template)\b|\boperator\b|= (default|delete|0)$|~")


def without_comments(text):
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


def statements(text):
    """What stands between the braces of one level: (words before, body) with a body, or None, for each statement."""
    found, words, i = [], "", 0
    while i < len(text):
        c = text[i]
        if c == ";":
            found.append((" ".join(words.split()), None))
            words = ""
        elif c == ":" and words.strip() in ("public", "private", "protected"):
            found.append((words.strip() + ":", None))
            words = ""
        elif c == "{":
            depth, begin = 1, i + 1
            while depth:
                i += 1
                depth += {"{": 1, "}": -1}.get(text[i], 0)
            head = " ".join(words.split())
            if re.match(r"(inline )?(namespace|(template\s*<[^>]*> )?(class|struct|enum|union)) ?", head):
                found.append((head, text[begin:i]))
                words = ""
            elif head.endswith((")", "const", "noexcept", "override")) or ": " in head:  # the body of a function
                words = ""
            else:
                words += "{}"  # an initial value
        else:
            words += c
        i += 1
    return found


def split_outside(text):
    """At commas that stand in no bracket."""
    parts, depth, part = [], 0, ""
    for c in text:
        depth += {"<": 1, "(": 1, "{": 1, "[": 1, ">": -1, ")": -1, "}": -1, "]": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += c
    return parts + [part] if part.strip() else parts


def types_of(parameters):
    return ", ".join(re.sub(r"\s=\s.*$", "", one, flags=re.S).strip() for one in split_outside(parameters))


class Program:
    def __init__(self):
        self.lines, self.functions, self.classes, self.methods = [], 0, 0, 0

    def name(self, declaration):
        self.lines.append(declaration)

    def function(self, scope, statement):
        real = statement.startswith("template")
        statement = re.sub(r"^template\s*<class Real>\s*", "", statement).replace("PERGOLA_API ", "")
        found = FUNCTION.match(re.sub(r"^(inline|extern) ", "", statement))
        if not found:
            raise SystemExit(f"names.py: cannot read {statement!r}")
        for number in ("float", "double") if real else ("",):
            pointer = f"{found['result']}(*function_{self.functions}{number})({types_of(found['parameters'])})"
            name = f"&{found['name']}<{number}>" if real else f"&{found['name']}"
            using = f"using Real = {number}; " if real else ""
            inside = f"of_{self.functions}{number}"
            self.name(f"namespace {scope} {{ namespace {inside} {{ {using}{pointer} = {name}; }} }}")
            self.name(f"const void* const use_{self.functions}{number} = reinterpret_cast<const void*>({scope}::{inside}::function_{self.functions}{number});")
        self.functions += 1

    def klass(self, scope, head, body):
        name = EXPORTED_CLASS.match(head)[1]
        template = head.startswith("template")
        self.classes += 1
        for number in ("float", "double") if template else ("",):
            full = f"{scope}::{name}<{number}>" if template else f"{scope}::{name}"
            self.name(f"const std::type_info& class_{self.classes}{number} = typeid({full});")
            using = f"using Real = {number}; " if template else ""
            for method in public_methods(name, head, body):
                self.method(scope, name, full, using, method)

    def method(self, scope, name, full, using, statement):
        static = re.search(r"\bstatic\b", statement)
        statement = re.sub(r"\b(virtual|static|inline|override|final)\b", "", statement).strip()
        found = FUNCTION.match(statement)
        if not found:
            raise SystemExit(f"names.py: cannot read {statement!r}")
        member = "" if static else f"{name}::" if full.endswith(name) else f"{full}::"
        const = " const" if found["const"] else ""
        inside = f"method_{self.methods}"
        # Inside a class derived from it the names of its own types are known.
        self.name(f"namespace {scope} {{ struct {inside} : {full} {{ {using}static auto get() {{ {found['result']}({member}*p)"
                  f"({types_of(found['parameters'])}){const} = &{full}::{found['name']}; return p; }} }}; }}")
        self.name(f"[[maybe_unused]] const auto use_method_{self.methods} = {scope}::{inside}::get();")
        self.methods += 1


def public_methods(name, head, body):
    access = "public" if re.search(r"\bstruct PERGOLA_API", head) else "private"
    for words, inner in statements(body):
        if words in ("public:", "private:", "protected:"):
            access = words[:-1]
        elif access == "public" and inner is None and re.match(r"^[^=(]*\(", words) and not NOT_A_METHOD.search(words):
            if not words.startswith(f"{name}(") and "std::function<" not in words.split("(")[0]:
                yield words


def walk(program, scope, text):
    for head, body in statements(text):
        namespace = re.match(r"namespace ([\w:]+)$", head)
        if namespace:
            walk(program, f"{scope}::{namespace[1]}" if scope else namespace[1], body)
        elif EXPORTED_CLASS.match(head) and body is not None:
            if not re.search(r"\bfinal\b", head):
                program.klass(scope, head, body)
        elif "PERGOLA_API" in head and body is None and "(" in head:
            program.function(scope, head)


def main():
    include = pathlib.Path(sys.argv[1])
    program = Program()
    for header in sorted((include / "pergola").rglob("*.hpp")):
        walk(program, "", without_comments(header.read_text(encoding="utf-8")))
    if program.functions < 50 or program.classes < 15 or program.methods < 60:
        raise SystemExit(f"names.py: {program.functions} functions, {program.classes} classes and {program.methods} methods "
                         f"found in {include}/pergola, expected more")
    print("#include <pergola/pergola.hpp>\n#include <cstdio>\n#include <typeinfo>\n")
    print("\n".join(program.lines))
    print(f'int main() {{ std::puts("{program.functions} functions, {program.classes} classes, {program.methods} methods"); }}')


if __name__ == "__main__":
    main()

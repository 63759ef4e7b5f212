#!/usr/bin/env python3
"""Which files can be compiled as one:  together.py SOURCE…   prints "GROUP;SOURCE;SOURCE…" for each group, groups of one file left out.

Names of an anonymous namespace belong to one file and may mean something else in another. Files of a folder are compiled
as one where no name that one of them keeps for itself is a word of another or of a header that the other includes. Where a file instantiates a class with all
of its members, no file that has members of it is with it. Files that include themselves again, once per instruction set, are left out.
"""
import functools
import pathlib
import re
import sys

MOST_FILES = 16

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
MEMBER = re.compile(r"(?:\.|->|::)\s*[A-Za-z_]\w*")
WORD = re.compile(r"[A-Za-z_]\w*")
LOCAL = re.compile(r"^namespace \{$", re.MULTILINE)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
MACRO_CALL = re.compile(r"[A-Z_]+\(")
TYPE = re.compile(r"(?:template <.*> )?(?:struct|class|union|enum class|enum|using|namespace) ([A-Za-z_]\w*)")
FUNCTION = re.compile(r"[^={(]*?([A-Za-z_]\w*)\(")
WHOLE_CLASS = re.compile(r"^template class (\w+)<", re.MULTILINE)
MEMBER_OF_CLASS = re.compile(r"\b(\w+)<[^<>;(){}]*>::")
VARIABLE = re.compile(r"([A-Za-z_]\w*)(?:\[[^]]*\])*\s*[={;]")


def block(text, begin):
    """What stands between the first brace from `begin` on and the one that closes it."""
    depth = 0
    for brace in re.finditer(r"[{}]", text[begin:]):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return text[begin:begin + brace.end()]
    return text[begin:]


def own_names(text):
    """Names that a file keeps for itself: those of its anonymous namespaces, static ones and macros."""
    locals_ = [block(text, found.end() - 1) for found in LOCAL.finditer(text)]
    lines = [line for part in locals_ for line in part.splitlines() if re.match(r"[A-Za-z_]", line)]
    lines += re.findall(r"^static .*", text, re.MULTILINE)
    names = set(re.findall(r"^#define (\w+)", text, re.MULTILINE))
    names.update(f"{name}<>::" for name in WHOLE_CLASS.findall(text))
    for line in lines:
        if MACRO_CALL.match(line):
            continue
        declared = TYPE.match(line) or FUNCTION.match(line)
        names.update([declared.group(1)] if declared else VARIABLE.findall(line))
    return names


def words_of(text):
    return set(WORD.findall(MEMBER.sub(" ", COMMENT_OR_TEXT.sub(" ", text))))


@functools.cache
def words_of_header(path):
    return words_of(path.read_text(encoding="utf-8"))


def headers_of(path, text):
    """The headers of this project that a file includes itself."""
    for name in INCLUDE.findall(text):
        yield from (root / name for root in path.parents if (root / name).is_file())


class Group:
    def __init__(self):
        self.files, self.names, self.words = [], set(), set()

    def has_room_for(self, names, words):
        return len(self.files) < MOST_FILES and not names & self.words and not words & self.names

    def add(self, path, names, words):
        self.files.append(str(path))
        self.names |= names
        self.words |= words


def main():
    folders = {}
    for path in map(pathlib.Path, sorted(sys.argv[1:])):
        text = path.read_text(encoding="utf-8")
        if "hwy/foreach_target.h" in text:
            continue
        names = own_names(COMMENT_OR_TEXT.sub(" ", text))
        words = words_of(text).union(*map(words_of_header, headers_of(path, text)))
        words.update(f"{name}<>::" for name in MEMBER_OF_CLASS.findall(text))
        groups = folders.setdefault(path.parent, [])
        group = next((group for group in groups if group.has_room_for(names, words)), None)
        if group is None:
            group = Group()
            groups.append(group)
        group.add(path, names, words)
    groups = [(folder.name, group) for folder, groups in folders.items() for group in groups if len(group.files) > 1]
    for number, (name, group) in enumerate(groups):
        print(";".join([f"{name}_{number}", *group.files]))


if __name__ == "__main__":
    main()

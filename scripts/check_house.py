#!/usr/bin/env python3
"""Checks the rules of the house (ARCHITECTURE.md) that are not about #include lines.

A part's name is compared in its own files only: whoever else wants to know something of a solver or an integrator asks
its entry. Few places ask whether a run is one of gravity or of a plasma.
Rooms and names in ARCHITECTURE.md and src/ROOM/README.md exist.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
CODE = (".hpp", ".cpp", ".inl", ".cu", ".cuh")

# Names in entries: .name = "tree".
ENTRY_NAME = re.compile(r'\.name = "([a-z0-9_]+)"')
# Measurements and papers compare methods by name; that is what they are for.
EXEMPT = re.compile(r"^(app/bench|app/paper/)")

# Whoever wants to know something of a kind of system asks its entries (config/kind.hpp, sim/system_entry.hpp). Asking by
# any name which kind it is means one more place that a third kind has to know: a flag, a comparison of the kind or of its
# table, a table of kinds, a cast to one kind of system. A kind's own files may know it, and what users of the library
# ask (RunConfig::is_plasma, python/) is not for its parts.
ASKS_FOR_PLASMA = re.compile(r'''\b(is|has)_(a_)?(plasma|gravity)\b|\bplasma(\.|->)given\b|\bfor_plasma\b
  |\b(kind|name|table|path|word)(\(\))?\s*[!=]=\s*"(plasma|gravity)"|"(plasma|gravity)"\s*[!=]=
  |\{"(plasma|gravity)",\s*\w|_cast<(const\s+)?(PlasmaSystem|GravitySystem)\b|\bif\s*\(.*\bplasma\.(species|cells)\.(empty|size)\(\)''', re.VERBOSE)
OWN_FILES_OF_A_KIND = re.compile(r"(^|/)(plasma|gravity)(_|/)|^python/")
MOST_PLASMA_QUESTIONS = 2


def part_names():
    """Solvers, integrators and field solvers by name, with the pattern of their own files."""
    names = {}
    for folder in ("gravity", "time", "plasma"):
        for path in sorted((SOURCE / folder).glob("*_entry.cpp")):
            for name in ENTRY_NAME.findall(path.read_text(encoding="utf-8")):
                names[name] = re.compile(rf"^{folder}/(block_)?{name}")
    return names


def check_names(problems):
    names = part_names()
    if not {"direct", "hermite"} <= set(names):
        problems.append("scripts/check_house.py: found no entries in src/gravity/*_entry.cpp and src/time/*_entry.cpp")
    word = "|".join(names)
    compared = re.compile(rf'([!=]=\s*"({word})")|("({word})"\s*[!=]=)|\b(starts_with|compare|strcmp)\([^)]*"({word})"')
    for path in sorted(SOURCE.rglob("*")):
        own = path.relative_to(SOURCE).as_posix()
        if path.suffix not in CODE or EXEMPT.match(own):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for found in compared.finditer(line.split("//")[0]):
                name = found.group(2) or found.group(4) or found.group(6)
                if not names[name].match(own):
                    problems.append(f"src/{own}:{number}: compares with \"{name}\"; ask the entry of the part instead")


def check_plasma(problems):
    places = []
    for path in sorted(SOURCE.rglob("*")):
        if path.suffix not in CODE or OWN_FILES_OF_A_KIND.search(path.relative_to(SOURCE).as_posix()):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if ASKS_FOR_PLASMA.search(line.split("//")[0]) and "bool is_plasma() const" not in line:
                places.append(f"src/{path.relative_to(SOURCE).as_posix()}:{number}")
    if len(places) > MOST_PLASMA_QUESTIONS:
        problems.append(f"{len(places)} lines ask which kind of system a run has, expected at most {MOST_PLASMA_QUESTIONS}: "
                        + ", ".join(places))


# - `ParticleStore` (particle_store.hpp): …   in a room's README
MAIN_NAME = re.compile(r"^- `([^`]+)` \(`?([\w./]+)`?\)")
NAMED_HEADER = re.compile(r"`([a-z][\w/]+\.(?:hpp|cuh|h|inl))`")


def check_readmes(problems):
    """ARCHITECTURE.md names each room, each room has a README.md, and the names and headers in it exist."""
    map_of_rooms = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for room in sorted(path for path in SOURCE.iterdir() if path.is_dir()):
        if f"(src/{room.name}/README.md)" not in map_of_rooms:
            problems.append(f"ARCHITECTURE.md: the room {room.name} is missing")
        page = room / "README.md"
        if not page.is_file():
            problems.append(f"src/{room.name}/README.md: missing; see another room's")
            continue
        text = page.read_text(encoding="utf-8")
        names = [found.groups() for found in map(MAIN_NAME.match, text.splitlines()) if found]
        if len(names) < 3:
            problems.append(f"src/{room.name}/README.md: {len(names)} main names, expected at least 3 lines \"- `Name` (header.hpp): …\"")
        for name, header in names:
            if not (room / header).is_file():
                problems.append(f"src/{room.name}/README.md: `{name}` is said to be in {header}, which does not exist")
            elif not re.search(rf"\b{re.escape(name.split('::')[-1].split('(')[0])}\b", (room / header).read_text(encoding="utf-8")):
                problems.append(f"src/{room.name}/README.md: {header} has no {name}")
        for header in NAMED_HEADER.findall(text):
            if not any((folder / header).is_file() for folder in (room, SOURCE, ROOT)):
                problems.append(f"src/{room.name}/README.md: there is no {header}")
    for header in NAMED_HEADER.findall(map_of_rooms):
        if not (SOURCE / header).is_file():
            problems.append(f"ARCHITECTURE.md: there is no src/{header}")


def main():
    problems = []
    check_names(problems)
    check_plasma(problems)
    check_readmes(problems)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print("house: names, kinds and READMEs in order")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

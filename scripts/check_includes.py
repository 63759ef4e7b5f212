#!/usr/bin/env python3
"""Checks the rules of the house (ARCHITECTURE.md) on the #include and #if lines of src/.

A folder includes itself and folders with a lower number. A foreign library's header stands only in the folder that
wraps it. A backend is chosen by CMake and at run time: an #if for one stands in base/host_device.hpp alone.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"

FOLDER_NUMBER = {
    "base": 1,
    "physics": 2, "device": 2, "comm": 2,
    "particles": 3,
    "domain": 4,
    "mesh": 5, "tree": 5,
    "gravity": 6, "plasma": 6,
    "time": 7, "models": 7, "io": 7, "analysis": 7, "picture": 7,
    "config": 8,
    "sim": 9,
    "outputs": 10,
    "run": 11,
    "g6": 12, "view": 12, "pergola.hpp": 12,
    "app": 13, "python": 13,
}

# Foreign headers and the folders that may see them.
FOREIGN = [
    (re.compile(r"^mpi\.h$"), {"comm"}),
    (re.compile(r"^hdf5"), {"io", "app"}),
    (re.compile(r"^png\.h$"), {"picture"}),
    (re.compile(r"^toml"), {"config", "app"}),
    (re.compile(r"^CLI/"), {"app"}),
    (re.compile(r"^boost/"), {"view"}),
    (re.compile(r"^(pybind11/|Python\.h)"), {"python"}),
]
CUDA_HEADER = re.compile(r"^(cuda|cub/|thrust/|cooperative_groups|cufft)")

BACKEND_MACRO = re.compile(r"__CUDACC__|__CUDA_ARCH__|PERGOLA_WITH_\w+|__HIP|\bUSE_MPI\b|\bUSE_CUDA\b|OMPI_|MPI_VERSION")
BACKEND_FILES = {"base/host_device.hpp"}

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b(.*)")

# The installed headers are what these reach (src/CMakeLists.txt installs the same set).
PUBLIC = ["pergola.hpp"]
STANDARD_HEADER = re.compile(r"^([a-z_0-9]+|sys/types\.h)$")  # and POSIX types


def check_file(path, problems):
    name = path.relative_to(SOURCE).as_posix()
    folder = name.split("/")[0] if "/" in name else ""
    if folder and folder not in FOLDER_NUMBER:
        problems.append(f"src/{name}: folder {folder}/ has no number in scripts/check_includes.py")
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        where = f"src/{name}:{number}"
        condition = CONDITION.match(line)
        if condition and BACKEND_MACRO.search(condition.group(2)) and name not in BACKEND_FILES:
            problems.append(f"{where}: #if for a backend; expected only in src/base/host_device.hpp")
        include = INCLUDE.match(line)
        if not include:
            continue
        quote, header = include.groups()
        if quote == '"':
            check_own(where, folder, header, problems)
        else:
            check_foreign(where, folder, path.suffix, header, problems)


def check_own(where, folder, header, problems):
    if not (SOURCE / header).is_file():
        problems.append(f"{where}: \"{header}\" is not a file of src/ (foreign headers stand in <>)")
        return
    other = header.split("/")[0]
    if folder and other != folder and FOLDER_NUMBER.get(other, 99) >= FOLDER_NUMBER[folder]:
        problems.append(f"{where}: {folder}/ ({FOLDER_NUMBER[folder]}) includes {header} "
                        f"({FOLDER_NUMBER.get(other, '?')}); expected a folder with a lower number")


def check_foreign(where, folder, suffix, header, problems):
    for pattern, folders in FOREIGN:
        if pattern.match(header) and folder not in folders:
            problems.append(f"{where}: <{header}> outside {' and '.join(sorted(folders))}/")
    if CUDA_HEADER.match(header) and suffix not in (".cu", ".cuh"):
        problems.append(f"{where}: <{header}> outside a .cu or .cuh file")


def check_public(problems):
    """What a user of the library includes reaches nothing but our headers and the standard library's."""
    pending, seen = [header for header in PUBLIC if (SOURCE / header).is_file()], set()
    while pending:
        header = pending.pop()
        if header in seen or not (SOURCE / header).is_file():
            continue
        seen.add(header)
        for number, line in enumerate((SOURCE / header).read_text(encoding="utf-8").splitlines(), 1):
            include = INCLUDE.match(line)
            if not include:
                continue
            quote, name = include.groups()
            if quote == '"':
                pending.append(name)
            elif not STANDARD_HEADER.match(name):
                problems.append(f"src/{header}:{number}: public header includes <{name}>; expected the standard library only")
    return sorted(seen)


def main():
    problems = []
    public = check_public(problems)
    if sys.argv[1:] == ["--list-public"]:
        print("\n".join(public))
        return 0
    files = [path for path in sorted(SOURCE.rglob("*")) if path.suffix in (".hpp", ".cpp", ".inl", ".cu", ".cuh")]
    for path in files:
        check_file(path, problems)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"include order: {len(files)} files in order")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Measures the benches named in the tables of docs/results, and writes the figures into these tables.

    scripts/results.py run build/release/pergola -o results.json --only "--device cuda"
    scripts/results.py pages results.json

`run` takes every `pergola bench` command of the tables once, with --json, and stores its cases, device and commit. The file is written after
each command; commands that it has already are measured again. A command whose --file is missing is left out, with a remark.
`pages` renews the rows whose command, case, precision and number of particles the file has: device, figure, fraction of the ceiling and
commit. All else on the pages stays as it is. Rows with another command (runs, papers) are written by hand.
"""
import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys

PAGES = pathlib.Path(__file__).resolve().parent.parent / "docs" / "results"
COLUMNS = ["case", "device", "figure", "peer", "fraction of the ceiling", "commit", "command"]
CASE = re.compile(r"`([^`]+)`(?: (single|mixed|double))?(?:, ([\d,]+))?")


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []


def rows(lines):
    """The rows of tables with our columns: (number of the line from 0, cells)."""
    inside = False
    for number, line in enumerate(lines):
        cells = cells_of(line)
        if cells == COLUMNS:
            inside = True
        elif inside and len(cells) == len(COLUMNS):
            if not set(line) <= set("|-: "):
                yield number, cells
        else:
            inside = False


def command_of(cells):
    """The bench command of a row, or None."""
    found = re.fullmatch(r"`(pergola bench [^`]*)`", cells[-1])
    return found.group(1) if found else None


def key_of(cells):
    """Name, precision and number of particles of a row's case; the last two are None where the row does not say them."""
    name, precision, n = CASE.match(cells[0]).groups()
    return name, precision, int(n.replace(",", "")) if n else None


def commands(folder):
    found = [command_of(cells) for page in sorted(folder.glob("*.md")) for _, cells in rows(page.read_text(encoding="utf-8").split("\n"))]
    return list(dict.fromkeys(filter(None, found)))


def output_of(program, *words):
    return subprocess.run([program, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def device_name(program, spec, words):
    name = next((each["name"] for each in json.loads(output_of(program, "devices", "--json")) if each["device"] == spec), spec)
    threads = words[words.index("--threads") + 1] if "--threads" in words else None
    return name.removeprefix("NVIDIA ") + (f", {threads} threads" if threads else "")


def run(options):
    path = pathlib.Path(options.output)
    measured = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    commit = re.search(r"commit ([^)\s]+)", output_of(options.program, "--version")).group(1)
    failed = 0
    for command in commands(options.folder):
        words = shlex.split(command)[1:]
        if options.only not in command:
            continue
        if "--file" in words and not pathlib.Path(words[words.index("--file") + 1]).exists():
            print(f"left out, its file is missing: {command}", file=sys.stderr)
            continue
        print(command, file=sys.stderr)
        try:
            cases = json.loads(output_of(options.program, *words, "--json", "--quiet"))
        except subprocess.CalledProcessError as error:
            print(f"failed with exit code {error.returncode}: {command}", file=sys.stderr)
            failed = 1
            continue
        spec = cases[0]["device"]
        measured[command] = {"device": device_name(options.program, spec, words), "commit": commit, "cases": cases}
        path.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    return failed


def number_text(value):
    digits, exponent = f"{value:.2e}".split("e")
    return f"{value:.3g}" if -3 < int(exponent) < 4 else f"{digits}e{int(exponent)}"


def time_text(seconds):
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale or unit == "µs":
            return f"{seconds / scale:.3g} {unit}"


def figure_text(case):
    each = f" ({number_text(1e9 / case['rate'])} ns each)" if case["unit"] == "particle steps/s" else ""
    text = f"{number_text(case['rate'])} {case['unit']}{each}, {time_text(case['seconds'])}"
    errors = [number_text(case["error"][which]) for which in ("median", "p99", "rms_difference") if which in case.get("error", {})]
    return text + (f"; errors {', '.join(errors)}" if errors else "")


def renewed(cells, entry):
    """The cells of a row with what was measured, or None where its case was not."""
    name, precision, n = key_of(cells)
    found = [case for case in entry["cases"] if case["case"] == name and precision in (None, case["precision"]) and n in (None, case["n"])]
    if len(found) != 1:
        return None
    fraction = found[0]["fraction_of_ceiling"]
    ceiling = f"{100 * fraction:.0f} %" if fraction is not None else "—"
    return [cells[0], entry["device"], figure_text(found[0]), cells[3], ceiling, entry["commit"][:7], cells[6]]


def pages(options):
    measured = json.loads(pathlib.Path(options.results).read_text(encoding="utf-8"))
    for page in sorted(options.folder.glob("*.md")):
        lines = page.read_text(encoding="utf-8").split("\n")
        count = 0
        for number, cells in list(rows(lines)):
            command = command_of(cells)
            if command not in measured:
                continue
            new = renewed(cells, measured[command])
            if new is None:
                print(f"{page.name}:{number + 1}: {command} has no one case {cells[0]}", file=sys.stderr)
                continue
            lines[number] = f"| {' | '.join(new)} |"
            count += 1
        if count:
            page.write_text("\n".join(lines), encoding="utf-8")
            print(f"{page.name}: {count} rows")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, default=PAGES, help="the pages (default: docs/results)")
    actions = parser.add_subparsers(required=True)
    action = actions.add_parser("run", help="measure")
    action.add_argument("program")
    action.add_argument("-o", "--output", default="results.json")
    action.add_argument("--only", default="", help="only commands that contain this text")
    action.set_defaults(act=run)
    action = actions.add_parser("pages", help="write the figures into the tables")
    action.add_argument("results")
    action.set_defaults(act=pages)
    options = parser.parse_args()
    return options.act(options)


if __name__ == "__main__":
    sys.exit(main())

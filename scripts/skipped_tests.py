#!/usr/bin/env python3
"""Says which tests of a ctest run were skipped, grouped by reason:  skipped_tests.py results.xml"""
import collections
import re
import sys
import xml.etree.ElementTree

REASONS = [
    re.compile(r"^(test\w+) .*\.\.\. skipped ['\"](.*)['\"]\s*$", re.MULTILINE),  # one test of a unittest script
    re.compile(r"Skipped\n(.+)", re.MULTILINE),  # GoogleTest: the text of GTEST_SKIP
    re.compile(r"(no CUDA device found|no NVIDIA driver found|(?<=skipped: ).+)"),  # a plain program's own words
]


def reasons_of(case):
    text = "".join(case.itertext())
    unittest = REASONS[0].findall(text)
    if unittest:
        return [(f"{case.get('name')}.{test}", reason) for test, reason in unittest]
    if case.find("skipped") is None and case.get("status") not in ("notrun", "disabled"):
        return []
    found = REASONS[1].search(text) or REASONS[2].search(text)
    return [(case.get("name").split("  #")[0], found.group(1).strip() if found else "no reason given")]


def main():
    groups = collections.defaultdict(list)
    for case in xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        for name, reason in reasons_of(case):
            groups[reason].append(name)
    if not groups:
        print("No test was skipped.")
        return
    print("Skipped, by reason:")
    for reason, names in sorted(groups.items()):
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        print(f"  {len(names):4d}  {reason}: {shown}")


main()

#!/usr/bin/env python3
"""Says which tests of ctest's runs were skipped, by reason, and how many passed:  test_summary.py [--no-gpu N] RESULTS.xml…

--no-gpu N: so many tests were not started, for this machine has no GPU.
"""
import argparse
import collections
import re
import sys
import xml.etree.ElementTree

SKIPPED_IN_SCRIPT = re.compile(r"^(test\w+) .*\.\.\. skipped ['\"](.*)['\"]\s*$", re.MULTILINE)  # one test of unittest
GOOGLE_TEST = re.compile(r"Skipped\n(.+)", re.MULTILINE)  # the text of GTEST_SKIP
OWN_WORDS = re.compile(r"(no CUDA device found|no NVIDIA driver found|(?<=skipped: ).+)")


def skips_of(case):
    """The skipped tests of an entry of ctest, with their reasons."""
    text = "".join(case.itertext())
    in_script = SKIPPED_IN_SCRIPT.findall(text)
    if in_script:
        return [(f"{case.get('name')}.{test}", reason) for test, reason in in_script]
    if case.find("skipped") is None and case.get("status") not in ("notrun", "disabled"):
        return []
    found = GOOGLE_TEST.search(text) or OWN_WORDS.search(text)
    return [(case.get("name").split("  #")[0], found.group(1).strip() if found else "no reason given")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-gpu", type=int, default=0)
    parser.add_argument("results", nargs="*")
    given = parser.parse_args()
    groups = collections.defaultdict(list)
    passed = failed = skipped = 0
    for path in given.results:
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            for name, reason in skips_of(case):
                groups[reason].append(name)
            not_run = case.find("skipped") is not None or case.get("status") in ("notrun", "disabled")
            failed += case.get("status") == "fail"
            skipped += case.get("status") != "fail" and not_run
            passed += case.get("status") != "fail" and not not_run
    if groups or given.no_gpu:
        print("Skipped, by reason:")
    if given.no_gpu:
        print(f"  {given.no_gpu:4d}  this machine has no GPU")
    for reason, names in sorted(groups.items()):
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        print(f"  {len(names):4d}  {reason}: {shown}")
    print(f"{passed} passed, {failed} failed, {skipped + given.no_gpu} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

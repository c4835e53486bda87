#!/usr/bin/env python3
"""Checks the structure of the tree given as its argument (its own by default); see rules.py. Exit code 1 if something is found."""

import sys
from pathlib import Path

import rules


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    found = rules.findings(root)
    for finding in found:
        print(f"{finding.path}:{finding.line}: {finding.rule}: {finding.text}")
    print(f"structure: {len(found)} finding(s)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

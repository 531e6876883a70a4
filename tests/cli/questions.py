#!/usr/bin/env python3
"""Writes docs/questions.md: docs/questions.in.md with each {{command}} followed by what it prints today.

    tests/cli/questions.py build/release/bin/linkcast
"""

import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    binary = pathlib.Path(sys.argv[1]).resolve()

    def answered(match):
        words = shlex.split(match.group(1))
        done = subprocess.run([binary, *words[1:]], check=True, capture_output=True, text=True, cwd=ROOT)
        return f"```\n$ {match.group(1)}\n{done.stdout.rstrip()}\n```"

    text = (ROOT / "docs/questions.in.md").read_text()
    (ROOT / "docs/questions.md").write_text(re.sub(r"\{\{(.*?)\}\}", answered, text))


if __name__ == "__main__":
    main()

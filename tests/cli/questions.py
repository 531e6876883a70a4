#!/usr/bin/env python3
"""Writes docs/questions.md and docs/studies/*.md: each X.in.md with every {{command}} followed by what it prints today.

    tests/cli/questions.py build/release/bin/linkcast [docs/studies/01-wiring.in.md ...]

{{$ command}} stands for a command that may end with status 1 (a goal that is missed, a finding); {{20: command}} shows
its first twenty lines.
"""

import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def answered(binary, words, may_fail):
    done = subprocess.run([binary, *words[1:]], capture_output=True, text=True, cwd=ROOT)
    if done.returncode not in ((0, 1) if may_fail else (0,)):
        sys.exit(f"{shlex.join(words)}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout.rstrip()


def write(source, binary):
    def block(match):
        command = match.group(3).strip()
        lines = answered(binary, shlex.split(command), bool(match.group(2))).split("\n")
        if match.group(1) and len(lines) > int(match.group(1)):
            lines = [*lines[: int(match.group(1))], "…"]
        return "\n".join(["```", f"$ {command}", *lines, "```"])

    text = re.sub(r"\{\{(?:(\d+): )?(\$?)(.*?)\}\}", block, source.read_text())
    source.with_name(source.name.replace(".in.md", ".md")).write_text(text)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    binary = pathlib.Path(sys.argv[1]).resolve()
    named = [pathlib.Path(name).resolve() for name in sys.argv[2:]]
    for source in named or [ROOT / "docs/questions.in.md", *sorted((ROOT / "docs/studies").glob("*.in.md"))]:
        write(source, binary)


if __name__ == "__main__":
    main()

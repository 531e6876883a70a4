#!/usr/bin/env python3
"""Writes what the measurements say about the predictions: docs/accuracy.md, the table in README.md and the
one behind the expected error.

Run from the project's root after a change of the model or of a constant, with the command built:

    tests/calibration/accuracy.py build/release/bin/linkcast

Predictions are compared with tests/data/collectives; series in tests/data/fitted.txt gave constants to the model, the
others are held out. The expected error of an answer comes from held-out series where a family has any.
"""

import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/collectives"
MIB = 1 << 20
DENSE = 1000  # a series with so many sizes would outvote all the others together
NETWORK = ("two nodes", "more nodes", "2,000 GPUs and more")
CLASSES = (("below 1 MiB", 0, MIB), ("1 to 64 MiB", MIB, 64 * MIB), ("from 64 MiB", 64 * MIB, 1 << 62))


def validate(linkcast, *options):
    done = subprocess.run([linkcast, "validate", str(DATA), "--json", *options], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def errors(series, low, high):
    return [abs(row["predicted_us"] / row["measured_us"] - 1) for row in series["rows"] if low <= row["size_bytes"] < high]


def percent(values):
    return f"{100 * statistics.median(values):.1f} %" if values else "-"


def table(series, family_of):
    lines = ["| system, collective | series | " + " | ".join(name for name, _, _ in CLASSES) + " |", "|---|---|---|---|---|"]
    families = {}
    for s in series:
        families.setdefault(family_of(s), []).append(s)
    for family in sorted(families):
        members = families[family]
        cells = [percent([e for s in members for e in errors(s, low, high)]) for _, low, high in CLASSES]
        lines.append(f"| {family} | {len(members)} | " + " | ".join(cells) + " |")
    points = [percent([e for s in series for e in errors(s, low, high)]) for _, low, high in CLASSES]
    medians = [percent([statistics.median(e) for s in series if (e := errors(s, low, high))]) for _, low, high in CLASSES]
    lines.append(f"| **all points** | {len(series)} | " + " | ".join(points) + " |")
    sparse = [s for s in series if len(s["rows"]) < DENSE]
    if len(sparse) < len(series):
        cells = [percent([e for s in sparse for e in errors(s, low, high)]) for _, low, high in CLASSES]
        lines.append(f"| **all points, without sweeps of {DENSE} and more sizes** | {len(sparse)} | " + " | ".join(cells) + " |")
    lines.append(f"| **median of the series** | {len(series)} | " + " | ".join(medians) + " |")
    return "\n".join(lines)


def write_accuracy(linkcast, fitted):
    shipped, known = validate(linkcast), validate(linkcast, "--floor", "known")
    healthy = lambda v: [s for s in v["series"] if s["counted"] and s["rows"]]
    family = lambda s: f"{s['system']}{'*N' if s['extent'] in NETWORK else ''} {s['collective']}"
    template = (ROOT / "docs/accuracy.in.md").read_text()
    parts = {
        "held_out": table([s for s in healthy(shipped) if s["id"] not in fitted], family),
        "fitted": table([s for s in healthy(shipped) if s["id"] in fitted], family),
        "known_floor": table(healthy(known), family),
        "all": table(healthy(shipped), family),
    }
    for name, text in parts.items():
        template = template.replace("{{" + name + "}}", text)
    (ROOT / "docs/accuracy.md").write_text(template)
    readme = (ROOT / "README.md").read_text()
    start = readme.index("<!-- held-out")
    start, end = readme.index("\n", start) + 1, readme.index("<!-- end -->")
    (ROOT / "README.md").write_text(readme[:start] + parts["held_out"] + "\n" + readme[end:])


def expected_errors(linkcast, folder):
    done = subprocess.run([linkcast, "validate", str(folder), "--expected-errors"], check=True, capture_output=True, text=True)
    rows = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return {tuple(line.split(", ")[:4]): line for line in rows}


def write_expected_errors(linkcast, fitted):
    with tempfile.TemporaryDirectory() as folder:
        for path in DATA.glob("*.yaml"):
            if path.stem not in fitted:
                shutil.copy(path, folder)
        held_out = expected_errors(linkcast, folder)
    everything = expected_errors(linkcast, DATA)
    lines = ["// Made by: tests/calibration/accuracy.py; held-out series where a family has any"]
    lines += [held_out.get(key, line) for key, line in everything.items()]
    (ROOT / "calibration/src/expected_error_table.inc").write_text("\n".join(lines) + "\n")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    fitted = {line for line in (ROOT / "tests/data/fitted.txt").read_text().split("\n") if line and not line.startswith("#")}
    unknown = fitted - {path.stem for path in DATA.glob("*.yaml")}
    if unknown:
        sys.exit("tests/data/fitted.txt names series that are not there: " + ", ".join(sorted(unknown)))
    write_accuracy(sys.argv[1], fitted)
    write_expected_errors(sys.argv[1], fitted)


if __name__ == "__main__":
    main()

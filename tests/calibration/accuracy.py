#!/usr/bin/env python3
"""Writes what the measurements say about the predictions: docs/accuracy.md and the table in README.md.

Run from the project's root after a change of the model, with the command built; `./dev fit-profiles` ends with it:

    tests/calibration/accuracy.py build/release/bin/linkcast

Predictions are compared with tests/data/collectives. How well sources are predicted that the fit never saw stands in
tests/data/cross_validation.json, which `./dev fit-profiles` makes.
"""

import json
import pathlib
import statistics
import subprocess
import sys

import few_shot

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


def left_out():
    """Per source: predicted by the fit with it, and by the fit without it."""
    found = json.loads((ROOT / "tests/data/cross_validation.json").read_text())
    sources = {}
    for s in found["series"]:
        if s["id"].endswith("-figure"):
            continue  # single figures guide the fit; they are not judged on
        sources.setdefault(s["source"], []).append(s)

    def cell(series, low, high):
        rows = [r for s in series for r in s["rows"] if low <= r[0] < high]
        if not rows:
            return "-"
        seen = statistics.median(abs(r[3] / r[1] - 1) for r in rows)
        unseen = statistics.median(abs(r[2] / r[1] - 1) for r in rows)
        return f"{100 * seen:.1f} / {100 * unseen:.1f} %"

    lines = ["| source | series | " + " | ".join(name for name, _, _ in CLASSES) + " |", "|---|---|---|---|---|"]
    for source, series in sorted(sources.items()):
        lines.append(f"| {source} | {len(series)} | " + " | ".join(cell(series, a, b) for _, a, b in CLASSES) + " |")
    everything = [s for series in sources.values() for s in series]
    one = [s for s in everything if not s["system"].endswith("*N")]
    several = [s for s in everything if s["system"].endswith("*N")]
    for name, series in (("one machine", one), ("several machines", several), ("all", everything)):
        lines.append(f"| **{name}** | {len(series)} | " + " | ".join(cell(series, a, b) for _, a, b in CLASSES) + " |")
    return "\n".join(lines)


def extents(validation):
    lines = ["| extent | series | " + " | ".join(name for name, _, _ in CLASSES) + " |", "|---|---|---|---|---|"]
    names = sorted({s["extent"] for s in validation}, key=lambda n: [s["extent"] for s in validation].count(n), reverse=True)
    for name in names:
        members = [s for s in validation if s["extent"] == name]
        cells = [percent([e for s in members for e in errors(s, low, high)]) for _, low, high in CLASSES]
        lines.append(f"| {name} | {len(members)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    linkcast = sys.argv[1]
    shipped, known = validate(linkcast), validate(linkcast, "--floor", "known")
    healthy = lambda v: [s for s in v["series"] if s["counted"] and s["rows"]]
    family = lambda s: f"{s['system']}{'*N' if s['extent'] in NETWORK else ''} {s['collective']}"
    parts = {
        "known_floor": table(healthy(known), family),
        "all": table(healthy(shipped), family),
        "extents": extents(healthy(shipped)),
        "left_out": left_out(),
        **few_shot.tables(linkcast),
    }
    template = (ROOT / "docs/accuracy.in.md").read_text()
    for name, text in parts.items():
        template = template.replace("{{" + name + "}}", text)
    (ROOT / "docs/accuracy.md").write_text(template)
    readme = (ROOT / "README.md").read_text()
    start = readme.index("<!-- accuracy")
    start, end = readme.index("\n", start) + 1, readme.index("<!-- end -->")
    (ROOT / "README.md").write_text(readme[:start] + parts["extents"] + "\n" + readme[end:])


if __name__ == "__main__":
    main()

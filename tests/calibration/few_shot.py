#!/usr/bin/env python3
"""How much a few measurements of a cluster improve the predictions for it: three tables for docs/accuracy.md.

Half the sizes of a series predict the other half; a machine's all_reduce predicts its other collectives; one or two
nodes predict the same cluster at more nodes. Called by accuracy.py; alone it prints the tables:

    tests/calibration/few_shot.py build/release/bin/linkcast
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/collectives"
MIB = 1 << 20
SIZES = (("below 1 MiB", 0, MIB), ("from 1 MiB", MIB, 1 << 62))
FEWEST = 12  # sizes of a series, so that half of them can be fitted


def run(linkcast, *words):
    done = subprocess.run([linkcast, *map(str, words)], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def facts(path):
    text = yaml.safe_load(path.read_text())
    source = text.get("source", "")
    owner = "/".join(source.split("/")[:4]) if "://" in source else path.stem
    return {
        "path": path, "id": path.stem, "owner": owner, "system": text.get("system"), "nodes": text.get("nodes", 1),
        "gpus": text.get("gpus_per_node"), "op": text["collective"], "healthy": text.get("health") == "ok",
        "sizes": len(text["rows"]), "nccl": str((text.get("software") or {}).get("nccl")),
    }


def errors(points, low, high):
    return [abs(p["predicted_us"] / p["measured_us"] - 1) for p in points if low <= p["size_bytes"] < high]


def percent(values):
    return f"{100 * statistics.median(values):.1f} %" if values else "-"


def table(head, rows):
    """Rows of (name, points before, points after): medians of both, and the same over all."""
    lines = [f"| {head} | " + " | ".join(f"{name}: as shipped | fitted" for name, _, _ in SIZES) + " |",
             "|---|" + "---|" * (2 * len(SIZES))]
    everything, medians = ([], []), []
    for name, before, after in rows:
        cells = []
        for _, low, high in SIZES:
            cells += [percent(errors(before, low, high)), percent(errors(after, low, high))]
        everything[0].extend(before)
        everything[1].extend(after)
        medians.append((name, before, after))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    cells, middle = [], []
    for _, low, high in SIZES:
        for which in (0, 1):
            cells.append(percent(errors(everything[which], low, high)))
            middle.append(percent([statistics.median(e) for row in medians if (e := errors(row[1 + which], low, high))]))
    lines.append("| **all points** | " + " | ".join(cells) + " |")
    lines.append("| **median of the rows** | " + " | ".join(middle) + " |")
    return "\n".join(lines)


def half_of_sizes(linkcast, series):
    def one(s):
        fitted = run(linkcast, "calibrate", "fit", s["path"], "--hold-back", "50%", "--threads", 1, "--json")
        shipped = run(linkcast, "validate", s["path"], "--json", "--threads", 1)
        if not fitted or not shipped:
            return None
        held = {p["size_bytes"] for p in fitted["points"] if p["held_back"]}
        before = [p for p in shipped["series"][0]["rows"] if p["size_bytes"] in held]
        return s["id"], before, [p for p in fitted["points"] if p["held_back"]]

    with ThreadPoolExecutor(2) as pool:
        return [row for row in pool.map(one, [s for s in series if s["sizes"] >= FEWEST]) if row]


def from_to(linkcast, jobs):
    """jobs: (name, paths to fit, paths to predict)."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, seen, unseen in jobs:
            profile = pathlib.Path(folder) / "profile.yaml"
            fit = ("calibrate", "fit", *seen, "--hold-back", "0%", "--force", "-o", profile, "--json")
            if run(linkcast, *fit) is None:
                continue
            after = run(linkcast, "validate", *unseen, "--json", "--profile", profile)
            before = run(linkcast, "validate", *unseen, "--json")
            if before and after:
                rows.append((name, [p for s in before["series"] for p in s["rows"]],
                             [p for s in after["series"] for p in s["rows"]]))
    return rows


def other_collectives(linkcast, series):
    groups = {}
    for s in series:
        groups.setdefault((s["owner"], s["system"], s["nodes"], s["gpus"], s["nccl"]), []).append(s)
    jobs = []
    for (_, system, nodes, gpus, _), members in sorted(groups.items(), key=str):
        seen = [s["path"] for s in members if s["op"] == "all_reduce"]
        unseen = [s["path"] for s in members if s["op"] != "all_reduce"]
        if seen and unseen:
            ops = ", ".join(sorted({s["op"] for s in members if s["op"] != "all_reduce"}))
            jobs.append((f"{system}, {nodes} x {gpus} ({members[0]['id'].split('-')[0]}): {ops}", seen, unseen))
    return from_to(linkcast, jobs)


def more_nodes(linkcast, series):
    groups = {}
    for s in series:
        groups.setdefault((s["owner"], s["system"], s["gpus"]), []).append(s)
    jobs = []
    for (_, system, gpus), members in sorted(groups.items(), key=str):
        if not any(s["nodes"] == 2 for s in members):
            continue
        seen = [s["path"] for s in members if s["nodes"] <= 2]
        for nodes in sorted({s["nodes"] for s in members if s["nodes"] > 2}):
            unseen = [s["path"] for s in members if s["nodes"] == nodes]
            jobs.append((f"{system}: {nodes} nodes of {gpus} GPUs from 1 and 2", seen, unseen))
    return from_to(linkcast, jobs)


def tables(linkcast):
    series = [f for f in map(facts, sorted(DATA.glob("*.yaml"))) if f["healthy"] and f["system"]]
    return {
        "half_of_sizes": table("series", half_of_sizes(linkcast, series)),
        "other_collectives": table("fitted on all_reduce, predicted", other_collectives(linkcast, series)),
        "more_nodes": table("predicted", more_nodes(linkcast, series)),
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for name, text in tables(sys.argv[1]).items():
        print(f"\n{name}\n{text}")

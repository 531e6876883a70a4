#!/usr/bin/env python3
"""Writes the table of docs/fidelity.md: what packets say of a collective beside chunks and rates, on two machines of
every kind in the catalog that has NICs.

    tests/calibration/fidelity_table.py build/release/bin/linkcast

About ten minutes (NVL72 takes most of it). Not a test: tests/workloads/packet_fidelity_test.cpp holds a part of it.
"""

import json
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/fidelity.md"
SIZES = ["16M", "64M", "256M"]
BEGIN, END = "<!-- table: tests/calibration/fidelity_table.py -->", "<!-- end of table -->"


def times(linkcast, topology, op, fidelity):
    command = [linkcast, "collective", op, "--topology", topology, "--nodes", "2", "--size", ",".join(SIZES)]
    ran = subprocess.run([*command, "--fidelity", fidelity, "--json"], capture_output=True, text=True, check=False)
    return [row["time_us"] for row in json.loads(ran.stdout)["rows"]] if ran.returncode == 0 else None


def compared(linkcast, topology, op):
    packet, chunk, flow = (times(linkcast, topology, op, f) for f in ("packet", "chunk", "flow"))
    if packet is None:
        return None
    percent = lambda base: " / ".join(f"{100 * (p / b - 1):+.1f}" for p, b in zip(packet, base))
    return [percent(chunk), percent(flow)]


def main():
    linkcast = sys.argv[1]
    listed = subprocess.run([linkcast, "topo", "list", "--json"], capture_output=True, text=True, check=False)
    try:
        names = [entry["name"] for entry in json.loads(listed.stdout)["topologies"]]
    except (ValueError, KeyError):
        text = subprocess.run([linkcast, "topo", "list"], capture_output=True, text=True, check=True).stdout
        names = [line.split()[0] for line in text.splitlines() if line and line[0] not in "# "]
    alike = {}  # rows that are equal in all figures
    for name in names:
        cells = [compared(linkcast, name, op) for op in ("all_gather", "all_reduce")]
        if None not in cells:
            alike.setdefault(tuple(cells[0] + cells[1]), []).append(name)
    lines = ["| two machines of | all_gather: packet to chunk, % | to flow, % | all_reduce: packet to chunk, % | to flow, % |",
             "|---|---|---|---|---|"]
    lines += [f"| {', '.join(names)} | {' | '.join(cells)} |" for cells, names in alike.items()]
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()

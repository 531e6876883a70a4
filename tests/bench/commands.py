#!/usr/bin/env python3
"""Times whole commands: wall and CPU seconds and peak memory of the process, start included.

    tests/bench/commands.py build/release/bin/linkcast

One warm-up, then nine runs; prints the median (and the range) of each. Not a test: a busy machine must not fail one.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNS = 9
SWEEP = ["collective", "all_reduce", "--topology", "dgx-h100", "--size", "8:16G:x2"]
GIBIBYTE = ["collective", "all_reduce", "--size", "1G", "--fidelity", "chunk", "--topology"]
CLUSTER = ["collective", "all_reduce", "--topology"]
COMMANDS = [
    ("sweep 8 B to 16 GiB, dgx-h100, flow", SWEEP),
    ("sweep 8 B to 16 GiB, dgx-h100, chunk", [*SWEEP, "--fidelity", "chunk"]),
    ("1 GiB, dgx-h100, chunk", [*GIBIBYTE, "dgx-h100"]),
    ("1 GiB, dgx-h100, chunk, ring", [*GIBIBYTE, "dgx-h100", "--env", "NCCL_ALGO=Ring"]),
    ("1 GiB, dgx-h100, chunk, ring, not folded", [*GIBIBYTE, "dgx-h100", "--env", "NCCL_ALGO=Ring", "--no-fold"]),
    ("1 GiB, 512 GPUs, chunk", [*GIBIBYTE, str(ROOT / "tests/bench/data/nvlink-512.yaml")]),
    ("1 GiB, 512 GPUs, chunk, ring", [*GIBIBYTE, str(ROOT / "tests/bench/data/nvlink-512.yaml"), "--env", "NCCL_ALGO=Ring"]),
    ("1 GiB, 16,384 GPUs, flow", [*CLUSTER, "configs/topologies/h100-16k.yaml", "--size", "1G"]),
    ("sweep, 16,384 GPUs, flow", [*CLUSTER, "configs/topologies/h100-16k.yaml"]),
    ("1 GiB, 131,072 GPUs, flow", [*CLUSTER, "configs/topologies/h100-131k.yaml", "--size", "1G"]),
    ("alltoall 1 GiB, 1,016 GPUs, flow", ["collective", "alltoall", "--topology", "superpod-h100", "--size", "1G"]),
    ("sweep, 1,000 variants at 1,024 GPUs", ["sweep", "configs/sweep-1000.yaml"]),
    ("resilience, 2,048 GPUs, every single failure", ["resilience", "configs/resilience-2048.yaml"]),
    ("plan, 70B on HGX and NVL72", ["plan", "configs/plan-70b.yaml"]),
    ("permutation of 1,024 NICs, packet", ["run", str(ROOT / "tests/bench/data/permutation-1024.yaml")]),
    ("all-to-all of 1,024 NICs, packet", ["run", str(ROOT / "tests/bench/data/all-to-all-1024.yaml")]),
    ("64 MiB, two dgx-h100, packet", [*CLUSTER, "dgx-h100", "--nodes", "2", "--size", "64M", "--fidelity", "packet"]),
    ("validate, 112 series", ["validate", str(ROOT / "tests/data/collectives")]),
]


def run_once(command):
    started = time.perf_counter()
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):  # 1: a goal was missed
        sys.exit(f"{' '.join(command)} ended with {child.returncode}")
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("| command | wall, median (range) | CPU | peak memory |")
    print("|---|---|---|---|")
    for name, arguments in COMMANDS:
        command = [str(pathlib.Path(sys.argv[1]).resolve()), *arguments]
        run_once(command)
        runs = [run_once(command) for _ in range(RUNS)]
        wall, cpu, memory = zip(*runs)
        print(f"| {name} | {1e3 * statistics.median(wall):.0f} ms ({1e3 * min(wall):.0f} to {1e3 * max(wall):.0f}) "
              f"| {1e3 * statistics.median(cpu):.0f} ms | {max(memory):.0f} MB |")


if __name__ == "__main__":
    main()

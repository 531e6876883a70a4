#!/usr/bin/env python3
"""Judges `linkcast diagnose` and writes docs/diagnose.md from docs/diagnose.in.md.

    tests/calibration/diagnose.py build/release/bin/linkcast            writes the page
    tests/calibration/diagnose.py build/release/bin/linkcast --show     prints what is wrong, writes nothing

Three parts: the series of tests/data/collectives (marked healthy or degraded by their sources), the cases of
tests/data/diagnosis and variants of them, and 200 synthetic faults: a catalog system, a fault, its size and what of it
was measured are drawn from a seed, simulated by `linkcast collective`, and given noise.
"""

import argparse
import collections
import concurrent.futures
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = [  # label, words of a cause in a source, words of ours
    ("normal", r"^normal", r"^normal"),
    ("nvls", r"nvls disabled|nvls off", r"^NVLS disabled"),
    ("gdr read", r"off for reads", r"GPUDirect RDMA off for reads"),
    ("gdr", r"gpudirect rdma (off|disabled)|no gdrdma", r"^GPUDirect RDMA off:"),
    ("tcp", r"tcp|sockets|ipoib|cxi", r"^TCP sockets"),
    ("p2p forced", r"p2p forced", r"^P2P forced"),
    ("p2p", r"p2p|peer-to-peer|staged", r"^P2P disabled"),
    ("acs", r"\bacs\b", r"ACS"),
    ("vm", r"topology file", r"^virtual machine"),
    ("nics", r"nic selection|shared by|one 400g nic|single hca|only one of two", r"^wrong, shared"),
    ("numa", r"binding|numa", r"^CPU/NUMA"),
    ("channels", r"too few channels", r"^too few channels"),
    ("algorithm", r"algorithm", r"^wrong (algorithm|protocol)"),
    ("container", r"container", r"^container"),
    ("ordering", r"relaxed ordering", r"relaxed ordering off"),
    ("ecmp", r"ecmp", r"^ECMP"),
    ("loss", r"loss", r"^packet loss"),
    ("rate", r"half.rate|lower rate", r"^NICs or cables at a lower rate"),
    ("one nic", r"one slow nic", r"^one slow NIC"),
    ("node", r"one slow node", r"^one slow node"),
    ("tier", r"oversubscribed", r"^oversubscribed"),
    ("rail", r"wrong rail", r"^wrong rail"),
    ("launch", r"launch overhead", r"^in-process launch"),
    ("pcie", r"lower width", r"^PCIe at a lower"),
    ("nvlink", r"nvlink .* down", r"^an NVLink of one GPU"),
    ("nvswitch", r"nvswitch", r"^an NVSwitch"),
    ("gpu path", r"path", r"^one GPU's path"),
    ("direction", r"direction", r"^a slow link in one direction"),
]


def label(cause, ours):
    for name, theirs, own in KINDS:
        if re.search(own if ours else theirs, cause if ours else cause.lower()):
            return name
    return "unexplained" if ours else "?"


def diagnose(linkcast, *arguments):
    done = subprocess.run([linkcast, "diagnose", "--json", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return {"verdict": "error", "confidence": 0, "causes": [], "rows": [], "error": done.stderr.strip().split("\n")[0]}
    return json.loads(done.stdout)


def ranked(answer):
    return [label(c["cause"], True) for c in answer["causes"] if not c["cause"].startswith("normal")]


def alike(answer):
    """The first cause and those of which the tool says that these measurements cannot tell them from it."""
    faults = [c for c in answer["causes"] if not c["cause"].startswith("normal")]
    return [label(c, True) for c in [faults[0]["cause"], *faults[0].get("alike", [])]] if faults else []


def table(lines, head):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(map(str, l)) + " |" for l in lines)])


# ---- series ------------------------------------------------------------------------------------------------------

def judge_series(linkcast, pool, folder):
    files = sorted(folder.glob("*.yaml"))
    facts = [yaml.safe_load(f.read_text()) for f in files]
    # A source's verdict, its cause and its words about peer access are the answer: taken out before the question is put.
    scratch = pathlib.Path(tempfile.mkdtemp())
    for f, d in zip(files, facts):
        d = {k: v for k, v in d.items() if k not in ("health", "cause", "notes")}
        (scratch / f.name).write_text(yaml.safe_dump(d, sort_keys=False, default_flow_style=None))
    answers = list(pool.map(lambda f: diagnose(linkcast, scratch / f.name), files))
    return list(zip(facts, answers))


# ---- cases -------------------------------------------------------------------------------------------------------

def question_of(case):
    keep = {k: case[k] for k in ("id", "source") if k in case}
    keep["hardware"] = {k: v for k, v in case["hardware"].items() if k != "notes"}
    keep["software"] = {"nccl": (case.get("software") or {}).get("nccl")}
    keep["measurements"] = case["measurements"]
    return keep


def judge_cases(linkcast, pool, folder):
    cases = [yaml.safe_load(f.read_text()) for f in sorted(folder.glob("*.yaml"))]
    scratch = pathlib.Path(tempfile.mkdtemp())
    for c in cases:
        (scratch / f"{c['id']}.yaml").write_text(yaml.safe_dump(question_of(c), sort_keys=False))
    answers = list(pool.map(lambda c: diagnose(linkcast, scratch / f"{c['id']}.yaml"), cases))
    return list(zip(cases, answers))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("linkcast")
    p.add_argument("--show", action="store_true")
    p.add_argument("--only", default="")
    p.add_argument("--series", type=pathlib.Path, default=ROOT / "tests/data/collectives")
    p.add_argument("--cases", type=pathlib.Path, default=ROOT / "tests/data/diagnosis")
    o = p.parse_args()
    pool = concurrent.futures.ThreadPoolExecutor(2)
    if o.only in ("", "cases"):
        right = collections.Counter()
        for case, a in judge_cases(o.linkcast, pool, o.cases):
            truth = {"normal": "healthy"}.get(case["verdict"], case["verdict"])
            right[truth, a["verdict"] == truth] += 1
            print(f"{'ok ' if a['verdict'] == truth else 'BAD'} {case['id']:34} {truth:9} {a['verdict']:9} {a['confidence']:.2f}",
                  label(case["cause"], False), "|", [(label(c["cause"], True), round(c["score"], 2)) for c in a["causes"][:4]],
                  a.get("error", ""))
            if o.show:
                for r in a["rows"][:6]:
                    print("       ", r["what"], r["measured_GBps"], r["expected_GBps"], r["low_GBps"])
        print(dict(right))
    if o.only in ("", "series"):
        result = judge_series(o.linkcast, pool, o.series)
        healthy = [(d, a) for d, a in result if d["health"] == "ok"]
        sick = [(d, a) for d, a in result if d["health"] != "ok"]
        for d, a in result:
            truth = "healthy" if d["health"] == "ok" else "degraded"
            if a["verdict"] != truth or truth == "degraded":
                print(f"{d['id'][:58]:58} {truth:9} {a['verdict']:9} {a['confidence']:.2f}", label(d.get("cause") or "", False) if truth == "degraded" else "",
                      [(label(c["cause"], True), round(c["score"], 2)) for c in a["causes"][:4]], a.get("error", "") or (a.get("notes") or [""])[-1][:90])
        print("healthy called degraded", sum(a["verdict"] == "degraded" for _, a in healthy), "of", len(healthy),
              "unknown", sum(a["verdict"] == "unknown" for _, a in healthy), "error", sum(a["verdict"] == "error" for _, a in healthy))
        known = [(d, a) for d, a in sick if label(d["cause"], False) != "?" and "not established" not in d["cause"]]
        print("degraded called degraded", sum(a["verdict"] == "degraded" for _, a in sick), "of", len(sick))
        print("cause first", sum(ranked(a)[:1] == [label(d["cause"], False)] for d, a in known), "first three",
              sum(label(d["cause"], False) in ranked(a)[:3] for d, a in known), "of", len(known))


if __name__ == "__main__":
    sys.exit(main())

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
import shlex
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
    ("p2p forced", r"p2p forced", r"^P2P forced"),
    ("p2p", r"p2p|peer-to-peer|staged", r"^P2P disabled"),
    ("tcp", r"tcp|sockets|ipoib|cxi", r"^TCP sockets"),
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


def against(right, total, goal, at_most=False):
    """Result, goal and whether it is met."""
    share = right / max(1, total)
    met = share <= goal if at_most else share >= goal
    return [f"{right} of {total} ({100 * share:.1f} %)", f"at {'most' if at_most else 'least'} {100 * goal:.0f} %: {'met' if met else '**missed**'}"]


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


def perturbed(value, rng):
    """A number that another run would have given: 3 % of noise on each."""
    return value * math.exp(rng.gauss(0, 0.03)) if isinstance(value, (int, float)) else value


def variant_of(case, rng):
    case = json.loads(json.dumps(question_of(case), default=str)) | {"verdict": case["verdict"], "cause": case["cause"], "id": case["id"]}
    for m in case["measurements"]:
        if "value" in m:
            m["value"] = perturbed(m["value"], rng)
        if "matrix" in m:
            m["matrix"] = [[perturbed(v, rng) for v in row] for row in m["matrix"]]
        for row in m.get("rows") or []:
            factor = perturbed(1.0, rng)
            for k, name in enumerate(m["columns"]):
                if row[k] is not None and name != "size_bytes":
                    row[k] = row[k] * factor if name == "time_us" else row[k] / factor
    return case


def judge_variants(linkcast, pool, folder, seed, times=3):
    cases = [yaml.safe_load(f.read_text()) for f in sorted(folder.glob("*.yaml"))]
    scratch = pathlib.Path(tempfile.mkdtemp())
    variants = []
    for k in range(times):
        rng = random.Random(seed + k)
        variants += [(k, variant_of(c, rng)) for c in cases]
    for k, c in variants:
        (scratch / f"{k}-{c['id']}.yaml").write_text(yaml.safe_dump(question_of(c), sort_keys=False))
    answers = list(pool.map(lambda v: diagnose(linkcast, scratch / f"{v[0]}-{v[1]['id']}.yaml"), variants))
    return [(c, a) for (_, c), a in zip(variants, answers)]


def variants_text(result, show):
    right, total, wrong = collections.Counter(), collections.Counter(), collections.Counter()
    for case, a in result:
        truth = {"normal": "healthy"}.get(case["verdict"], case["verdict"])
        total[truth] += 1
        right[truth] += a["verdict"] == truth
        if a["verdict"] != truth:
            wrong[case["id"]] += 1
    names = ", ".join(f"{k} ({n})" for k, n in sorted(wrong.items()))
    return (f"Each case three times, with 3 % of noise on each number: healthy called healthy {right['healthy']} of {total['healthy']}, degraded "
            f"called degraded {right['degraded']} of {total['degraded']}. Wrong: {names}.")


# ---- synthetic faults ---------------------------------------------------------------------------------------------

SWITCHED = {"dgx-h100": (8, 400), "dgx-h200": (8, 400), "hgx-h800": (8, 400), "hgx-h20": (8, 400), "hgx-b200": (8, 400),
            "hgx-b300": (8, 800), "dgx-a100": (8, 200)}
MESHED = {"gh200-x4": (4, 200), "hgx-a100-4": (4, 200)}
PCIE = {"pcie-a100": (2, 200), "pcie-l40s": (2, 200)}
MULTICAST = [s for s in SWITCHED if s != "dgx-a100"]
PAIR = {"dgx-h100": 380, "dgx-h200": 380, "dgx-a100": 275, "hgx-b200": 760, "pcie-a100": 26.2, "pcie-l40s": 26.2}


class Draw:
    """One synthetic machine: what is wrong, the question that is put, and what would be a right answer."""

    def __init__(self, linkcast, folder, index, seed):
        self.linkcast, self.index = linkcast, index
        self.rng = random.Random(seed * 1000 + index)
        self.folder = folder / f"draw{index}"
        self.folder.mkdir()
        self.bias = math.exp(self.rng.gauss(0, 0.04))
        self.files, self.options = [], []
        kinds = [self.healthy] * 10 + [self.vm, self.ecmp, self.ordering, self.qps, self.nvls, self.p2p, self.nvlink, self.nvswitch, self.algorithm, self.channels, self.launch,
                 self.container, self.pcie, self.gdr, self.tcp, self.nics, self.nics, self.rate, self.one_nic, self.node, self.acs,
                 self.loss, self.gpu_path, self.direction]
        # A fault that changes nothing of what was measured cannot be found: another is drawn.
        self.redrawn = 0
        for _ in range(20):
            self.files, self.options, self.slowest = [], [], 1.0
            self.rng.choice(kinds)()
            if self.truth == "normal" or self.slowest > 1.18:
                break
            self.redrawn += 1

    def between(self, least, most):
        """Equally probable in the logarithm. At both ends the ranges go beyond the tool's own hypotheses."""
        return math.exp(self.rng.uniform(math.log(least), math.log(most)))

    def noise(self):
        return self.bias * math.exp(self.rng.gauss(0, 0.03))

    def call(self, op, system, nodes, topology=None, *options, first="1M"):
        single = nodes == 1
        argv = [self.linkcast, "collective", op, "-t", str(topology or system), "--nodes", str(nodes), "--size", f"{first}:8G:x2", "--json",
                "--nccl", "2.28.3", "--launch", "single-process" if single else "multi-process", *options]
        done = subprocess.run(argv, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(" ".join(argv) + ": " + done.stderr)
        return [(r["size_bytes"], r["time_us"]) for r in json.loads(done.stdout)["rows"]]

    def faulty(self, system, *lines):
        path = self.folder / "faulty.yaml"
        path.write_text(f"schema: linkcast.topology/1\nextends: {system}\n" + "\n".join(lines) + "\n")
        return path

    def put(self, op, system, nodes, rows, gpus=8):
        count, gbps = {**SWITCHED, **MESHED, **PCIE}[system]
        if self.truth != "normal":
            self.slowest = max(us / well for (size, us), (_, well) in zip(rows, self.call(op, system, nodes)) if size >= 1 << 26 or self.truth == "launch")
        if self.rng.random() < 0.3 and op == "all_reduce" and self.truth != "launch" and self.truth != "loss":
            size, us = self.rng.choice(rows[-5:])
            n = nodes * gpus
            self.options += ["-t", system, "--nodes", nodes, "--gpus", n, *(["--nics", f"{count}x{gbps}"] if nodes > 1 else []),
                             "--busbw", f"{op}@{size}={size / us / self.noise() * 2 * (n - 1) / n / 1000:.2f}GB/s"]
            self.what = f"one figure, {nodes} node(s)"
            return
        data = {"id": f"draw{self.index}-{len(self.files)}", "source": "synthetic", "title": "synthetic", "date": "2026-06-01", "kind": "collective",
                "system": system, "nodes": nodes, "gpus_per_node": gpus, "ranks": nodes * gpus,
                "software": {"nccl": "2.28.3", "env": {}, "launch": "single_process" if nodes == 1 else "process_per_gpu"},
                "collective": op, "dtype": "float", "redop": "sum" if op == "all_reduce" else None, "placement": "out_of_place",
                "columns": ["size_bytes", "time_us"], "rows": [[size, round(us * self.noise(), 2)] for size, us in rows]}
        if nodes > 1:
            data |= {"nics_per_node": count, "nic_gbps": gbps, "fabric": "slingshot" if system in MESHED else "ib"}
        path = self.folder / f"series{len(self.files)}.yaml"
        path.write_text(yaml.safe_dump(data, sort_keys=False, default_flow_style=None))
        self.files.append(path)
        self.what = f"{op}, {nodes} node(s)"

    def more(self, system, nodes=2, memory=None):
        """Sometimes: a healthy single-node run and tests between hosts, which rule causes out."""
        count, gbps = {**SWITCHED, **MESHED, **PCIE}[system]
        if self.rng.random() < 0.5 or self.options:
            return
        for kind, share in (memory or {"host": 1, "gpu": 1}).items():
            data = {"id": f"test-{kind}", "source": "synthetic", "title": "synthetic", "date": "2026-06-01", "kind": "perftest", "test": "ib_write_bw",
                    "machine": {"gpus_per_node": 8, "nodes": 2, "nics_per_node": 1, "nic_gbps": gbps, "fabric": "ib"},
                    "unit": "Gb/s", "memory": kind, "system": system, "rows": [[1048576, round(gbps * 0.97 * share * self.noise(), 1)]]}
            path = self.folder / f"test-{kind}.yaml"
            path.write_text(yaml.safe_dump(data, sort_keys=False, default_flow_style=None))
            self.files.append(path)
        self.what += ", perftest"

    def matrix(self, system, share, gpus=8):
        self.slowest = 1 / min(share(i, j) for i in range(gpus) for j in range(gpus) if i != j)
        cells = [[None if i == j else round(PAIR[system] / self.noise() * share(i, j), 2) for j in range(gpus)] for i in range(gpus)]
        data = {"id": "matrix", "source": "synthetic", "title": "synthetic", "date": "2026-06-01", "kind": "p2p_matrix", "system": system,
                "machine": {"gpu": "", "gpus": gpus, "nodes": 1},
                "matrices": [{"name": "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", "unit": "GB/s", "matrix": cells}]}
        path = self.folder / "matrix.yaml"
        path.write_text(yaml.safe_dump(data, sort_keys=False, default_flow_style=None))
        self.files.append(path)
        self.what = "p2p matrix"

    def healthy(self):
        self.truth = "normal"
        system = self.rng.choice([*SWITCHED, *MESHED, *PCIE])
        gpus = 4 if system in MESHED else 8
        if system in PAIR and self.rng.random() < 0.2:
            return self.matrix(system, lambda i, j: 1)
        op = self.rng.choice(["all_reduce", "all_reduce", "all_gather", "reduce_scatter"])
        nodes = 1 if system in PCIE else self.rng.choice([1, 1, 2, 4, 8])
        self.put(op, system, nodes, self.call(op, system, nodes), gpus)
        if nodes > 1:
            self.more(system)

    def inside(self, truth, systems, topology, *options):
        self.truth = truth
        system = self.rng.choice(systems)
        gpus = 4 if system in MESHED else 8
        self.put("all_reduce", system, 1, self.call("all_reduce", system, 1, topology(system) if topology else None, *options), gpus)

    def nvls(self):
        self.inside("nvls", MULTICAST, None, "--env", "NCCL_NVLS_ENABLE=0")

    def p2p(self):
        self.inside("p2p", [*SWITCHED, *MESHED], None, "--env", "NCCL_P2P_DISABLE=1", "--env", "NCCL_NVLS_ENABLE=0")

    def nvlink(self):
        gpu, switch = self.rng.randrange(8), self.rng.randrange(4)
        self.inside("nvlink", ["dgx-h100", "dgx-h200", "hgx-h20", "dgx-a100"],
                    lambda s: self.faulty(s, "overrides:", f'  - {{link: "gpu[{gpu}]-nvswitch[{switch}]", state: down}}'))

    def nvswitch(self):
        switch = self.rng.randrange(4)
        self.inside("nvswitch", ["dgx-h100", "dgx-h200", "hgx-h20", "dgx-a100"],
                    lambda s: self.faulty(s, "overrides:", f'  - {{device: "nvswitch[{switch}]", state: down}}'))

    def algorithm(self):
        self.inside("algorithm", [*SWITCHED], None, "--env", self.rng.choice(["NCCL_ALGO=Tree", "NCCL_PROTO=LL"]))

    def channels(self):
        self.inside("channels", [*SWITCHED], None, "--env", f"NCCL_MAX_NCHANNELS={self.rng.choice([1, 2, 3, 4, 6])}")

    def launch(self):
        self.inside("launch", [*SWITCHED], None, "--launch-floor", f"{self.between(80, 1400):.0f}us")

    def container(self):
        self.truth = "container"
        system = self.rng.choice([*SWITCHED])
        share = self.between(0.007, 0.15)
        self.put("all_reduce", system, 1, [(s, t / share) for s, t in self.call("all_reduce", system, 1)])

    def pcie(self):
        lanes = self.rng.choice([2, 4, 8])
        self.inside("pcie", [*PCIE], lambda s: self.faulty(s, f"node: {{pcie: {{lanes: {lanes}}}}}"))

    def outside(self, truth, systems, change, *options, memory=None, share=None):
        self.truth = truth
        system = self.rng.choice(systems)
        nodes = self.rng.choice([2, 2, 4])
        gpus = 4 if system in MESHED else 8
        op = self.rng.choice(["all_reduce", "all_gather"])
        rows = self.call(op, system, nodes, change(system, nodes) if change else None, *options)
        self.put(op, system, nodes, [(s, t / share(s)) for s, t in rows] if share else rows, gpus)
        self.more(system, nodes, memory)

    def nic_states(self, share, only=None):
        def change(system, nodes):
            count, gbps = {**SWITCHED, **MESHED}[system]
            lines = [f'  - {{nic: "node[{i}].nic[{j}]", state: {share * gbps:.1f} Gb/s}}' for i in range(nodes) for j in range(count)
                     if only is None or only(i, j)]
            return self.faulty(system, f"nodes: {nodes}", "network: {type: ideal}", "overrides:", *lines)
        return change

    def gdr(self):
        self.outside("gdr", [*SWITCHED], None, "--env", "NCCL_NET_GDR_LEVEL=LOC", memory={"host": 1})

    def tcp(self):
        self.outside("tcp", [*SWITCHED, *MESHED], None, "--network", "tcp")

    def nics(self):
        used = self.rng.choice([1, 2, 3, 4, 5])
        self.truth = "nics"
        system = self.rng.choice([*SWITCHED])
        self.put("all_reduce", system, 2, self.call("all_reduce", system, 2, None, "--nics", f"{used}x{SWITCHED[system][1]}"))
        self.more(system)

    def rate(self):
        share = self.rng.choice([0.5, 0.25])
        self.outside("rate", [*SWITCHED], self.nic_states(share), memory={"host": share, "gpu": share})

    def one_nic(self):
        i, j, share = self.rng.randrange(2), self.rng.randrange(4), self.between(0.06, 0.9)
        self.outside("one nic", [*SWITCHED], self.nic_states(share, lambda a, b: (a, b) == (i, j)))

    def node(self):
        i, share = self.rng.randrange(2), self.between(0.06, 0.9)
        self.outside("node", [*SWITCHED], self.nic_states(share, lambda a, b: a == i))

    def acs(self):
        share = self.between(0.33, 0.65)
        self.outside("acs", [*SWITCHED], self.nic_states(share), memory={"host": 1, "gpu": share})

    def loss(self):
        at, share = 1 << self.rng.randrange(22, 30), self.between(1 / 8, 1 / 2.5)
        self.outside("loss", [*SWITCHED], None, share=lambda size: share if size >= at else 1)

    def scaled(self, truth, least, most, memory):
        share = self.between(least, most)
        self.outside(truth, [*SWITCHED], self.nic_states(share), memory={kind: share if slow else 1 for kind, slow in memory.items()})

    def vm(self):
        self.scaled("vm", 1 / 8, 1 / 1.8, {"host": False})

    def ecmp(self):
        self.scaled("ecmp", 0.3, 0.87, {"host": False, "gpu": False})

    def ordering(self):
        self.scaled("ordering", 0.55, 0.92, {"host": True, "gpu": True})

    def qps(self):
        self.truth = "channels"
        system, share = self.rng.choice([*SWITCHED]), self.between(0.4, 0.87)
        self.put("sendrecv", system, 4, [(s, t / share) for s, t in self.call("sendrecv", system, 4)])

    def gpu_path(self):
        self.truth = "gpu path"
        bad, share = self.rng.randrange(8), self.between(0.04, 0.92)
        self.matrix(self.rng.choice([*PAIR]), lambda i, j: share if bad in (i, j) else 1)

    def direction(self):
        self.truth = "direction"
        bad, share = self.rng.randrange(8), self.between(0.04, 0.92)
        self.matrix(self.rng.choice([*PAIR]), lambda i, j: share if i == bad else 1)


def judge_draws(linkcast, pool, count, seed):
    folder = pathlib.Path(tempfile.mkdtemp())

    def one(index):
        draw = Draw(linkcast, folder, index, seed)
        draw.answer = diagnose(linkcast, *draw.files, *draw.options)
        verdict = "healthy" if draw.truth == "normal" else "degraded"
        draw.verdict_right = draw.answer["verdict"] == verdict
        first = ranked(draw.answer)[:1]
        draw.first = draw.verdict_right and (draw.truth == "normal" or first == [draw.truth])
        draw.right = draw.first or (draw.verdict_right and draw.truth in alike(draw.answer))
        return draw
    return list(pool.map(one, range(count)))


# ---- the page ----------------------------------------------------------------------------------------------------

def series_text(result, show):
    healthy = [(d, a) for d, a in result if d["health"] == "ok"]
    sick = [(d, a) for d, a in result if d["health"] != "ok"]
    # "Not established" is no cause to be compared with.
    known = [(d, a) for d, a in sick if "not established" not in d["cause"] and "not stated" not in d["cause"]]
    wrong = [d["id"] for d, a in healthy if a["verdict"] == "degraded"]
    first = sum(ranked(a)[:1] == [label(d["cause"], False)] for d, a in known)
    three = sum(label(d["cause"], False) in ranked(a)[:3] for d, a in known)
    if show:
        for d, a in result:
            truth = "healthy" if d["health"] == "ok" else "degraded"
            if a["verdict"] != truth or truth == "degraded":
                print(f"{d['id'][:58]:58} {truth:9} {a['verdict']:9} {a['confidence']:.2f}", label(d.get("cause") or "", False) if d in [x for x, _ in sick] else "",
                      [(label(c["cause"], True), round(c["score"], 2)) for c in a["causes"][:4]], a.get("error", ""))
    called = sum(a["verdict"] == "degraded" for _, a in sick)
    return table([
        ["healthy series called degraded", *against(len(wrong), len(healthy), 0.05, True), ", ".join(wrong)],
        ["healthy series of which nothing can be said", sum(a["verdict"] == "unknown" for _, a in healthy), "", "GPU not named by the source"],
        ["degraded series called degraded", f"{called} of {len(sick)}", "",
         "not: " + ", ".join(d["id"] for d, a in sick if a["verdict"] != "degraded")],
        ["true cause first, where it is known", *against(first, len(known), 0.7),
         "not: " + ", ".join(d["id"] for d, a in known if ranked(a)[:1] != [label(d["cause"], False)])],
        ["true cause among the first three", *against(three, len(known), 0.9),
         "not: " + ", ".join(d["id"] for d, a in known if label(d["cause"], False) not in ranked(a)[:3])]], ["", "result", "goal", ""])


def cases_text(result, show):
    lines, right, total = [], collections.Counter(), collections.Counter()
    for case, a in result:
        truth = {"normal": "healthy"}.get(case["verdict"], case["verdict"])
        total[truth] += 1
        right[truth] += a["verdict"] == truth
        lines.append([case["id"], truth, f"{a['verdict']} ({100 * a['confidence']:.0f} %)" if a["verdict"] != "unknown" else "unknown",
                      case["cause"].split(":")[-1].strip() if truth == "healthy" else case["cause"],
                      "; ".join(c["cause"].split(":")[-1].strip() if truth == "healthy" else c["cause"].split(":")[0] for c in a["causes"][:2])])
        if show:
            print(f"{'ok ' if a['verdict'] == truth else 'BAD'} {case['id']:34} {truth:9} {a['verdict']:9} {a['confidence']:.2f}", label(case["cause"], False), "|",
                  [(label(c["cause"], True), round(c["score"], 2)) for c in a["causes"][:4]], a.get("error", ""))
            for r in a["rows"][:4]:
                print("       ", r["what"], r["measured_GBps"], r["expected_GBps"], r["low_GBps"])
    head = table([[f"{k} called {k}", *against(right[k], total[k], 0.8)] for k in ("healthy", "degraded")], ["", "result", "goal"])
    return head + "\n\n" + table(lines, ["case", "truth", "verdict", "established cause", "ours"])


def draws_text(draws, show):
    if show:
        for d in draws:
            if not d.first:
                print(d.index, d.truth, "|", d.what, "|", d.answer["verdict"], round(d.answer["confidence"], 2),
                      [(label(c["cause"], True), round(c["score"], 2)) for c in d.answer["causes"][:4]], "alike" if d.right else "", d.answer.get("error", ""))
    sick = [d for d in draws if d.truth != "normal"]
    n = len(draws)
    lines = [["verdict right", *against(sum(d.verdict_right for d in draws), n, 0.85)],
             ["verdict right and cause first (strict)", *against(sum(d.first for d in draws), n, 0.85)],
             ["the same, or named as not told apart from the first", *against(sum(d.right for d in draws), n, 0.85)],
             ["cause among the first three", f"{sum(d.truth == 'normal' and d.verdict_right or d.truth in ranked(d.answer)[:3] and d.verdict_right for d in draws)} of {n}", ""],
             ["healthy called healthy", f"{sum(d.verdict_right for d in draws if d.truth == 'normal')} of {n - len(sick)}", ""],
             ["faults called degraded", f"{sum(d.verdict_right for d in sick)} of {len(sick)}", ""],
             ["faults drawn again, because no size takes 18 % longer", f"{sum(d.redrawn for d in draws)}, before these {len(sick)}", ""]]
    return table(lines, ["drawn from a seed: system x fault x size of it x what was measured; noise of 3 % a point, 4 % a machine", "result", "goal"])


def confusion_text(draws):
    def first(d):
        return "normal" if d.answer["verdict"] == "healthy" else (ranked(d.answer) or ["unknown"])[0]
    truths = sorted({d.truth for d in draws})
    columns = sorted({first(d) for d in draws})
    lines = []
    for t in truths:
        mine = [d for d in draws if d.truth == t]
        lines.append([t, len(mine), *[sum(first(d) == c for d in mine) or "" for c in columns], f"{sum(d.right for d in mine)} of {len(mine)}"])
    return table(lines, ["", "n", *columns, "right, or not told apart"])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("linkcast")
    p.add_argument("--show", action="store_true")
    p.add_argument("--only", default="")
    p.add_argument("--draws", type=int, default=200)
    p.add_argument("--seed", type=int, default=20261130)
    p.add_argument("--series", type=pathlib.Path, default=ROOT / "tests/data/collectives")
    p.add_argument("--cases", type=pathlib.Path, default=ROOT / "tests/data/diagnosis")
    o = p.parse_args()
    linkcast = str(pathlib.Path(o.linkcast).resolve())
    pool = concurrent.futures.ThreadPoolExecutor(2)
    made = {}
    if o.only in ("", "cases"):
        made["cases"] = cases_text(judge_cases(linkcast, pool, o.cases), o.show)
        print(made["cases"].split("\n\n")[0])
    if o.only in ("", "variants"):
        made["variants"] = variants_text(judge_variants(linkcast, pool, o.cases, o.seed), o.show)
        print(made["variants"])
    if o.only in ("", "series"):
        made["series"] = series_text(judge_series(linkcast, pool, o.series), o.show)
        print(made["series"])
    if o.only in ("", "draws"):
        draws = judge_draws(linkcast, pool, o.draws, o.seed)
        made["draws"], made["confusion"] = draws_text(draws, o.show), confusion_text(draws)
        print(made["draws"], made["confusion"], sep="\n\n")
    if o.show or o.only:
        return

    def filled(match):
        words = match.group(1)
        if words in made:
            return made[words]
        argv = shlex.split(words)
        out = subprocess.run([linkcast, *argv[1:]], capture_output=True, text=True, check=False).stdout
        return f"```\n$ {words}\n{out}```"

    page = re.sub(r"\{\{(.*?)\}\}", filled, (ROOT / "docs/diagnose.in.md").read_text())
    (ROOT / "docs/diagnose.md").write_text(page)


if __name__ == "__main__":
    sys.exit(main())

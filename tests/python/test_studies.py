"""run, plan, resilience, cost, diagnose and fit in Python: the command's answers as objects."""

import json
import pathlib
import subprocess

import pytest

import linkcast

ROOT = pathlib.Path(__file__).resolve().parents[2]
CARD = {"name": "one", "layers": 16, "hidden": 2048, "heads": 32, "kv_heads": 8, "head_dim": 64, "ffn": 8192,
        "gated_mlp": True, "vocab": 128256}
COLLECTIVE = {"title": "two nodes", "topology": "dgx-h100", "nodes": 2,
              "workload": {"collective": {"op": "all_reduce", "size": "1 GiB"}}}


@pytest.fixture
def question(tmp_path):
    card = tmp_path / "model.yaml"
    card.write_text(json.dumps(CARD))
    return {"title": "eight or sixteen", "topology": "dgx-h100",
            "workload": {"step": {"model": card, "plan": {"global_batch": 32, "sequence": 4096}}},
            "goals": ["step_time <= 3 s"], "search": {"gpus": [8, 16], "layout": {"tp": [1, 2]}}}


def same(answer, command, *arguments):
    """The JSON of an answer is the command's, up to what names the scenario."""
    done = subprocess.run([command, *map(str, arguments), "--json"], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    theirs, ours = json.loads(done.stdout), dict(answer.json)
    for key in ("command", "scenario"):
        theirs.pop(key, None), ours.pop(key, None)
    assert ours == theirs


def complete(answer):
    """What every answer has."""
    assert str(answer).strip() and answer.json["schema"].startswith("linkcast.")
    assert answer._repr_html_().startswith("<p><b>") and "<table>" in answer._repr_html_()
    assert type(answer).__name__ in repr(answer)
    pytest.importorskip("pandas")
    assert len(answer.to_pandas()) > 0


def test_run_is_the_commands(command, tmp_path):
    file = tmp_path / "one.yaml"
    file.write_text(json.dumps({**COLLECTIVE, "goals": ["busbw(all_reduce, 1 GiB) >= 900 GB/s"]}))
    answer = linkcast.run(file)
    same(answer, command, "run", file)
    complete(answer)
    assert answer.meets_all is False and answer.goals[0]["margin_percent"] < 0
    alone = linkcast.collective(linkcast.Cluster.load("dgx-h100", nodes=2), "all_reduce", "1G")
    assert answer.time_us == pytest.approx(alone.time_us[0], abs=1e-6)
    assert sum(answer.parts_us.values()) == pytest.approx(answer.time_us, rel=1e-6)


def test_run_of_a_step_is_its_replay():
    scenario = ROOT / "configs/step-8b-fsdp-h100.yaml"
    answer, replay = linkcast.run(scenario), linkcast.replay(scenario)
    assert answer.time_us == pytest.approx(replay.end_us / replay.steps, abs=1e-3)
    assert answer.facts["mfu_percent"] == pytest.approx(100 * replay.mfu, rel=1e-6)
    assert answer.meets_all is None


def test_run_leaves_variants_alone():
    assert linkcast.run({**COLLECTIVE, "variants": {"nodes": [4, 8]}}).facts["nodes"] == 2


def test_run_says_what_is_wrong():
    with pytest.raises(linkcast.InputError) as caught:
        linkcast.run("topology: dgx-h100\nnodes: 2\nworkload:\n  collective: {op: all_reduc, size: 1 GiB}\n")
    assert caught.value.diagnostics[0]["line"] == 4


def test_plan_is_the_commands(command, question, tmp_path):
    answer = linkcast.plan(question)
    file = tmp_path / "plan.yaml"
    file.write_text(json.dumps(question, default=str))
    same(answer, command, "plan", file)
    complete(answer)
    assert answer.met and answer.best in answer.options and {o["gpus"] for o in answer.options} == {8, 16}
    assert linkcast.plan(question, threads=1).json == answer.json
    assert not linkcast.plan(question, settings={"goals": ["step_time <= 1 ms"]}).met


def test_resilience_is_the_commands(command, tmp_path):
    answer = linkcast.resilience(COLLECTIVE, kinds=["nic", "gpu"], pairs=3)
    file = tmp_path / "two.yaml"
    file.write_text(json.dumps(COLLECTIVE))
    same(answer, command, "resilience", file, "--kinds", "nic,gpu", "--pairs", 3)
    complete(answer)
    assert answer.pairs["sampled"] == 3
    nics = [e for e in answer.elements if e["kind"] == "nic"]
    assert all(e["outage"] or e["slowdown"] >= 1 for e in nics) and nics[0]["count"] == 16


def test_cost_is_the_commands(command):
    answer = linkcast.cost(linkcast.Cluster.load("superpod-h100"), tokens_per_second=1e6)
    same(answer, command, "cost", "--topology", "superpod-h100", "--tokens-per-second", 1000000)
    complete(answer)
    total = sum(x["total_usd"]["typical"] for x in answer.lines if x["total_usd"])
    assert answer.capex_usd["typical"] == pytest.approx(total)
    assert answer.csv.count("\n") == len(answer.lines) + 1


def test_diagnose_is_the_commands(command):
    answer = linkcast.diagnose(busbw={"all_reduce@8G": 186}, gpu="H100 SXM", nodes=2, gpus=16, nics=8, nic_gbps=400)
    same(answer, command, "diagnose", "--busbw", "all_reduce@8G=186", "--gpu", "H100 SXM", "--nodes", 2, "--gpus", 16,
         "--nics", "8x400")
    complete(answer)
    assert answer.verdict == "degraded"


def test_fit_is_the_commands(command, tmp_path):
    log = ROOT / "tests/data/collectives/h100x8-allreduce-azure-busbw.yaml"
    answer = linkcast.fit(log)
    same(answer, command, "calibrate", "fit", log)
    complete(answer)
    assert answer.fitted["median_abs_rel_error"] <= answer.before["median_abs_rel_error"]
    ours = answer.save(tmp_path / "ours.yaml")
    plain = linkcast.run(COLLECTIVE, settings={"nodes": 1})
    assert linkcast.run(COLLECTIVE, settings={"nodes": 1}, profile=ours).time_us != plain.time_us
    assert len(answer.points_to_pandas()) == len(answer.points)


@pytest.mark.parametrize("call, words", [
    (lambda: linkcast.diagnose(), "nothing was measured"),
    (lambda: linkcast.diagnose(busbw={"all_reduc": 3}), "all_reduce"),
    (lambda: linkcast.diagnose(busbw={"all_reduce": -3}), "above 0"),
    (lambda: linkcast.diagnose(busbw={"all_reduce": 3}, nodes=2, gpus=15), "spread evenly"),
    (lambda: linkcast.diagnose(busbw={"all_reduce": 3}, nodes=-2), "nodes"),
    (lambda: linkcast.fit("nowhere.log"), "nowhere.log"),
    (lambda: linkcast.fit([], hold_back=2), "from 0 to 0.9"),
    (lambda: linkcast.resilience(COLLECTIVE, kinds=["nick"]), "nic"),
    (lambda: linkcast.resilience({**COLLECTIVE, "nodes": 0}), "nodes"),
    (lambda: linkcast.plan(COLLECTIVE), "no .search."),
    (lambda: linkcast.plan(COLLECTIVE, threads=-1), "threads"),
    (lambda: linkcast.cost(linkcast.Cluster.load("dgx-h100"), prices="nowhere.yaml"), "nowhere.yaml"),
])
def test_what_is_wrong_is_said(call, words):
    with pytest.raises(linkcast.InputError, match=words):
        call()


def test_reports(question, tmp_path):
    study = tmp_path / "study.yaml"
    study.write_text(json.dumps({**COLLECTIVE, "variants": {"nodes": [2, 4]}, "goals": ["step_time <= 9 ms"]}))
    for name, answer in {"sweep": linkcast.sweep(study), "run": linkcast.run(study), "plan": linkcast.plan(question),
                         "resilience": linkcast.resilience(study, kinds=["nic"])}.items():
        page = pathlib.Path(answer.report(tmp_path / f"{name}.html")).read_text()
        assert page.lower().startswith("<!doctype html>") and page.rstrip().endswith("</html>")
        assert f"linkcast.{name}(" in page
        assert ("sha256:" in page) == (name != "plan")  # that one is no file
    with pytest.raises(OSError):
        linkcast.run(study).report(tmp_path)

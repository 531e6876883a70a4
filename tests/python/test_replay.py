"""Replays in Python: the same numbers as the engine's, as tables."""

import pathlib

import pytest

import linkcast

ROOT = pathlib.Path(__file__).resolve().parents[2]

TRACE = """{"schema": "linkcast.trace/1", "ranks": 8}
{"ranks": "0-7", "compute": "100 us", "name": "work"}
{"ranks": "0-7", "all_reduce": "64 MiB", "after": ["work"]}
"""


@pytest.fixture
def trace(tmp_path):
    file = tmp_path / "trace.jsonl"
    file.write_text(TRACE)
    return file


def test_a_trace_is_compute_and_one_collective(trace, h100):
    found = linkcast.replay(trace, h100)
    alone = linkcast.collective(h100, "all_reduce", "64M", launch_floor_us=0)
    assert found.end_us == pytest.approx(100 + alone.time_us[0], abs=1e-3)
    assert found.world == 8 and len(found.by_rank) == 8
    assert sum(found.critical_path_us.values()) == pytest.approx(found.end_us)
    assert found.totals[0]["op"] == "all_reduce" and found.totals[0]["size_bytes"] == 64 << 20


def test_options_reach_the_replay(trace, h100):
    whole = linkcast.replay(trace, h100)
    half = linkcast.replay(trace, h100, compute_scale=0.5)
    assert whole.end_us - half.end_us == pytest.approx(50, abs=1e-3)
    late = linkcast.replay(trace, h100, slow_ranks={3: 2})
    assert late.end_us - whole.end_us == pytest.approx(100, abs=1e-3)
    assert late.by_rank[0]["wait_us"] == pytest.approx(100, abs=1e-3)


def test_tables(trace, h100, tmp_path):
    pandas = pytest.importorskip("pandas")
    found = linkcast.replay(trace, h100)
    table = found.to_pandas()
    assert list(table["op"]) == ["all_reduce"]
    assert isinstance(found.ranks_to_pandas(), pandas.DataFrame)
    assert "exposed_us.world" in found.ranks_to_pandas().columns


def test_a_step_from_a_scenario():
    step = linkcast.replay(ROOT / "configs/step-8b-fsdp-h100.yaml")
    assert step.world == 32 and 0.2 < step.mfu < 0.7
    wide = linkcast.replay(ROOT / "configs/step-8b-fsdp-h100.yaml", settings={"workload.step.plan.gpus": 64})
    assert wide.world == 64


def test_what_is_wrong_is_said(trace, h100):
    with pytest.raises(linkcast.InputError, match="nowhere"):
        linkcast.replay("nowhere.json", h100)
    with pytest.raises(linkcast.InputError, match="8 ranks"):
        linkcast.replay(trace, h100.slice([0, 1]))

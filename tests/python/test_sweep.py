"""Sweeps in Python: the same rows as the command's, on any executor, in the same file."""

import concurrent.futures
import csv
import itertools
import json
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import linkcast

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENARIO = {
    "title": "a small sweep",
    "topology": "dgx-h100",
    "workload": {"collective": {"op": "all_reduce", "size": "1 MiB"}},
    "goals": ["step_time <= 1 ms"],
}
GRID = {"nodes": [1, 2, 4], "workload.collective.size": "1M:1G:x4", "env.NCCL_ALGO": ["Ring", "Tree"]}
COUNT = 3 * 6 * 2


@pytest.fixture(scope="module")
def expected():
    return list(linkcast.sweep(SCENARIO, GRID))


@pytest.fixture(scope="module")
def processes():
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        yield pool


def study_file(folder, **more):
    """SCENARIO with GRID as the command reads it."""
    path = folder / "study.yaml"
    path.write_text(json.dumps({**SCENARIO, "variants": {**GRID, "workload.collective.size": [f"{4**k} MiB" for k in range(6)]},
                                **more}))
    return path


def run_command(command, scenario, out, *more):
    done = subprocess.run([command, "sweep", scenario, "--out", out, *more], capture_output=True, text=True, cwd=out.parent)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_rows_are_the_grid_in_its_order(expected):
    assert len(expected) == COUNT
    assert [(int(r["variant.nodes"]), r["env.NCCL_ALGO"]) for r in expected] == [
        (n, a) for n, _, a in itertools.product((1, 2, 4), range(6), ("Ring", "Tree"))]
    alone = linkcast.run({**SCENARIO, "env": {"NCCL_ALGO": "Tree"}}, settings={"nodes": 2, "workload.collective.size": "4M"})
    row = next(r for r in expected if r["name"].startswith("2, 4 MiB") and r["env.NCCL_ALGO"] == "Tree")
    assert row["time_us"] == pytest.approx(alone.time_us, abs=1e-6)
    assert row["nodes"] == 2 and row["gpus"] == 16
    assert (row["goal_1"] == "met") == (row["time_us"] <= 1000)


def test_the_grid_of_the_call_takes_the_place_of_the_scenarios():
    own = linkcast.sweep({**SCENARIO, "variants": {"nodes": [1, 2]}})
    assert [r["nodes"] for r in own] == [1, 2]
    assert [r["nodes"] for r in linkcast.sweep({**SCENARIO, "variants": {"nodes": [1, 2]}}, {"nodes": range(2, 5)})] == [2, 3, 4]
    assert len(linkcast.sweep(SCENARIO)) == 1


def test_values_of_numpy():
    numpy = pytest.importorskip("numpy")
    found = linkcast.sweep(SCENARIO, {"nodes": numpy.array([1, 2]), "env.NCCL_MIN_CTAS": [numpy.int64(4)]})
    assert [r["nodes"] for r in found] == [1, 2]


@pytest.mark.parametrize("chunk", [None, 1, 5])
def test_processes_give_the_same_rows(processes, expected, chunk):
    assert list(linkcast.sweep(SCENARIO, GRID, executor=processes, chunk=chunk)) == expected


def test_threads_give_the_same_rows(expected):
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        assert list(linkcast.sweep(SCENARIO, GRID, executor=pool, chunk=3)) == expected


def test_rows_are_yielded_as_they_finish(expected):
    """The second part is not begun before the first one's rows are there."""

    class OneByOne(concurrent.futures.Executor):
        begun = 0

        def submit(self, work, *arguments):
            future = concurrent.futures.Future()
            future.set_running_or_notify_cancel()
            if self.begun == 0:
                future.set_result(work(*arguments))
            self.begun += 1
            return future

    found = linkcast.sweep_iter(SCENARIO, {"nodes": [1, 2]}, executor=OneByOne(), chunk=1)
    assert next(found)["nodes"] == 1  # the other one never ends
    found.close()


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:distributed", "ignore:.*:DeprecationWarning:dask",
                            "ignore:.*:DeprecationWarning:tornado", "ignore:.*:ResourceWarning")
def test_a_dask_cluster_of_three_workers_gives_the_same_rows(expected, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None,
                                  local_directory=str(tmp_path)) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(3)
        who = client.run(os.getpid)
        assert len(set(who.values())) == 3 and os.getpid() not in who.values()
        out = tmp_path / "rows.csv"
        found = linkcast.sweep_iter(SCENARIO, GRID, executor=client.get_executor(), out=out, chunk=2)
        some = [row["key"] for row in itertools.islice(found, 7)]
        found.close()  # interrupted
        assert len(out.read_text().splitlines()) > 7
        rest = linkcast.sweep(SCENARIO, GRID, executor=client.get_executor(), out=out, chunk=2)
        assert list(rest) == expected
        assert rest.resumed >= len(some) and rest.computed == COUNT - rest.resumed
        ran = client.run(lambda: __import__("linkcast")._worker._open.__len__())
        assert sum(n > 0 for n in ran.values()) >= 2  # several of them had a part


def test_what_is_there_is_not_computed_again(tmp_path, expected):
    out = tmp_path / "rows.csv"
    half = linkcast.sweep(SCENARIO, {**GRID, "nodes": [1, 2]}, out=out)
    assert (half.resumed, half.computed) == (0, 24)
    whole = linkcast.sweep(SCENARIO, GRID, out=out)
    assert (whole.resumed, whole.computed) == (24, 12)
    assert list(whole) == expected
    again = linkcast.sweep(SCENARIO, GRID, out=out)
    assert (again.resumed, again.computed) == (COUNT, 0)
    other = linkcast.sweep({**SCENARIO, "nccl": "2.27.7"}, GRID, out=out)
    assert other.resumed == 0


def test_the_file_is_the_commands_byte_for_byte(command, processes, tmp_path):
    study = study_file(tmp_path)
    run_command(command, study, tmp_path / "command.csv")
    linkcast.sweep(study, executor=processes, out=tmp_path / "python.csv")
    theirs, ours = ((tmp_path / f"{name}.csv").read_bytes() for name in ("command", "python"))
    assert sorted(ours.splitlines()) == sorted(theirs.splitlines())
    assert ours == theirs  # at the end they stand in the order of the grid


def test_python_goes_on_with_what_the_command_began(command, tmp_path, processes):
    study, out = study_file(tmp_path), tmp_path / "rows.csv"
    run_command(command, study, out, "--limit", "10")
    found = linkcast.sweep(study, executor=processes, out=out)
    assert (found.resumed, found.computed) == (10, COUNT - 10)


def test_the_command_goes_on_with_what_python_began(command, tmp_path):
    study, out = study_file(tmp_path), tmp_path / "rows.csv"
    linkcast.sweep(study, out=out, limit=10)
    assert f"{COUNT} variants, 10 of them from" in run_command(command, study, out)


def test_files_beside_the_scenario_are_the_same_for_workers_elsewhere(command, tmp_path, processes, monkeypatch):
    """A relative path here; workers see it from their own working folder."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/machine.yaml").write_text("schema: linkcast.topology/1\nextends: dgx-h100\n")
    study = study_file(tmp_path / "in", topology="machine.yaml")
    monkeypatch.chdir(tmp_path)
    run_command(command, study, tmp_path / "in/command.csv")
    linkcast.sweep("in/study.yaml", executor=processes, out="in/python.csv")
    assert (tmp_path / "in/python.csv").read_bytes() == (tmp_path / "in/command.csv").read_bytes()


def test_a_line_that_was_cut_off_is_computed_again(tmp_path, expected):
    out = tmp_path / "rows.csv"
    linkcast.sweep(SCENARIO, GRID, out=out)
    whole = out.read_bytes()
    out.write_bytes(whole[:-40])
    found = linkcast.sweep(SCENARIO, GRID, out=out)
    assert found.computed == 1 and out.read_bytes() == whole


def test_a_file_of_something_else_is_left_alone(tmp_path):
    out = tmp_path / "rows.csv"
    out.write_text("my,own,table\n1,2,3\n")
    with pytest.raises(linkcast.InputError, match="left as it is"):
        linkcast.sweep(SCENARIO, GRID, out=out)
    assert out.read_text() == "my,own,table\n1,2,3\n"


def test_two_sweeps_cannot_write_one_file(tmp_path):
    out = tmp_path / "rows.csv"
    rows = linkcast.sweep_iter(SCENARIO, GRID, out=out)
    next(rows)
    with pytest.raises(linkcast.InputError, match="another sweep is writing it"):
        linkcast.sweep(SCENARIO, GRID, out=out)
    rows.close()
    linkcast.sweep(SCENARIO, GRID, out=out)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_no_plain_file(tmp_path):
    with pytest.raises(linkcast.InputError, match="not a plain file"):
        linkcast.sweep(SCENARIO, GRID, out="/dev/full")


def test_a_full_disk_keeps_what_was_finished(tmp_path):
    """A limit on the size of files stands for the disk's."""
    out = tmp_path / "rows.csv"
    script = textwrap.dedent(f"""
        import resource, signal
        import linkcast
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))
        try:
            linkcast.sweep({SCENARIO!r}, {GRID!r}, out={str(out)!r})
        except linkcast.InputError as error:
            print(error)
    """)
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "are kept: make room" in said
    rows = list(csv.reader(out.read_text().splitlines()))
    assert 1 < len(rows) < COUNT and all(len(r) == len(rows[0]) for r in rows)
    assert linkcast.sweep(SCENARIO, GRID, out=out).resumed == len(rows) - 1


def test_ctrl_c_keeps_what_is_finished(tmp_path):
    out = tmp_path / "rows.csv"
    grid = {"workload.collective.size": [f"{2**20 + 4 * i} B" for i in range(4_000)]}
    script = tmp_path / "script.py"
    script.write_text(f"import linkcast; linkcast.sweep({SCENARIO!r}, {grid!r}, out={str(out)!r}, chunk=4)")
    child = subprocess.Popen([sys.executable, script], stderr=subprocess.PIPE, text=True)
    try:
        while not out.exists() or out.stat().st_size < 5_000:
            assert child.poll() is None, child.stderr.read()
            time.sleep(0.005)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == -signal.SIGINT or "KeyboardInterrupt" in said
    rows = list(csv.reader(out.read_text().splitlines()))
    assert 1 < len(rows) < 4_001 and all(len(r) == len(rows[0]) for r in rows)
    assert len({r[0] for r in rows}) == len(rows)
    found = linkcast.sweep(SCENARIO, grid, out=out, limit=100)  # the file is not locked and can be read
    assert found.complete


def test_a_worker_with_other_files_is_noticed(tmp_path, monkeypatch):
    from linkcast import _worker

    honest = _worker.rows
    monkeypatch.setattr(_worker, "rows", lambda source, variants: [["0" * 16, *r[1:]] for r in honest(source, variants)])
    with pytest.raises(RuntimeError, match="another version of linkcast"):
        linkcast.sweep(SCENARIO, {"nodes": [1, 2]}, out=tmp_path / "rows.csv")


def test_errors_come_back_from_processes(processes):
    error = linkcast.InputError("there")
    assert isinstance(pickle.loads(pickle.dumps(error)), linkcast.InputError)
    from linkcast import _scenario, _worker

    with pytest.raises(linkcast.InputError, match="nodes"):
        processes.submit(_worker.rows, _scenario.source_of({**SCENARIO, "nodes": "many"}), [0]).result()


def test_tables(tmp_path, expected):
    pandas = pytest.importorskip("pandas")
    found = linkcast.sweep(SCENARIO, GRID, out=tmp_path / "rows.csv")
    table = found.to_pandas()
    assert list(table.columns[: len(found.columns)]) == found.columns
    assert table["time_us"].dtype == "float64" and table["nodes"].dtype == "int64"
    assert table["variant.nodes"].tolist() == [r["nodes"] for r in expected]
    assert table["vs_baseline_percent"].iloc[0] == 0
    assert table["meets_all"].tolist() == [r["time_us"] <= 1000 for r in expected]
    read = pandas.read_csv(tmp_path / "rows.csv")
    assert read["time_us"].tolist() == table["time_us"].tolist()
    assert found.json["schema"] == "linkcast.sweep/1" and len(found.json["rows"]) == COUNT
    html = found._repr_html_()
    assert html.count("<tr>") == 21 and "and 16 more" in html
    assert "a small sweep" in repr(found) and "16 MiB" in str(found)
    copy = pickle.loads(pickle.dumps(found))
    assert copy.to_pandas().equals(table)


def test_parquet(tmp_path):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    found = linkcast.sweep(SCENARIO, GRID, out=tmp_path / "rows.parquet")
    table = pandas.read_parquet(tmp_path / "rows.parquet")
    assert table["time_us"].tolist() == [r["time_us"] for r in found]
    assert linkcast.sweep(SCENARIO, GRID, out=tmp_path / "rows.parquet").resumed == COUNT
    assert sorted(p.name for p in tmp_path.iterdir()) == ["rows.csv", "rows.parquet"]


def test_parquet_without_its_library_is_said_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"linkcast\[parquet\]"):
        linkcast.sweep(SCENARIO, GRID, out=tmp_path / "rows.parquet")
    assert not list(tmp_path.iterdir())


def test_progress(capsys, monkeypatch):
    pytest.importorskip("tqdm")
    linkcast.sweep(SCENARIO, {"nodes": [1, 2]})
    assert capsys.readouterr().err == ""  # no terminal
    linkcast.sweep(SCENARIO, {"nodes": [1, 2]}, progress=True)
    assert "2/2" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm", None)
    linkcast.sweep(SCENARIO, {"nodes": [1, 2]})
    with pytest.raises(ImportError, match=r"linkcast\[sweep\]"):
        linkcast.sweep(SCENARIO, {"nodes": [1, 2]}, progress=True)


@pytest.mark.parametrize("scenario, grid, more, words", [
    (SCENARIO, {"node": [1, 2]}, {}, "nodes"),
    (SCENARIO, {"nodes": []}, {}, "nodes"),
    (SCENARIO, {}, {}, "variants"),
    (SCENARIO, {"workload.collective.size": "1G:1K:x2"}, {}, "size"),
    ({**SCENARIO, "goals": ["step_time <= 3 GB"]}, None, {}, "3 GB"),
    ("nowhere.yaml", None, {}, "nowhere.yaml"),
    (SCENARIO, None, {"limit": 0}, "limit"),
    (SCENARIO, None, {"chunk": -1}, "chunk"),
    (SCENARIO, None, {"profile": "nowhere.yaml"}, "nowhere.yaml"),
    (SCENARIO, None, {"settings": {"nodess": 3}}, "nodess"),
    (SCENARIO, {"workload.collective.size": [f"{i} MiB" for i in range(1, 1001)], "env.NCCL_MIN_CTAS": range(1, 1001),
                "env.NCCL_MAX_CTAS": range(1, 1001)}, {},
     "1000000000 variants: about"),
])
def test_what_is_wrong_is_said(scenario, grid, more, words):
    with pytest.raises(linkcast.InputError, match=words):
        linkcast.sweep(scenario, grid, **more)


def test_a_large_grid_with_a_limit_is_spread_over_it():
    grid = {"workload.collective.size": [f"{4 * (i + 1)} B" for i in range(1000)], "env.NCCL_NTHREADS": [256, 512],
            "nccl": ["2.27.7", "2.30.7"], "nodes": list(range(1, 101))}
    found = linkcast.sweep(SCENARIO, grid, limit=7)
    assert len(found) == 7 and len({r["workload.collective.size"] for r in found}) == 7


def test_no_scenario():
    with pytest.raises(TypeError, match="a path, a mapping or a YAML text"):
        linkcast.sweep(3)
    with pytest.raises(TypeError, match="no form in a scenario"):
        linkcast.sweep(SCENARIO, {"nodes": [object()]})

"""Collectives in Python: columns, units, errors, threads."""

import threading
import time

import numpy as np
import pytest

import linkcast


@pytest.fixture(scope="module")
def sweep(h100):
    return linkcast.collective(h100, "all_reduce", "8:16G:x2")


def test_columns_have_one_entry_for_each_size(sweep):
    assert sweep.size_bytes.tolist() == [2**k for k in range(3, 35)]
    kinds = {"time_us": "f", "algbw_GBps": "f", "busbw_GBps": "f", "algorithm": "U", "protocol": "U", "channels": "i",
             "bound_by": "U"}
    for name, kind in kinds.items():
        column = getattr(sweep, name)
        assert column.shape == (32,), name
        assert column.dtype.kind == kind, name


def test_bandwidths_are_nccl_tests(sweep):
    np.testing.assert_allclose(sweep.algbw_GBps, sweep.size_bytes / sweep.time_us * 1e-3, rtol=1e-9)
    # all_reduce on n ranks: 2 (n - 1) / n = 14/8.
    np.testing.assert_allclose(sweep.busbw_GBps, sweep.algbw_GBps * 14 / 8, rtol=1e-9)


def test_account_adds_up_to_the_time(sweep):
    total = sum(sweep.account.values())
    np.testing.assert_allclose(total, sweep.time_us, rtol=1e-12)


def test_same_call_same_answer(h100, sweep):
    again = linkcast.collective(h100, "all_reduce", "8:16G:x2")
    assert again.time_us.tolist() == sweep.time_us.tolist()


def test_a_name_does_for_a_fabric(sweep):
    assert linkcast.collective("dgx-h100", "AllReduce", 2**30).time_us[0] == sweep.time_us[27]


def test_environment_and_version_are_inputs(h100):
    ring = linkcast.collective(h100, "all_reduce", "1G", env={"NCCL_NVLS_ENABLE": False, "NCCL_ALGO": "Ring"})
    assert ring.algorithm.tolist() == ["Ring"]
    old = linkcast.collective(h100, "all_reduce", "1G", nccl="2.12")
    assert old.algorithm[0] != "NVLS"  # NVLS came with 2.17


def test_launch_floor_is_the_least_time(h100):
    slow = linkcast.collective(h100, "all_reduce", 8, launch_floor_us=40.0)
    assert slow.time_us[0] == pytest.approx(40.0, rel=0.05)


def test_both_fidelities_agree(h100):
    flow, chunk = (linkcast.collective(h100, "all_gather", "64M", fidelity=f) for f in ("flow", "chunk"))
    assert chunk.time_us[0] == pytest.approx(flow.time_us[0], rel=0.02)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"op": "all_reduec"}, "all_reduce"),
        ({"launch": "multi"}, "multi-process"),
        ({"fidelity": "chunks"}, "chunk"),
        ({"nccl": "two"}, "two"),
        ({"env": {"NCCL_ALGOO": "Ring"}}, "NCCL_ALGO"),
        ({"sizes": 0}, "zero"),
        ({"launch_floor_us": float("nan")}, "launch_floor_us"),
        ({"root": 8, "op": "broadcast"}, "root"),
        ({"dtype": "flaot"}, "flaot"),
    ],
)
def test_wrong_input_says_what_is_right(h100, arguments, words):
    call = {"op": "all_reduce", "sizes": "1M", **arguments}
    op, sizes = call.pop("op"), call.pop("sizes")
    with pytest.raises(linkcast.InputError, match=words):
        linkcast.collective(h100, op, sizes, **call)


def test_other_threads_run_during_a_simulation(h100):
    # Were the interpreter lock held, the other thread could not count until the simulation ends.
    done = threading.Event()
    counted_meanwhile = []

    def simulate():
        linkcast.collective(h100, "all_reduce", [1 << 32] * 1000, fidelity="chunk")  # about a second of work
        done.set()

    thread = threading.Thread(target=simulate)
    thread.start()
    while not done.is_set():
        counted_meanwhile.append(time.perf_counter())
        time.sleep(0.0005)
    thread.join()
    assert len(counted_meanwhile) > 3


def test_pandas(sweep):
    frame = sweep.to_pandas()
    assert list(frame.columns) == ["size_bytes", "time_us", "algbw_GBps", "busbw_GBps", "algorithm", "protocol",
                                   "channels", "bound_by"]
    assert len(frame) == 32
    wide = sweep.to_pandas(account=True)
    assert {"launch_us", "wire_us"} <= set(wide.columns)
    causes = [c for c in wide.columns if c[:-3] in sweep.account]
    np.testing.assert_allclose(wide[causes].sum(axis=1), wide["time_us"], rtol=1e-12)


def test_printed_as_a_table(sweep):
    lines = str(sweep).splitlines()
    assert lines[0] == "all_reduce on dgx-h100, 8 ranks"
    assert len(lines) == 34

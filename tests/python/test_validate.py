"""Predictions against measurements in Python."""

import numpy as np
import pytest

import linkcast

# What nccl-tests prints, written for this test: two sizes, with the times of the model itself (made below).
HEADER = """# nThread 1 nGpus 8 minBytes 1048576 maxBytes 1073741824 step: 1024(factor) warmup iters: 5 iters: 20
#
# Using devices
"""
DEVICE = "#  Rank {r:2} Group  0 Pid  42 on host device {r:2} [0x{b:02x}] NVIDIA H100 80GB HBM3\n"
COLUMNS = """#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""


def log_of(result, factor):
    text = HEADER + "".join(DEVICE.format(r=r, b=0x1B + r) for r in range(8)) + COLUMNS
    for size, us in zip(result.size_bytes, result.time_us * factor):
        algbw = size / us * 1e-3
        row = f"{us:.2f}  {algbw:.2f}  {algbw * 14 / 8:.2f}      0"
        text += f"{size}  {size // 4}  float  sum  -1  {row}  {row}\n"
    return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1\n"


@pytest.fixture
def log(tmp_path, h100):
    result = linkcast.collective(h100, "all_reduce", "1M,1G", launch="single-process")
    file = tmp_path / "run.txt"
    file.write_text(log_of(result, 1.25))
    return file


def test_errors_are_those_of_the_points(log):
    found = linkcast.validate(log, op="all_reduce")
    assert len(found) == 2  # out of place and in place
    assert len(found.points["id"]) == 4
    assert set(found.series["op"]) == {"all_reduce"}
    # Measured = 1.25 times what the model says for this machine, launched by one process for all GPUs (the header).
    out_of_place = found.points["predicted_us"][:2] / found.points["measured_us"][:2]
    np.testing.assert_allclose(out_of_place, 1 / 1.25, rtol=1e-3)  # the log has two decimals
    ratio = found.points["predicted_us"] / found.points["measured_us"] - 1
    for i, name in enumerate(found.series["id"]):
        mine = ratio[found.points["id"] == name]
        assert found.series["points"][i] == len(mine)
        assert found.series["median_abs_rel_error"][i] == pytest.approx(np.median(np.abs(mine)), rel=1e-6)
        assert found.series["bias"][i] == pytest.approx(np.median(mine), rel=1e-6)


def test_result_does_not_depend_on_threads(log):
    one, two = (linkcast.validate([log], threads=n, op="all_reduce") for n in (1, 2))
    assert one.points["predicted_us"].tolist() == two.points["predicted_us"].tolist()


def test_pandas(log):
    found = linkcast.validate(str(log), op="AllReduce")
    assert len(found.to_pandas()) == len(found)
    assert len(found.points_to_pandas()) == len(found.points["size_bytes"])


def test_a_row_cut_in_the_middle_is_an_error_at_its_place(log):
    lines = log.read_text().splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("1073741824"))
    lines[row] = lines[row][:30]
    log.write_text("\n".join(lines[: row + 1]))
    with pytest.raises(linkcast.InputError) as caught:
        linkcast.validate(log, op="all_reduce")
    assert caught.value.diagnostics[0]["line"] == row + 1


def test_a_path_that_is_not_there(tmp_path):
    with pytest.raises(linkcast.InputError):
        linkcast.validate(tmp_path / "nothing.txt")


def test_a_log_without_its_operation_asks_for_it(log):
    with pytest.raises(linkcast.InputError, match="does not say which collective"):
        linkcast.validate(log)


@pytest.mark.parametrize("option", [{"floor": "know"}, {"fidelity": "flows"}, {"op": "all_reduec"}])
def test_wrong_words(log, option):
    with pytest.raises(linkcast.InputError, match="did you mean"):
        linkcast.validate(log, **option)


def test_threads_below_zero(log):
    with pytest.raises(linkcast.InputError, match="threads"):
        linkcast.validate(log, threads=-1)

"""Predictions against measurements in Python."""

import numpy as np
import pytest

import linkcast

# What nccl-tests prints, written for this test: two sizes, the times of the model itself (made below).
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
    found = linkcast.validate(log)
    assert len(found) >= 1
    assert set(found.series["op"]) == {"all_reduce"}
    ratio = found.points["predicted_us"] / found.points["measured_us"] - 1
    for i, name in enumerate(found.series["id"]):
        mine = ratio[found.points["id"] == name]
        assert found.series["points"][i] == len(mine)
        assert found.series["median_abs_rel_error"][i] == pytest.approx(np.median(np.abs(mine)), rel=1e-6)
        assert found.series["bias"][i] == pytest.approx(np.median(mine), rel=1e-6)


def test_result_does_not_depend_on_threads(log):
    one, two = (linkcast.validate([log], threads=n) for n in (1, 2))
    assert one.points["predicted_us"].tolist() == two.points["predicted_us"].tolist()


def test_pandas(log):
    found = linkcast.validate(str(log))
    assert len(found.to_pandas()) == len(found)
    assert len(found.points_to_pandas()) == len(found.points["size_bytes"])


def test_a_row_cut_in_the_middle_is_an_error_at_its_place(log):
    lines = log.read_text().splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("1073741824"))
    lines[row] = lines[row][:30]
    log.write_text("\n".join(lines[: row + 1]))
    with pytest.raises(linkcast.InputError) as caught:
        linkcast.validate(log)
    assert caught.value.diagnostics[0]["line"] == row + 1


def test_a_path_that_is_not_there(tmp_path):
    with pytest.raises(linkcast.InputError):
        linkcast.validate(tmp_path / "nothing.txt")


@pytest.mark.parametrize("option", [{"floor": "know"}, {"fidelity": "flows"}])
def test_wrong_words(log, option):
    with pytest.raises(linkcast.InputError, match="did you mean"):
        linkcast.validate(log, **option)

"""Sizes from everything that people have."""

import numpy as np
import pytest

import linkcast


@pytest.mark.parametrize(
    "given, bytes_",
    [
        (1024, [1024]),
        ("1M", [2**20]),
        ("8:64:x2", [8, 16, 32, 64]),
        ([8, "1K", np.int64(2**33)], [8, 1024, 2**33]),
        (np.array([4, 8]), [4, 8]),
        ((n for n in (1, 2)), [1, 2]),
        (np.int32(7), [7]),
    ],
)
def test_accepted(given, bytes_):
    sizes = linkcast.parse_sizes(given)
    assert sizes.dtype == np.int64
    assert sizes.tolist() == bytes_


@pytest.mark.parametrize(
    "given, words",
    [
        (0, "zero"),
        (-1, "negative"),
        (2**63, "too large"),
        (1.5, "neither a whole number"),
        ([], "empty"),
        ("", "missing"),
        ("4MB", "powers of 1024"),
        (["8", "64:8"], "ends below its beginning"),
        (None, "neither a whole number"),
    ],
)
def test_refused(given, words):
    with pytest.raises(linkcast.InputError, match=words):
        linkcast.parse_sizes(given)


def test_every_mistake_has_its_place():
    with pytest.raises(linkcast.InputError) as caught:
        linkcast.parse_sizes("0,8,4MB")
    assert [(d["column"], d["problem"]) for d in caught.value.diagnostics] == [
        (1, "a size of zero"),
        (6, "'MB' is not a suffix of sizes"),
    ]

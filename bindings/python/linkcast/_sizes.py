"""Message sizes from everything that people have: numbers, words, ranges, arrays. Knows no collective."""

from __future__ import annotations

import operator
from typing import Any, Iterable, Union

import numpy as np

from . import _core

Sizes = Union[int, str, Iterable[Union[int, str]]]


def _word(size: Any) -> str:
    if isinstance(size, str):
        return size
    try:
        return str(operator.index(size))
    except TypeError:
        raise _core.InputError(
            f"size {size!r} is neither a whole number nor a text such as '1M' or '8:16G:x2'"
        ) from None


def parse_sizes(sizes: Sizes) -> np.ndarray:
    """The sizes in bytes that a description stands for.

    Parameters
    ----------
    sizes : int, str, or iterable of them
        A number of bytes; a text such as ``"4M"``, ``"8:16G:x2"`` (from, to, factor), ``"1M:8M:+1M"`` (from, to,
        step) or several of them separated by commas. K, M, G and T count in powers of 1024, as in nccl-tests.

    Returns
    -------
    numpy.ndarray of int64, shape (n,)
        Bytes, in the order in which they were written.

    Raises
    ------
    InputError
        A size that is zero, negative, 2**63 or more, or not a size; a range that descends or does not grow.

    Examples
    --------
    >>> parse_sizes("8:64:x2")
    array([ 8, 16, 32, 64])
    >>> parse_sizes([1024, "4K:16K:x2"])
    array([ 1024,  4096,  8192, 16384])
    >>> parse_sizes("1G:8")
    Traceback (most recent call last):
        ...
    linkcast.InputError: size:1:1: error: the range ends below its beginning
    ...
    """
    if isinstance(sizes, str):
        text = sizes
    elif isinstance(sizes, Iterable) and getattr(sizes, "ndim", 1) != 0:
        words = [_word(size) for size in sizes]
        if not words:
            raise _core.InputError("no sizes: the list is empty")
        text = ",".join(words)
    else:
        text = _word(sizes)
    return np.asarray(_core.parse_sizes(text), dtype=np.int64)

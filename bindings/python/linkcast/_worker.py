"""What a worker of an executor runs, in this process or in another one: rows of a study that it opens once. Knows no
executor."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Sequence

from . import _core
from ._scenario import Source

_kept = 4
_lock = threading.Lock()
_open: OrderedDict[Source, _core.Study] = OrderedDict()


def _opened(source: Source) -> _core.Study:
    with _lock:
        study = _open.pop(source, None)
        if study is None:
            study = source.open()
        _open[source] = study
        while len(_open) > _kept:
            _open.popitem(last=False)
        return study


def rows(source: Source, variants: Sequence[int]) -> list[list[str]]:
    """The rows of these variants, in this order."""
    return _opened(source).rows(list(variants))


def stop(source: Source) -> None:
    """Ends what computes for this source in this process, with what is finished."""
    with _lock:
        study = _open.pop(source, None)
    if study is not None:
        study.stop()

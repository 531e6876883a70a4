"""Predictions against measurements. Knows no file format: the readers are below."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable, Optional, Union

import numpy as np

from . import _core

if TYPE_CHECKING:
    import pandas

_SERIES = {
    "id": np.str_,
    "system": np.str_,
    "op": np.str_,
    "ranks": np.int64,
    "healthy": np.bool_,
    "points": np.int64,
    "median_abs_rel_error": np.float64,
    "p90_abs_rel_error": np.float64,
    "bias": np.float64,
    "skipped": np.str_,
}
_POINTS = {
    "size_bytes": np.int64,
    "measured_us": np.float64,
    "predicted_us": np.float64,
    "algorithm": np.str_,
    "protocol": np.str_,
}


@dataclass(frozen=True, eq=False)
class Validation:
    """What :func:`validate` found. Errors are ratios: 0.08 is 8 %.

    Attributes
    ----------
    series : dict of numpy.ndarray
        The table of the series, columns of shape (series,): ``id``, ``system``, ``op``, ``ranks``, ``healthy``,
        ``points``, ``median_abs_rel_error``, ``p90_abs_rel_error``, ``bias`` (median of predicted / measured - 1) and
        ``skipped`` (why there is no prediction; empty where there is one).
    points : dict of numpy.ndarray
        The table of all points, columns of shape (points,): ``id`` of the series, ``size_bytes``, ``measured_us``,
        ``predicted_us``, ``algorithm``, ``protocol``.
    overall, below_1M, from_1M_to_64M, from_64M : dict
        ``points``, ``median_abs_rel_error``, ``p90_abs_rel_error`` and ``bias`` over the healthy series with a system:
        all of them, and by size.
    families : dict of dict
        The same for each system and operation, under names such as "dgx-h100 all_reduce".
    """

    series: dict[str, np.ndarray]
    points: dict[str, np.ndarray]
    overall: dict[str, float]
    below_1M: dict[str, float]
    from_1M_to_64M: dict[str, float]
    from_64M: dict[str, float]
    families: dict[str, dict[str, float]]

    def __len__(self) -> int:
        return len(self.series["id"])

    def to_pandas(self) -> pandas.DataFrame:
        """The table of the series.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        import pandas

        return pandas.DataFrame(self.series)

    def points_to_pandas(self) -> pandas.DataFrame:
        """The table of the points; raises as `to_pandas`."""
        import pandas

        return pandas.DataFrame(self.points)


def _columns(rows: Iterable[dict[str, Any]], kinds: dict[str, type]) -> dict[str, np.ndarray]:
    rows = list(rows)
    return {name: np.asarray([row[name] for row in rows], dtype=kind) for name, kind in kinds.items()}


def validate(
    paths: Union[str, os.PathLike[str], Iterable[Union[str, os.PathLike[str]]]],
    *,
    fidelity: str = "flow",
    floor: str = "shipped",
    threads: int = 0,
    op: Optional[str] = None,
    system: Optional[str] = None,
    ranks: Optional[int] = None,
    profile: Union[str, os.PathLike[str], None] = None,
) -> Validation:
    """Compares predictions with measurements.

    Parameters
    ----------
    paths : str, path, or iterable of them
        Files or folders: measurements in Linkcast's YAML, or what nccl-tests wrote (``.txt``, ``.log``, ``.out``,
        ``.json``).
    fidelity : str
        "flow" or "chunk".
    floor : str
        "shipped": the launch floor of the machine's description. "known": a series' smallest time is its floor.
    threads : int
        How many to use; 0 is all cores. The result does not depend on it.
    op, ranks : str and int, optional
        The operation and the number of GPUs of logs that do not say them.
    system : str, optional
        The machine of logs, also where their GPU names suggest another one.
    profile : str or path, optional
        Fitted numbers that ``linkcast calibrate fit`` wrote, over the catalog's.

    Returns
    -------
    Validation

    Raises
    ------
    InputError
        With every problem of every file, each at its line and column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> log = pathlib.Path(folder.name) / "mine.txt"
    >>> _ = log.write_text("this is no measurement")
    >>> validate(log)
    Traceback (most recent call last):
        ...
    linkcast.InputError: ...
    >>> folder.cleanup()
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    if threads < 0:
        raise _core.InputError(f"threads is {threads}: write how many, or 0 for all cores")
    found = _core.validate(
        [os.fspath(p) for p in paths],
        fidelity=fidelity,
        floor=floor,
        threads=threads,
        op=op,
        system=system,
        ranks=ranks,
        profile=None if profile is None else os.fspath(profile),
    )
    ids = [s["id"] for s in found["series"] for _ in s["rows"]["size_bytes"]]
    points = {"id": np.asarray(ids, dtype=np.str_)}
    for name, kind in _POINTS.items():
        points[name] = np.asarray([v for s in found["series"] for v in s["rows"][name]], dtype=kind)
    return Validation(
        series=_columns(found["series"], _SERIES),
        points=points,
        overall=found["overall"],
        below_1M=found["below_1M"],
        from_1M_to_64M=found["from_1M_to_64M"],
        from_64M=found["from_64M"],
        families=found["families"],
    )

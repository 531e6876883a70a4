"""Numbers of parts from measurements. Knows no file format: the readers are below."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterable, Optional, Sequence, Union

from . import _core
from ._answer import Answer
from ._diagnose import paths_of
from ._words import path_of

if TYPE_CHECKING:
    import pandas

Path = Union[str, "os.PathLike[str]"]


class Fit(Answer):
    """What :func:`fit` found. Errors are ratios: 0.08 is 8 %.

    Attributes
    ----------
    numbers : list of dict
        For each number of a part its ``path``, ``prior``, ``value``, interval and ``unit`` (base units: seconds, bytes a
        second), and how much the data told.
    points : list of dict
        Each point as measured and as predicted: ``id``, ``size_bytes``, ``measured_us``, ``predicted_us``, ``held_back``,
        ``outlier``.
    before, fitted, held_back : dict
        ``points``, ``median_abs_rel_error``, ``p90_abs_rel_error``, ``bias``: of all points with the numbers before, of the
        points that the fit saw, and of those that it never saw.
    notes : list of str
        What was left out, or cannot be told.
    profile_text : str
        The fitted numbers as a file of schema linkcast.profile/1; `save` writes it.
    """

    def __init__(self, json: str, text: str, profile_text: str) -> None:
        super().__init__(json, text)
        self.profile_text = profile_text
        self.numbers: list[dict[str, Any]] = self.json["numbers"]
        self.points: list[dict[str, Any]] = self.json["points"]
        self.notes: list[str] = self.json["notes"]
        errors = self.json["errors"]
        self.before: dict[str, Any] = errors["before"]
        self.fitted: dict[str, Any] = errors["fitted"]
        self.held_back: dict[str, Any] = errors["held_back"]

    _rows_key = "numbers"

    def _headline(self) -> str:
        seen = 100 * self.fitted["median_abs_rel_error"]
        unseen = f", held back {100 * self.held_back['median_abs_rel_error']:.1f} %" if self.held_back["points"] else ""
        return f"median error before {100 * self.before['median_abs_rel_error']:.1f} %, fitted {seen:.1f} %{unseen}"

    def save(self, path: Path) -> str:
        """Write the profile, for `profile=` and ``--profile``. Returns the path."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.profile_text)
        return os.fspath(path)

    def points_to_pandas(self) -> pandas.DataFrame:
        """The table of the points; raises as `to_pandas`."""
        import pandas

        return pandas.DataFrame(self.points)


def fit(
    files: Union[Path, Iterable[Path]],
    *,
    op: Optional[str] = None,
    system: Optional[str] = None,
    ranks: Optional[int] = None,
    profile: Optional[Path] = None,
    only: Sequence[str] = (),
    shared: bool = False,
    hold_back: float = 0.2,
    seed: int = 1,
    name: str = "fitted",
) -> Fit:
    """Fit the numbers of a machine's parts to measurements of it.

    Parameters
    ----------
    files : path or list of paths
        Files or folders: nccl-tests, perftest, nvbandwidth, p2pBandwidthLatencyTest, ``calibrate measure``.
    op, system, ranks : optional
        The operation, machine of the catalog and number of GPUs of logs that do not say them.
    profile : path, optional
        Start from these numbers instead of the catalog's.
    only : sequence of str
        Fit only numbers whose path begins so: ``["gpus.h100-sxm"]``.
    shared : bool
        Change numbers for all machines of a kind, where the catalog says them.
    hold_back : float
        Share of the points that the fit never sees, 0 to 0.9; the error on them is the honest one.
    seed : int
        Of what is held back.
    name : str
        Of the profile.

    Returns
    -------
    Fit

    Raises
    ------
    InputError
        Too few data (says what to measure), or a file that cannot be used.
    KeyboardInterrupt
        Ctrl-C, seen once in every iteration.

    Examples
    --------
    A log, made here from the model's own times, a tenth longer; usually it is nccl-tests' output.

    >>> import pathlib, tempfile
    >>> import linkcast
    >>> folder = tempfile.TemporaryDirectory()
    >>> log = pathlib.Path(folder.name) / "all_reduce.yaml"
    >>> sizes = linkcast.collective(linkcast.Fabric.load("dgx-h100"), "all_reduce", "16M:8G:x2", launch="single-process")
    >>> rows = "".join(f"  - [{s}, {t * 1.1}]{chr(10)}" for s, t in zip(sizes.size_bytes, sizes.time_us))
    >>> _ = log.write_text(
    ...     "kind: collective" + chr(10) + "id: mine" + chr(10) + "system: dgx-h100" + chr(10)
    ...     + "collective: all_reduce" + chr(10) + "ranks: 8" + chr(10) + "columns: [size_bytes, time_us]" + chr(10)
    ...     + "rows:" + chr(10) + rows)
    >>> fitted = linkcast.fit(log, hold_back=0.25)
    >>> fitted.fitted["median_abs_rel_error"] < fitted.before["median_abs_rel_error"]
    True
    >>> ours = fitted.save(pathlib.Path(folder.name) / "ours.yaml")
    >>> folder.cleanup()
    """
    found = _core.fit(
        paths_of(files),
        op=op,
        system=system,
        ranks=ranks,
        start=path_of(profile),
        only=list(only),
        shared=shared,
        hold_back=hold_back,
        seed=seed,
        name=name,
    )
    return Fit(*found)

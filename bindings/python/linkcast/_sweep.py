"""The variants of a scenario, on any executor, kept in the command's own file. Knows no process and no cluster: only
what `concurrent.futures` promises."""

from __future__ import annotations

import json
import os
import uuid
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional, Sequence, Union

from . import _core, _worker
from ._answer import html_table
from ._progress import bar
from ._report import Reported
from ._scenario import Scenario, Settings, Source, source_of

if TYPE_CHECKING:
    import pandas

Path = Union[str, "os.PathLike[str]"]
Fields = Sequence[str]

_most_in_chunk = 64
_chunks_each = 8


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _number(text: str) -> Union[int, float, None]:
    if not text:
        return None
    return int(text) if text.lstrip("-").isdigit() else float(text)


class Sweep(Reported):
    """What :func:`sweep` found: rows in the order of the grid.

    Iterating gives one mapping for each row, with the columns of the command's file; numbers are numbers, and what is not
    known is None.

    Attributes
    ----------
    title : str
        Of the scenario.
    variants, computed, resumed : int
        How many there are, how many were computed by this call, and how many were in the file already.
    goals : list of str
        As the scenario has them.
    columns : list of str
        ``key``, ``name``, one for each key that varies, then facts (docs/sweep.md says each with its unit).
    """

    def __init__(self, source: Source, study: _core.Study, rows: list[Fields], variants: int, resumed: int) -> None:
        self._source = source
        self._rows = rows
        self._kinds: list[tuple[str, bool]] = study.columns
        self._axes = [name for name, _ in self._kinds[2 : 2 + len(study.axes)]]
        self._study: Optional[_core.Study] = study
        self._json: Optional[dict[str, Any]] = None
        self._made_by("sweep", source.where)
        self.title: str = study.title
        self.goals: list[str] = study.goals
        self.variants = variants
        self.resumed = resumed
        self.computed = len(rows) - resumed

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_study": None}

    @property
    def columns(self) -> list[str]:
        return [name for name, _ in self._kinds]

    @property
    def complete(self) -> bool:
        return len(self._rows) == self.variants

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (typed(self._kinds, row) for row in self._rows)

    def __repr__(self) -> str:
        return f"<linkcast.Sweep: {self.title}, {len(self)} of {self.variants} variants>"

    def __str__(self) -> str:
        return self._opened().text(self._rows, 40)

    def _opened(self) -> _core.Study:
        if self._study is None:
            self._study = self._source.open()
        return self._study

    @property
    def json(self) -> dict[str, Any]:  # type: ignore[override]
        """The rows as ``linkcast sweep --json`` prints them (``linkcast.sweep/1``): goals with margin and confidence, the
        difference to the baseline with its reason, the parts of the time, the expected error."""
        if self._json is None:
            self._json = json.loads(self._opened().json(self._rows, self._call, self.complete))
        return self._json

    def to_pandas(self) -> pandas.DataFrame:
        """The file's columns with numbers as numbers (NaN: not known), and what the command's table has besides:
        ``vs_baseline_percent``, ``reason`` (what of the time changed most), and ``meets_all`` where there are goals.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        import pandas

        frame = pandas.DataFrame([list(row) for row in self._rows], columns=self.columns)
        for name, number in self._kinds:
            if number:
                frame[name] = pandas.to_numeric(frame[name])
        for name in self._axes:
            try:
                frame[name] = pandas.to_numeric(frame[name])
            except (ValueError, TypeError):
                pass  # "1 GiB", "400G"
        for name in ("vs_baseline_percent", "reason", "meets_all"):
            values = [row.get(name) for row in self.json["rows"]]
            if any(v is not None for v in values):
                frame[name] = values
        return frame

    def _repr_html_(self) -> str:
        facts = ("time_us", "busbw_GBps", "mfu_percent", "capex_usd", "power_w", "bound_by", "status")
        shown = [f for f in facts if any(row.get(f) not in (None, "", "done") for row in self)]
        columns = ["name", *shown] + (["meets all goals"] if self.goals else [])
        rows = [
            [row["name"], *(row[f] for f in shown)] + ([known["meets_all"]] if self.goals else [])
            for row, known in zip(self, self.json["rows"])
        ]
        return html_table(f"{self.title}: {len(self)} of {self.variants} variants", columns, rows)


def typed(kinds: Sequence[tuple[str, bool]], row: Fields) -> dict[str, Any]:
    return {name: _number(field) if number else field for (name, number), field in zip(kinds, row)}


def _csv_of(out: Path) -> tuple[str, Optional[str]]:
    """The file of rows, and that of the table, for a name that a user gave."""
    path = os.fspath(out)
    stem, ending = os.path.splitext(path)
    if ending.lower() != ".parquet":
        return path, None
    try:
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"'{path}' needs {error.name}: pip install 'linkcast[parquet]', or let `out` end in .csv"
        ) from None
    return f"{stem}.csv", path


class _Job:
    """One sweep from its input to its last row."""

    def __init__(
        self,
        scenario: Scenario,
        grid: Optional[Mapping[str, Any]],
        executor: Optional[Executor],
        out: Optional[Path],
        settings: Settings,
        profile: Optional[Path],
        limit: Optional[int],
        progress: Optional[bool],
        chunk: Optional[int],
    ) -> None:
        for name, value in (("limit", limit), ("chunk", chunk)):
            if value is not None and value < 1:
                raise _core.InputError(f"{name} is {value}: write how many, from 1")
        self.source = source_of(scenario, settings, grid=grid, profile=profile)
        self.study = self.source.open()
        self.kinds = self.study.columns
        self.executor = executor
        self.progress = progress
        self.chunk = chunk
        self.chosen: list[int] = self.study.chosen(limit or 0, self.workers)
        self.keys: list[str] = self.study.keys(self.chosen)
        self.key_of = dict(zip(self.chosen, self.keys))
        self.rows: dict[int, Fields] = {}
        self.file: Optional[_core.ResultFile] = None
        self.parquet: Optional[str] = None
        if out is not None:
            path, self.parquet = _csv_of(out)
            self.file = _core.ResultFile(path, self.study)
            for variant, key in zip(self.chosen, self.keys):
                known = self.file.find(key)
                if known is not None:
                    self.rows[variant] = known
        self.resumed = len(self.rows)

    @property
    def workers(self) -> int:
        return _cores() if self.executor is None else getattr(self.executor, "_max_workers", None) or _chunks_each

    def _parts(self) -> list[list[int]]:
        todo: list[int] = self.study.by_machine([v for v in self.chosen if v not in self.rows])
        each = self.chunk or min(_most_in_chunk, max(1, len(todo) // (self.workers * _chunks_each)))
        return [todo[i : i + each] for i in range(0, len(todo), each)]

    def _take(self, part: Sequence[int], rows: Sequence[list[str]]) -> list[int]:
        """Into the file, all of a part at once; says which variants it were."""
        for variant, row in zip(part, rows):
            if row[0] != self.key_of[variant]:
                raise RuntimeError(
                    f"a worker computed '{row[0]}' instead of '{self.key_of[variant]}' ({row[1]}): it has "
                    f"another version of linkcast than {_core.__version__}, or other files under the same names"
                )
            row[1] = self.study.name(variant)
            if self.file is not None:
                self.file.append(row)
            self.rows[variant] = row
        return list(part[: len(rows)])

    def results(self) -> Iterator[dict[str, Any]]:
        """Rows as they finish: first those that the file had."""
        pool = self.executor or ThreadPoolExecutor(self.workers, thread_name_prefix="linkcast")
        source = self.source.anywhere(uuid.uuid4().hex)
        waiting: dict[Future[list[list[str]]], list[int]] = {}
        shown = bar(self.progress, len(self.chosen), self.resumed, "sweep", "variants")
        try:
            for variant in [v for v in self.chosen if v in self.rows]:
                yield typed(self.kinds, self.rows[variant])
            for part in self._parts():
                waiting[pool.submit(_worker.rows, source, part)] = part
            for future in as_completed(list(waiting)):
                taken = self._take(waiting.pop(future), future.result())
                shown.update(len(taken))
                for variant in taken:
                    yield typed(self.kinds, self.rows[variant])
            if self.file is not None:
                self.file.arrange(self.keys)
            if self.parquet is not None:
                self._write_parquet()
        finally:
            shown.close()
            for future in waiting:
                future.cancel()
            _worker.stop(source)
            if self.executor is None:
                pool.shutdown()
            self._keep(waiting)
            if self.file is not None:
                self.file.close()

    def _keep(self, waiting: Mapping[Future[list[list[str]]], list[int]]) -> None:
        """After an interruption: what was finished and not yet taken."""
        for future, part in waiting.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                try:
                    self._take(part, future.result())
                except (_core.InputError, RuntimeError):
                    return  # the disk is full, or the worker another one: said already

    def finished(self) -> Sweep:
        rows = [self.rows[v] for v in self.chosen if v in self.rows]
        return Sweep(self.source, self.study, rows, len(self.chosen), self.resumed)

    def _write_parquet(self) -> None:
        assert self.parquet is not None
        fresh = f"{self.parquet}.new"
        self.finished().to_pandas().to_parquet(fresh, index=False)
        os.replace(fresh, self.parquet)


def sweep_iter(
    scenario: Scenario,
    grid: Optional[Mapping[str, Any]] = None,
    *,
    executor: Optional[Executor] = None,
    out: Optional[Path] = None,
    settings: Settings = None,
    profile: Optional[Path] = None,
    limit: Optional[int] = None,
    progress: Optional[bool] = None,
    chunk: Optional[int] = None,
) -> Iterator[dict[str, Any]]:
    """The rows of :func:`sweep` as they finish, those that `out` has already first.

    Parameters
    ----------
    scenario, grid, executor, out, settings, profile, limit, progress, chunk
        As of :func:`sweep`. What is wrong with them is said by this call, before the first row.

    Yields
    ------
    dict
        One row: the columns of the command's file. Numbers are numbers (``time_us`` in microseconds, ``busbw_GBps`` in
        10**9 bytes a second), what is not known is None.

    Examples
    --------
    >>> import linkcast
    >>> scenario = {"topology": "dgx-h100", "workload": {"collective": {"op": "all_reduce", "size": "1 GiB"}}}
    >>> rows = linkcast.sweep_iter(scenario, {"nccl": ["2.27.7", "2.30.7"]})
    >>> sorted(row["nccl"] for row in rows)
    ['2.27.7', '2.30.7']

    Whoever has seen enough stops; what is finished by then is in `out`.

    >>> for row in linkcast.sweep_iter(scenario, {"workload.collective.size": "1M:1G:x2"}, chunk=1):
    ...     if row["busbw_GBps"] > 0:
    ...         break
    """
    return _Job(scenario, grid, executor, out, settings, profile, limit, progress, chunk).results()


def sweep(
    scenario: Scenario,
    grid: Optional[Mapping[str, Any]] = None,
    *,
    executor: Optional[Executor] = None,
    out: Optional[Path] = None,
    settings: Settings = None,
    profile: Optional[Path] = None,
    limit: Optional[int] = None,
    progress: Optional[bool] = None,
    chunk: Optional[int] = None,
) -> Sweep:
    """Run all variants of a scenario, side by side.

    Parameters
    ----------
    scenario : path, mapping or str
        A scenario (docs/scenario.md): a file, the same as a mapping, or its YAML text (a str with a line end, or that begins
        with a brace). Files that a mapping or a text names are relative to the working folder.
    grid : mapping, optional
        What varies: a key of the scenario, as for ``--set``, to a list of its values, or to a range as text
        ("1K:16G:x2"). It takes the place of the scenario's own ``variants``; its named ``options`` stay.
    executor : concurrent.futures.Executor, optional
        Where variants run: ``ProcessPoolExecutor``, ``ThreadPoolExecutor``, Dask's ``client.get_executor()``,
        ``mpi4py.futures.MPIPoolExecutor``. It is left open. Without it: a thread for each core (the computing is done
        without Python's lock). Workers elsewhere need the same version of linkcast, and the files that the scenario names
        under the same absolute paths; the scenario itself is sent.
    out : path, optional
        A file to which each row is added as soon as it is finished: the one of ``linkcast sweep --out``, which may have begun
        it or may go on with it. What it has is not computed again. With the ending ``.parquet`` the rows are kept in a
        ``.csv`` of the same name, and the finished table (`Sweep.to_pandas`) is written as Parquet.
    settings : mapping, optional
        Values over the scenario's, as ``--set``: ``{"workload.step.plan.tp": 4}``.
    profile : path, optional
        Fitted numbers, as :func:`fit` or ``linkcast calibrate fit`` wrote them.
    limit : int, optional
        At most so many variants, spread evenly over the grid.
    progress : bool, optional
        A bar of tqdm on stderr. By default where tqdm is installed and stderr is a terminal.
    chunk : int, optional
        Variants that a worker gets at once. Neighbours share a machine, which is built once for them.

    Returns
    -------
    Sweep

    Raises
    ------
    InputError
        A scenario, a grid or a file that cannot be used, with every problem and its place; a grid of more than 200,000
        variants without `limit` (how many, and how long they would take); a full disk (what was finished is kept).
    RuntimeError
        A worker has another version of linkcast or other files.
    ImportError
        `out` is Parquet without pandas and pyarrow; `progress` is true without tqdm.
    KeyboardInterrupt
        Ctrl-C; what is finished is in `out`, and the same call goes on from there.

    Examples
    --------
    >>> import linkcast
    >>> scenario = {
    ...     "title": "how many NICs",
    ...     "topology": "dgx-h100",
    ...     "nodes": 2,
    ...     "workload": {"collective": {"op": "all_reduce", "size": "1 GiB"}},
    ...     "goals": ["busbw(all_reduce, 1 GiB) >= 300 GB/s"],
    ... }
    >>> found = linkcast.sweep(scenario, {"env.NCCL_ALGO": ["Ring", "NVLSTree"], "nccl": ["2.27.7", "2.30.7"]})
    >>> found
    <linkcast.Sweep: how many NICs, 4 of 4 variants>
    >>> [row["name"] for row in found]
    ['Ring, 2.27.7', 'Ring, 2.30.7', 'NVLSTree, 2.27.7', 'NVLSTree, 2.30.7']
    >>> bool((found.to_pandas()["time_us"] > 0).all())
    True

    On processes, with a file from which the same call goes on after a stop:

    >>> import pathlib, tempfile
    >>> from concurrent.futures import ThreadPoolExecutor  # or ProcessPoolExecutor
    >>> folder = tempfile.TemporaryDirectory()
    >>> out = pathlib.Path(folder.name) / "rows.csv"
    >>> with ThreadPoolExecutor(2) as pool:
    ...     first = linkcast.sweep(scenario, {"nccl": ["2.27.7"]}, executor=pool, out=out)
    ...     more = linkcast.sweep(scenario, {"nccl": ["2.27.7", "2.30.7"]}, executor=pool, out=out)
    >>> first.computed, more.resumed, more.computed
    (1, 1, 1)
    >>> folder.cleanup()
    """
    job = _Job(scenario, grid, executor, out, settings, profile, limit, progress, chunk)
    for _ in job.results():
        pass
    return job.finished()

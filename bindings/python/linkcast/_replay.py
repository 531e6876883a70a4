"""Traces and training steps on a machine. Knows no format: the readers are below."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Union

from . import _core
from ._cluster import Cluster
from ._fabric import Fabric

if TYPE_CHECKING:
    import pandas

Path = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True, eq=False)
class Replay:
    """What :func:`replay` found. Times are microseconds of simulated time.

    Attributes
    ----------
    end_us : float
        When the last operation ended; of all steps together.
    steps : int
        Steps of training in the recording, as far as it says (1 where it does not).
    world : int
        Ranks there are; those that were not recorded are taken to do as the others.
    mfu, tokens_per_s : float
        Model FLOPs utilisation (a ratio) and tokens a second; 0 where the recording does not say enough.
    critical_path_us : dict of float
        What decided the end: computing, idling, and communication by communicator. Adds up to ``end_us``.
    by_rank : list of dict
        For each recorded rank ``rank``, ``compute_us``, ``communication_us`` (hidden or not), ``exposed_us`` (by communicator),
        ``bubble_us``, ``wait_us``, ``idle_us``.
    totals : list of dict
        For each communicator, operation and size: ``op``, ``communicator``, ``ranks``, ``size_bytes``, ``count``,
        ``time_us``, ``shortest_us``, ``longest_us``, ``recorded_us`` and ``recorded_count`` (what the recording says),
        ``algorithm``, ``protocol``, ``bound_by``.
    skipped : list of dict
        Records that could not be used: ``why``, ``count``, ``first`` (where the first one stands).
    notes : list of str
        What was assumed or extrapolated.
    """

    title: str
    topology: str
    nodes: int
    world: int
    steps: int
    end_us: float
    mfu: float
    tokens_per_s: float
    critical_path_us: dict[str, float]
    by_rank: list[dict[str, Any]]
    totals: list[dict[str, Any]]
    format: str
    records: int
    used: int
    skipped: list[dict[str, Any]]
    notes: list[str]

    def to_pandas(self) -> pandas.DataFrame:
        """The table of communication, a row for each communicator, operation and size (``to_parquet`` writes it).

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        import pandas

        return pandas.DataFrame(self.totals)

    def ranks_to_pandas(self) -> pandas.DataFrame:
        """The table of the ranks; exposed communication has a column ``exposed_us.<communicator>`` each.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        import pandas

        return pandas.json_normalize(self.by_rank)


def replay(
    files: Union[Path, Iterable[Path]],
    cluster: Union[Cluster, Fabric, None] = None,
    *,
    settings: Optional[Mapping[str, Any]] = None,
    format: str = "",
    beside: Iterable[Path] = (),
    world: int = 0,
    nccl: str = "",
    env: Optional[Mapping[str, str]] = None,
    compute_scale: float = 1.0,
    slow_ranks: Optional[Mapping[int, float]] = None,
    jitter: float = 0.0,
    seed: int = 1,
    share: bool = True,
    keep_communication: bool = False,
) -> Replay:
    """Replay a trace on a cluster, or a scenario that names a trace or a training step.

    Parameters
    ----------
    files : path or list of paths
        A trace in any format that ``linkcast trace info`` knows: one file, the files of several ranks, or a folder.
        Without `cluster`: one scenario (docs/replay.md, docs/step.md).
    cluster : Cluster or Fabric, optional
        With as many GPUs as the trace has ranks, or more.
    settings : mapping, optional
        Of a scenario: values over the file's, such as ``{"workload.step.plan.gpus": 8192}``. The options below belong to
        traces; a scenario says them itself.
    format, beside, world : optional
        The trace's format where its content does not tell, other files that belong to it, and ranks there are.
    nccl, env : optional
        NCCL's version ("2.27.3") and variables.
    compute_scale : float
        Recorded computing takes so many times as long.
    slow_ranks : mapping of int to float, optional
        Stragglers: rank to how many times as long its computing takes.
    jitter, seed : optional
        Standard deviation of the logarithm of each compute's duration, and the seed of it.
    share : bool
        Computing and communication take SMs and links from each other.
    keep_communication : bool
        Communication takes as long as recorded, where that is known.

    Returns
    -------
    Replay

    Raises
    ------
    InputError
        A file that cannot be used, with its place; a world larger than the cluster; calls that never meet.

    Examples
    --------
    A trace of eight ranks, written here; usually it is the profiler's file.

    >>> import pathlib, tempfile
    >>> import linkcast
    >>> folder = tempfile.TemporaryDirectory()
    >>> trace = pathlib.Path(folder.name, "trace.jsonl")
    >>> lines = ['{"schema": "linkcast.trace/1", "ranks": 8}', '{"ranks": "0-7", "compute": "100 us"}']
    >>> _ = trace.write_text(chr(10).join([*lines, '{"ranks": "0-7", "all_reduce": "64 MiB"}']))
    >>> step = linkcast.replay(trace, linkcast.Fabric.load("dgx-h100"))
    >>> step.world, step.totals[0]["op"]
    (8, 'all_reduce')
    >>> step.end_us > 100
    True
    >>> folder.cleanup()
    """
    one = isinstance(files, (str, os.PathLike))
    paths = [os.fspath(f) for f in ([files] if one else files)]  # type: ignore[list-item, union-attr]
    if not paths:
        raise ValueError("no file is named")
    core = cluster._core if cluster is not None else None
    if isinstance(cluster, Fabric):
        core = _core.Cluster(cluster._core)
    found = _core.replay(
        paths,
        core,
        set=[f"{key}={value}" for key, value in (settings or {}).items()],
        format=format,
        beside=[os.fspath(b) for b in beside],
        world=world,
        nccl=nccl,
        env=dict(env or {}),
        compute_scale=compute_scale,
        slow_ranks=dict(slow_ranks or {}),
        jitter=jitter,
        seed=seed,
        share=share,
        keep_communication=keep_communication,
    )
    return Replay(**found)

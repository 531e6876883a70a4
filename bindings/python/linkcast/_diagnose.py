"""Whether measurements are normal, and if not, what is broken. Knows no fault."""

from __future__ import annotations

import os
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

from . import _core
from ._answer import Answer
from ._words import environment_of, path_of, words_of

Path = Union[str, "os.PathLike[str]"]


def paths_of(files: Union[Path, Iterable[Path]]) -> list[str]:
    """One path or several as a list of texts."""
    return [os.fspath(f) for f in ([files] if isinstance(files, (str, os.PathLike)) else files)]


class Diagnosis(Answer):
    """What :func:`diagnose` found.

    Attributes
    ----------
    verdict : str
        "healthy", "degraded" or "unknown".
    confidence : float
        That the verdict is right, 0 to 1.
    causes : list of dict
        The most probable first: ``cause``, ``score`` (its probability), ``explains``, ``confirm`` (the command that would
        confirm it), ``alike`` (causes that these measurements cannot tell from it).
    rows : list of dict
        What was measured beside what a healthy machine gives: ``what``, ``size_bytes``, ``measured_us``, ``expected_us``,
        ``low_us``, ``high_us``, and the same in 10**9 bytes a second; None: not known.
    notes : list of str
        What was taken for granted.
    """

    def __init__(self, json: str, text: str) -> None:
        super().__init__(json, text)
        self.verdict: str = self.json["verdict"]
        self.confidence: float = self.json["confidence"]
        self.causes: list[dict[str, Any]] = self.json["causes"]
        self.rows: list[dict[str, Any]] = self.json["rows"]
        self.notes: list[str] = self.json["notes"]

    def _headline(self) -> str:
        return f"{self.json['machine']}: {self.verdict} ({100 * self.confidence:.0f} %)"

    def _short(self) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        return ("cause", "probability", "explains"), [(c["cause"], c["score"], c["explains"]) for c in self.causes[:8]]


def diagnose(
    files: Union[Path, Iterable[Path]] = (),
    *,
    busbw: Optional[Mapping[str, float]] = None,
    algbw: Optional[Mapping[str, float]] = None,
    p2p_GBps: Optional[float] = None,
    p2p_both_GBps: Optional[float] = None,
    expert_GBps: Optional[float] = None,
    topology: Optional[Path] = None,
    params: Optional[Mapping[str, Any]] = None,
    profile: Optional[Path] = None,
    gpu: str = "",
    nodes: int = 0,
    gpus: int = 0,
    nics: int = 0,
    nic_gbps: float = 0,
    network: str = "",
    nccl: str = "",
    env: Optional[Mapping[str, Any]] = None,
    threads: int = 0,
) -> Diagnosis:
    """Are these numbers normal, and if not, what is broken?

    Parameters
    ----------
    files : path or list of paths
        Measurements: nccl-tests, perftest, nvbandwidth, p2pBandwidthLatencyTest, a case file.
    busbw, algbw : mapping of str to float, optional
        Single figures in 10**9 bytes a second, as nccl-tests counts them: ``{"all_reduce@8G": 186}``, or without a size
        ``{"all_reduce": 186}``.
    p2p_GBps, p2p_both_GBps, expert_GBps : float, optional
        A copy between two GPUs in one direction, in both directions together; expert-parallel dispatch over RDMA.
    topology : str or path, optional
        A machine of the catalog or a file; with `params`, values of its parameters.
    profile : path, optional
        Fitted numbers, as :func:`fit` wrote them.
    gpu, nodes, gpus, nics, nic_gbps, network : optional
        The machine where the measurements do not say it: the GPUs as people call them, nodes, GPUs of all nodes
        together, NICs of each node and their Gbit/s, "ib", "roce", "efa", …
    nccl, env : optional
        NCCL's version and variables.
    threads : int
        How many to use; 0 is all cores. The result does not depend on it.

    Returns
    -------
    Diagnosis

    Raises
    ------
    InputError
        Nothing was measured; measurements that contradict each other or the topology; a file that cannot be read.

    Examples
    --------
    >>> import linkcast
    >>> found = linkcast.diagnose(busbw={"all_reduce@8G": 478}, gpu="H100 SXM", nodes=1, gpus=8)
    >>> found.verdict
    'healthy'
    >>> slow = linkcast.diagnose(busbw={"all_reduce@8G": 240}, gpu="H100 SXM", nodes=1, gpus=8)
    >>> slow.verdict
    'degraded'
    >>> slow.causes[0]["score"] > 0
    True
    """
    figures = [("busbw", what, float(v)) for what, v in (busbw or {}).items()]
    figures += [("algbw", what, float(v)) for what, v in (algbw or {}).items()]
    for name, value in (("p2p", p2p_GBps), ("p2p_both", p2p_both_GBps), ("expert", expert_GBps)):
        if value is not None:
            figures.append((name, "", float(value)))
    for name, count in (("nodes", nodes), ("gpus", gpus), ("nics", nics), ("threads", threads)):
        if count < 0:
            raise _core.InputError(f"{name} is {count}: write how many")
    if params and topology is None:
        raise _core.InputError("params belong to a topology: name it")
    found = _core.diagnose(
        paths_of(files),
        figures=figures,
        topology=path_of(topology) or "",
        params=words_of(params),
        profile=path_of(profile),
        gpu=gpu,
        nodes=nodes,
        gpus=gpus,
        nics=nics,
        nic_gbps=nic_gbps,
        network=network,
        nccl=nccl,
        env=environment_of(env),
        threads=threads,
    )
    return Diagnosis(*found)

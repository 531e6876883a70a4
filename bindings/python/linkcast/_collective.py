"""One collective at many sizes: the answer of nccl-tests, with the reasons. Knows no measurement."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Mapping, Optional, Union

import numpy as np

from . import _core
from ._cluster import Cluster
from ._fabric import Fabric
from ._sizes import Sizes, parse_sizes
from ._words import environment_of

if TYPE_CHECKING:
    import pandas

_COLUMNS = ("size_bytes", "time_us", "algbw_GBps", "busbw_GBps", "algorithm", "protocol", "channels", "bound_by")


@dataclass(frozen=True, eq=False)
class CollectiveResult:
    """What :func:`collective` found; every column has shape (n,), one entry for each size.

    Attributes
    ----------
    fabric : str
        Name of the machine.
    op : str
        The operation, in nccl-tests' word.
    ranks : int
        How many GPUs took part.
    size_bytes : numpy.ndarray of int64
        nccl-tests' "size", in bytes.
    time_us : numpy.ndarray of float64
        Time of one call, in microseconds.
    algbw_GBps, busbw_GBps : numpy.ndarray of float64
        ``size / time``, and that times nccl-tests' factor of the operation; 10**9 bytes a second.
    algorithm, protocol : numpy.ndarray of str
        What NCCL would choose ("Ring", "Tree", "NVLS", ...; "LL", "LL128", "Simple").
    channels : numpy.ndarray of int64
        Channels used.
    bound_by : numpy.ndarray of str
        The largest cause in the account.
    account : dict of numpy.ndarray of float64
        Microseconds by cause ("launch", "wire", ...); at each size the causes add up to ``time_us``.
    """

    fabric: str
    op: str
    ranks: int
    size_bytes: np.ndarray
    time_us: np.ndarray
    algbw_GBps: np.ndarray
    busbw_GBps: np.ndarray
    algorithm: np.ndarray
    protocol: np.ndarray
    channels: np.ndarray
    bound_by: np.ndarray
    account: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.size_bytes)

    def to_pandas(self, *, account: bool = False) -> pandas.DataFrame:
        """One row for each size.

        Parameters
        ----------
        account : bool
            Also a column ``<cause>_us`` for each cause of the account.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        import pandas

        columns = {name: getattr(self, name) for name in _COLUMNS}
        if account:
            columns.update({f"{cause}_us": us for cause, us in self.account.items()})
        return pandas.DataFrame(columns)

    def __str__(self) -> str:
        head = f"{self.op} on {self.fabric}, {self.ranks} ranks"
        form = "{:>14} {:>12} {:>8} {:>8}  {:<7} {:<7} {:>3}  {}"
        lines = [head, form.format("size_bytes", "time_us", "algbw", "busbw", "algo", "proto", "ch", "bound by")]
        for i in range(len(self)):
            row = [getattr(self, name)[i] for name in _COLUMNS]
            row[1:4] = [f"{row[1]:.2f}", f"{row[2]:.2f}", f"{row[3]:.2f}"]
            lines.append(form.format(*row))
        return "\n".join(lines)


def collective(
    fabric: Union[Fabric, Cluster, str, os.PathLike[str]],
    op: str,
    sizes: Sizes,
    *,
    nccl: str = "2.30.7",
    env: Optional[Mapping[str, Any]] = None,
    launch: str = "multi-process",
    launch_floor_us: Optional[float] = None,
    fidelity: str = "flow",
    dtype: str = "float",
    in_place: bool = False,
    root: int = 0,
    registered: bool = False,
    symmetric_windows: bool = False,
) -> CollectiveResult:
    """How long a collective takes over all the GPUs of a fabric, and why.

    Other Python threads run meanwhile; Ctrl-C is seen between two sizes.

    Parameters
    ----------
    fabric : Fabric, Cluster, str or path
        The machine or the cluster; a name or a file is loaded, with its network where it has one. Slice a fabric, or
        take a job of a cluster, for fewer GPUs.
    op : str
        "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall", "sendrecv", "gather" or
        "scatter"; NCCL's own spelling ("AllReduce") does too.
    sizes : int, str, or iterable of them
        nccl-tests' sizes in bytes; see :func:`parse_sizes`.
    nccl : str
        NCCL's version, e.g. "2.18" or "2.30.7": it decides algorithms and channels.
    env : mapping, optional
        ``NCCL_*`` variables and their values.
    launch : str
        "multi-process" (one process for each GPU), "single-process", or "graph" (a captured CUDA graph).
    launch_floor_us : float, optional
        The host's smallest time for any call, in microseconds, when it is known.
    fidelity : str
        "flow" or "chunk" (every chunk of every step; slower).
    dtype : str
        Element type in nccl-tests' word.
    in_place : bool
        Send and receive buffers are the same.
    root : int
        The root's rank, for operations that have one.
    registered, symmetric_windows : bool
        Buffers registered with the communicator; in symmetric windows.

    Returns
    -------
    CollectiveResult

    Raises
    ------
    InputError
        An unknown operation, variable or version (with the nearest known name), a size that is not one, a call that
        is impossible on this fabric.
    InternalError
        Linkcast found that its own answer breaks physics: a bug.

    Examples
    --------
    >>> r = collective("dgx-a100", "all_gather", ["1M", "1G"], nccl="2.18", env={"NCCL_ALGO": "Ring"})
    >>> r.algorithm
    array(['Ring', 'Ring'], dtype='<U4')
    >>> r.ranks
    8
    >>> bool(abs(sum(r.account.values()) - r.time_us).max() < 1e-6)
    True
    """
    if not isinstance(fabric, (Fabric, Cluster)):
        fabric = Cluster.load(fabric)
    found = _core.collective(
        fabric._core,
        op,
        parse_sizes(sizes).tolist(),
        nccl=nccl,
        env=environment_of(env),
        launch=launch,
        launch_floor_us=launch_floor_us,
        fidelity=fidelity,
        dtype=dtype,
        in_place=in_place,
        root=root,
        registered=registered,
        symmetric_windows=symmetric_windows,
    )
    return CollectiveResult(
        fabric=fabric.name,
        op=found["op"],
        ranks=len(fabric),
        size_bytes=np.asarray(found["size_bytes"], dtype=np.int64),
        time_us=np.asarray(found["time_us"], dtype=np.float64),
        algbw_GBps=np.asarray(found["algbw_GBps"], dtype=np.float64),
        busbw_GBps=np.asarray(found["busbw_GBps"], dtype=np.float64),
        algorithm=np.asarray(found["algorithm"], dtype=np.str_),
        protocol=np.asarray(found["protocol"], dtype=np.str_),
        channels=np.asarray(found["channels"], dtype=np.int64),
        bound_by=np.asarray(found["bound_by"], dtype=np.str_),
        account={cause: np.asarray(us, dtype=np.float64) for cause, us in found["account"].items()},
    )

"""Machines and the network that joins them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Optional, Union

from . import _core
from ._words import path_of, words_of


class Cluster:
    """Machines that are joined by a network. It never changes.

    Make one with :meth:`load`.

    Examples
    --------
    >>> Cluster.load("superpod-h100", units=2)
    Cluster('superpod-h100', 63 nodes, 504 GPUs)
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.Cluster) -> None:
        self._core = core

    @classmethod
    def load(
        cls,
        name_or_path: Union[str, os.PathLike[str]],
        *,
        nodes: Optional[int] = None,
        network: Optional[str] = None,
        routing: Optional[str] = None,
        profile: Union[str, os.PathLike[str], None] = None,
        **params: Any,
    ) -> Cluster:
        """Loads a cluster.

        Parameters
        ----------
        name_or_path : str or path
            A name of :func:`catalog`, a topology in YAML, or a topology that NCCL wrote in XML.
        nodes : int, optional
            How many machines; as many as the file says where it is left out. Machines without a described network
            are joined by an ideal switch, see :attr:`assumptions`.
        network : str, optional
            "ib", "roce", "efa", "slingshot", "tcp", "tcpx" or "tcpxo" instead of what the file says.
        routing : str, optional
            "adaptive", "spray", "ecmp" or "by_destination" instead of what the file says.
        profile : str or path, optional
            Fitted numbers that ``linkcast calibrate fit`` wrote, over the catalog's.
        **params
            The file's own parameters, with units as in the file (``distance="1 km"``).

        Returns
        -------
        Cluster

        Raises
        ------
        InputError
            With every problem of the file, each at its line and column; more nodes than the network has places for.

        Examples
        --------
        >>> Cluster.load("dgx-h100", nodes=64).ranks
        512
        """
        core = _core.Cluster.load(
            os.fspath(name_or_path), nodes or 0, words_of(params), network, routing, path_of(profile)
        )
        return cls(core)

    @property
    def name(self) -> str:
        """What the cluster is called."""
        return self._core.name

    @property
    def nodes(self) -> int:
        """Number of machines (NVLink domains, where one spans several hosts)."""
        return self._core.nodes

    @property
    def ranks(self) -> int:
        """Number of GPUs: those of node 0, then those of node 1, ..."""
        return self._core.ranks

    @property
    def gpus_per_node(self) -> int:
        """Number of GPUs of each machine."""
        return self._core.gpus_per_node

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was taken for granted, in sentences."""
        return tuple(self._core.assumptions)

    def job(self, nodes: Iterable[int], gpus: Iterable[int] = ()) -> Cluster:
        """A job on some of the machines; the network stays whole.

        Parameters
        ----------
        nodes : iterable of int
            Which machines, in the order of their ranks.
        gpus : iterable of int
            Which GPUs of each; all where it is left out.

        Returns
        -------
        Cluster

        Raises
        ------
        InputError
            A number that does not exist or stands twice.

        Examples
        --------
        >>> Cluster.load("dgx-h100", nodes=8).job(range(0, 8, 2), gpus=[0, 1])
        Cluster('dgx-h100', 4 nodes, 8 GPUs)
        """
        return Cluster(self._core.job([int(n) for n in nodes], [int(g) for g in gpus]))

    def __len__(self) -> int:
        return self.ranks

    def __repr__(self) -> str:
        return f"Cluster({self.name!r}, {self.nodes} nodes, {self.ranks} GPUs)"

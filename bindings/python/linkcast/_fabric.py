"""Machines: loading, slicing, asking. Knows no collective."""

from __future__ import annotations

import os
from typing import Any, Iterable, Union

from . import _core
from ._words import path_of, words_of


class Fabric:
    """A machine (or several) as built: GPUs, switches, links and the routes between them. It never changes.

    Make one with :meth:`load`.

    Examples
    --------
    >>> fabric = Fabric.load("dgx-h100")
    >>> fabric
    Fabric('dgx-h100', 8 GPUs)
    >>> fabric.gpus[:2]
    ('gpu[0]', 'gpu[1]')
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.Fabric) -> None:
        self._core = core

    @classmethod
    def load(
        cls,
        name_or_path: Union[str, os.PathLike[str]],
        *,
        nodes: int = 1,
        profile: Union[str, os.PathLike[str], None] = None,
        **params: Any,
    ) -> Fabric:
        """Loads a machine.

        Parameters
        ----------
        name_or_path : str or path
            A name of :func:`catalog`, a topology in YAML, or a topology that NCCL wrote in XML.
        nodes : int
            How many of these machines.
        profile : str or path, optional
            Fitted numbers that ``linkcast calibrate fit`` wrote, over the catalog's.
        **params
            The file's own parameters, with units as in the file (``rate="400 Gb/s"``).

        Returns
        -------
        Fabric

        Raises
        ------
        InputError
            With every problem of the file, each at its line and column; with the nearest name for an unknown one.

        Examples
        --------
        >>> Fabric.load("dgx-h1000")
        Traceback (most recent call last):
            ...
        linkcast.InputError: ...
        """
        return cls(_core.Fabric.load(os.fspath(name_or_path), nodes, words_of(params), path_of(profile)))

    @property
    def name(self) -> str:
        """What the machine is called."""
        return self._core.name

    @property
    def gpus(self) -> tuple[str, ...]:
        """Names of the GPUs in rank order: rank ``r`` is ``gpus[r]``."""
        return tuple(self._core.gpus)

    @property
    def bisection_GBps(self) -> float:
        """Largest rate between the first and the second half of the GPUs, in 10**9 bytes a second, one direction."""
        return self._core.bisection_GBps

    def slice(self, ranks: Iterable[int]) -> Fabric:
        """The same machine with only these GPUs as ranks, in this order; everything else stays.

        Parameters
        ----------
        ranks : iterable of int
            Positions in :attr:`gpus`.

        Returns
        -------
        Fabric

        Raises
        ------
        InputError
            A rank that does not exist or stands twice.

        Examples
        --------
        >>> Fabric.load("dgx-h100").slice([0, 1, 2, 3])
        Fabric('dgx-h100', 4 GPUs)
        """
        return Fabric(self._core.slice([int(rank) for rank in ranks]))

    def __len__(self) -> int:
        return len(self._core.gpus)

    def __repr__(self) -> str:
        return f"Fabric({self.name!r}, {len(self)} GPUs)"


def catalog() -> tuple[str, ...]:
    """Names of the machines that come with Linkcast, sorted.

    Examples
    --------
    >>> "dgx-h100" in catalog()
    True
    """
    return tuple(_core.catalog_names())

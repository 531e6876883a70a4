"""What a cluster costs and draws. Knows no workload."""

from __future__ import annotations

import os
from typing import Any, Iterable, Optional, Sequence, Union

from . import _core
from ._answer import Answer
from ._cluster import Cluster
from ._fabric import Fabric
from ._words import path_of

Band = dict[str, float]


class Cost(Answer):
    """What :func:`cost` found. Prices differ between sources: a band has ``low``, ``typical`` and ``high``.

    Attributes
    ----------
    lines : list of dict
        The bill of materials: ``kind``, ``part``, ``tier``, ``count``, ``usd`` and ``watts`` of one and of all, ``date`` and
        ``source`` of the price.
    capex_usd, power_w : dict
        Bands: what is bought, and the draw at typical load without cooling.
    network_share : float
        Of the capex, a ratio.
    usd_per_gpu_hour : dict
        Band, with energy, cooling and hosting.
    csv : str
        The bill of materials for spreadsheets.
    """

    _rows_key = "lines"

    def __init__(self, json: str, text: str, csv: str) -> None:
        super().__init__(json, text)
        self.csv = csv
        self.lines: list[dict[str, Any]] = self.json["lines"]
        self.capex_usd: Band = self.json["capex_usd"]
        self.power_w: Band = self.json["power_w"]
        self.network_share: float = self.json["network_share"]
        self.usd_per_gpu_hour: Band = self.json["usd_per_gpu_hour"]

    def _headline(self) -> str:
        return f"{self.json['topology']}: {self.capex_usd['typical'] * 1e-6:.1f} M USD, {self.power_w['typical'] * 1e-3:,.0f} kW"

    def _short(self) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        def typical(line: dict[str, Any], key: str) -> Any:
            return (line[key] or {}).get("typical")

        rows = [
            (x["count"], x["part"], x["tier"], typical(x, "usd"), typical(x, "total_usd"), typical(x, "total_watts"))
            for x in self.lines
        ]
        return ("count", "part", "tier", "USD each", "USD", "W"), rows


def cost(
    cluster: Union[Cluster, Fabric],
    *,
    prices: Union[str, os.PathLike[str], None] = None,
    tokens_per_second: float = 0,
) -> Cost:
    """Count a cluster's parts, and what they cost and draw.

    Parameters
    ----------
    cluster : Cluster or Fabric
        A job's share of one (`Cluster.job`) pays its machines whole, and of the network the share of its ports.
    prices : path, optional
        Prices and watts (docs/cost.md), laid over those that are shipped.
    tokens_per_second : float
        What all of its GPUs train or serve together; 0: not known.

    Returns
    -------
    Cost

    Raises
    ------
    InputError
        A file of prices that cannot be used.

    Examples
    --------
    >>> import linkcast
    >>> found = linkcast.cost(linkcast.Cluster.load("superpod-h100"))
    >>> 0.02 < found.network_share < 0.3
    True
    >>> found.capex_usd["low"] < found.capex_usd["typical"] < found.capex_usd["high"]
    True
    >>> sorted({line["kind"] for line in found.lines})[:2]
    ['cable', 'nic']
    """
    core: Optional[_core.Cluster] = cluster._core if isinstance(cluster, Cluster) else _core.Cluster(cluster._core)
    return Cost(*_core.cost(core, path_of(prices), float(tokens_per_second)))

"""How long will a GPU collective take on that machine, and why?

Linkcast replays collectives in a discrete-event model of NVLink, NVSwitch, PCIe and the networks between machines, after making the choices
that NCCL would make there.

Examples
--------
>>> import linkcast
>>> fabric = linkcast.Fabric.load("dgx-h100")
>>> result = linkcast.collective(fabric, "all_reduce", "1M:64M:x8")
>>> result.size_bytes
array([ 1048576,  8388608, 67108864])
>>> bool((result.time_us > 0).all())
True

Decisions are :func:`sweep` (all variants of a scenario), :func:`plan`, :func:`resilience`, :func:`cost` and :func:`run`; a
cluster's own measurements go to :func:`validate`, :func:`diagnose` and :func:`fit`. docs/python.md walks through them.

Units stand in the names: ``_us`` microseconds, ``_bytes`` bytes, ``_GBps`` 10**9 bytes a second in one direction.
Wrong input raises :class:`InputError`, a ``ValueError`` whose text says where, what, and what to write instead.
"""

from ._cluster import Cluster
from ._collective import CollectiveResult, collective
from ._core import InputError, InternalError, __version__
from ._cost import Cost, cost
from ._diagnose import Diagnosis, diagnose
from ._fabric import Fabric, catalog
from ._fit import Fit, fit
from ._plan import Plan, plan
from ._replay import Replay, replay
from ._resilience import Resilience, resilience
from ._run import Run, run
from ._sizes import parse_sizes
from ._sweep import Sweep, sweep, sweep_iter
from ._validate import Validation, validate

__all__ = [
    "Cluster",
    "CollectiveResult",
    "Cost",
    "Diagnosis",
    "Fabric",
    "Fit",
    "InputError",
    "InternalError",
    "Plan",
    "Replay",
    "Resilience",
    "Run",
    "Sweep",
    "Validation",
    "catalog",
    "collective",
    "cost",
    "diagnose",
    "fit",
    "parse_sizes",
    "plan",
    "replay",
    "resilience",
    "run",
    "sweep",
    "sweep_iter",
    "validate",
    "__version__",
]

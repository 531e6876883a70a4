"""What happens when a part fails. Knows no fault: the room below has them."""

from __future__ import annotations

import os
from typing import Any, Iterable, Optional, Sequence, Union

from . import _core
from ._answer import Answer
from ._progress import following
from ._report import Reported
from ._scenario import Scenario, Settings, source_of


class Resilience(Reported, Answer):
    """What :func:`resilience` found.

    Attributes
    ----------
    elements : list of dict
        For each class of alike parts and each fault, the worst first: ``element`` (that stands for the class), ``kind``,
        ``count``, ``fault``, ``outage`` and its reason, ``time_us``, ``slowdown`` (of the time without faults; None: an
        outage), ``bound_by``, ``jobs``.
    baseline : dict
        Without faults: ``time_us``, ``bound_by``, and what is known of the step.
    pairs : dict or None
        Of pairs that fail together, where asked for: how many were sampled, outages, slowdowns.
    goodput : dict or None
        Share of the time that is not lost to failures (docs/goodput.md), where the scenario has ``reliability``.
    """

    _rows_key = "elements"

    def __init__(self, json: str, text: str) -> None:
        super().__init__(json, text)
        self.elements: list[dict[str, Any]] = self.json["elements"]
        self.baseline: dict[str, Any] = self.json["baseline"]
        self.pairs: Optional[dict[str, Any]] = self.json["pairs"]
        self.goodput: Optional[dict[str, Any]] = self.json["goodput"]

    def _short(self) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        rows = [(e["element"], e["count"], e["fault"], "outage" if e["outage"] else e["slowdown"]) for e in self.elements]
        return ("element", "parts alike", "fault", "slowdown"), rows


def resilience(
    scenario: Scenario,
    *,
    settings: Settings = None,
    profile: Union[str, os.PathLike[str], None] = None,
    kinds: Sequence[str] = (),
    pairs: Optional[int] = None,
    threads: int = 0,
    progress: Optional[bool] = None,
) -> Resilience:
    """Fail and degrade every distinct part of the machine and network that a job uses, one at a time.

    Parameters
    ----------
    scenario : path, mapping or str
        In the forms of :func:`sweep`; docs/resilience.md has its keys.
    settings : mapping, optional
        Values over the scenario's.
    profile : path, optional
        Fitted numbers, as :func:`fit` wrote them.
    kinds : sequence of str
        Only these parts: ``["gpu", "nic", "leaf"]``. By default all.
    pairs : int, optional
        So many random pairs of parts that fail together; by default as the scenario says.
    threads : int
        How many to use; 0 is all cores. The answer does not depend on it.
    progress : bool, optional
        As of :func:`sweep`.

    Returns
    -------
    Resilience

    Raises
    ------
    InputError
        A scenario that cannot be used, or one that cannot run even without faults. What disconnects the job is an outage,
        and no error.
    KeyboardInterrupt
        Ctrl-C.

    Examples
    --------
    >>> import linkcast
    >>> scenario = {
    ...     "title": "two nodes",
    ...     "topology": "dgx-h100",
    ...     "nodes": 2,
    ...     "workload": {"collective": {"op": "all_reduce", "size": "1 GiB"}},
    ... }
    >>> found = linkcast.resilience(scenario, kinds=["nic"])
    >>> worst = found.elements[0]
    >>> worst["kind"], worst["count"]
    ('nic', 16)
    >>> worst["outage"] or worst["slowdown"] > 1
    True
    """
    for name, count in (("threads", threads), ("pairs", pairs or 0)):
        if count < 0:
            raise _core.InputError(f"{name} is {count}: write how many")
    source = source_of(scenario, settings, profile=profile)
    with following(progress, "resilience", "faults") as follow:
        found = _core.resilience(
            source.text, source.where, list(source.settings), source.profile, list(kinds), pairs, threads, follow
        )
    answer = Resilience(*found)
    answer._made_by("resilience", source.where)
    return answer

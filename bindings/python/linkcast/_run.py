"""One scenario, run as it stands. Knows no variants."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Iterable, Optional, Sequence, Union

from . import _core
from ._answer import Answer
from ._report import Reported
from ._scenario import Scenario, Settings, source_of

if TYPE_CHECKING:
    import pandas


class Run(Reported, Answer):
    """What :func:`run` found: one row of a sweep.

    Attributes
    ----------
    title : str
    time_us : float or None
        Microseconds of the collective, the step or the trace. None: an outage.
    parts_us : dict of float
        What the time is made of; adds up to it.
    bound_by : str
        The link or phase that held it back most.
    outage : bool
        The job cannot run at all; ``facts["error"]`` says why.
    goals : list of dict
        For each goal of the scenario ``goal``, ``known``, ``met``, ``text``, and where known ``value`` (base units),
        ``margin_percent`` (negative: missed by) and ``confidence`` (that it is met, a ratio).
    meets_all : bool or None
        None: the scenario has no goals.
    facts : dict
        Everything else that the row has, by the names of docs/sweep.md: ``busbw_GBps``, ``mfu_percent``,
        ``tokens_per_second``, ``nodes``, ``gpus``, ``expected_error``, costs and power.
    """

    def __init__(self, json: str, text: str) -> None:
        super().__init__(json, text)
        self.facts: dict[str, Any] = self.json["rows"][0]
        self.title: str = self.json["title"]
        self.time_us: Optional[float] = self.facts.get("time_us")
        self.parts_us: dict[str, float] = self.facts.get("parts_us", {})
        self.bound_by: str = self.facts.get("bound_by", "")
        self.outage: bool = self.facts["status"] == "outage"
        self.goals: list[dict[str, Any]] = self.facts["goals"]
        self.meets_all: Optional[bool] = self.facts.get("meets_all")

    def _headline(self) -> str:
        return f"{self.title}: " + ("outage" if self.time_us is None else f"{self.time_us:,.1f} us")

    def _short(self) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        rows = [(name, us, f"{100 * us / (self.time_us or 1):.1f} %") for name, us in self.parts_us.items()]
        return ("part", "us", "share"), rows + [(g["goal"], "", g["text"]) for g in self.goals]

    def to_pandas(self) -> pandas.DataFrame:
        """One row, with the columns of :meth:`Sweep.to_pandas`; mappings become columns (``parts_us.launch``).

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        return super().to_pandas()


def run(
    scenario: Scenario, *, settings: Settings = None, profile: Union[str, os.PathLike[str], None] = None
) -> Run:
    """Run one scenario, without its variants: a collective, a training step, a trace, or programs.

    Parameters
    ----------
    scenario : path, mapping or str
        As of :func:`sweep`.
    settings : mapping, optional
        Values over the scenario's: ``{"nodes": 16}``.
    profile : path, optional
        Fitted numbers, as :func:`fit` wrote them.

    Returns
    -------
    Run
        For what each rank and each communicator of a step or a trace did, take :func:`replay`.

    Raises
    ------
    InputError
        With everything that is wrong with the scenario, each with its place.

    Examples
    --------
    >>> import linkcast
    >>> scenario = {
    ...     "topology": "dgx-h100",
    ...     "nodes": 4,
    ...     "workload": {"collective": {"op": "all_gather", "size": "1 GiB"}},
    ...     "goals": ["step_time <= 10 ms"],
    ... }
    >>> answer = linkcast.run(scenario)
    >>> answer.meets_all, answer.goals[0]["met"]
    (True, True)
    >>> round(sum(answer.parts_us.values()) / answer.time_us, 6)
    1.0
    >>> linkcast.run(scenario, settings={"nodes": 16}).facts["gpus"]
    128
    """
    source = source_of(scenario, settings, profile=profile, alone=True)
    study = source.open()
    rows = study.rows([0])
    found = study.json(rows, "linkcast.run", True)
    facts = json.loads(found)["rows"][0]
    if facts["status"] == "error":
        raise _core.InputError(facts["error"])
    answer = Run(found, study.text(rows, 1))
    answer._made_by("run", source.where)
    return answer

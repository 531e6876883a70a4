"""Which machines, how many, and which layout of a training step. Knows no search: the room below has it."""

from __future__ import annotations

import os
from typing import Any, Iterable, Optional, Sequence, Union

from . import _core
from ._answer import Answer
from ._progress import following
from ._report import Reported
from ._scenario import Scenario, Settings, source_of


class Plan(Reported, Answer):
    """What :func:`plan` found.

    Attributes
    ----------
    met : bool
        Some option meets all goals.
    verdict : str
        One or two sentences.
    options : list of dict
        The best layouts of each machine and size, the fastest first: ``name``, ``machine``, ``gpus``, ``layout``,
        ``step_time_us``, ``mfu`` (a ratio), ``tokens_per_second``, ``capex_usd`` and ``power_w`` (low, typical, high),
        ``pareto``, ``goals`` (each with ``margin_percent`` and ``confidence``), ``meets_all``, ``confidence``.
    best, fastest : dict or None
        Of the options that meet all goals the cheapest, and the fastest (of all where none meets them).
    pareto : list of dict
        Options that no other one beats in step time, capex and power at once.
    """

    _rows_key = "options"

    def __init__(self, json: str, text: str) -> None:
        super().__init__(json, text)
        said = self.json["verdict"]
        self.met: bool = said["met"]
        self.verdict: str = said["text"]
        self.options: list[dict[str, Any]] = self.json["options"]
        by_name = {o["name"]: o for o in self.options}
        self.best: Optional[dict[str, Any]] = by_name.get(said["best"])
        self.fastest: Optional[dict[str, Any]] = by_name.get(said["fastest"])
        self.pareto: list[dict[str, Any]] = [o for o in self.options if o["pareto"]]

    def _headline(self) -> str:
        return self.verdict

    def _short(self) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        def typical(option: dict[str, Any], key: str) -> Any:
            return (option[key] or {}).get("typical")

        rows = [
            (o["name"], o["step_time_us"] * 1e-6, 100 * o["mfu"], typical(o, "capex_usd"), typical(o, "power_w"), o["meets_all"])
            for o in self.pareto
        ]
        return ("Pareto front", "step time (s)", "MFU (%)", "capex (USD)", "power (W)", "meets all goals"), rows


def plan(
    scenario: Scenario,
    *,
    settings: Settings = None,
    profile: Union[str, os.PathLike[str], None] = None,
    threads: int = 0,
    progress: Optional[bool] = None,
) -> Plan:
    """Search machines, sizes and layouts of a training step for what meets the goals.

    Parameters
    ----------
    scenario : path, mapping or str
        With ``search`` and ``goals`` (docs/plan.md); in the forms of :func:`sweep`.
    settings : mapping, optional
        Values over the scenario's: ``{"search.gpus": [512]}``.
    profile : path, optional
        Fitted numbers, as :func:`fit` wrote them.
    threads : int
        How many to use; 0 is all cores. The answer does not depend on it.
    progress : bool, optional
        As of :func:`sweep`.

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        With everything that is wrong: goals, machines, sizes, keys of layouts, the scenario itself.
    KeyboardInterrupt
        Ctrl-C.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import linkcast
    >>> folder = tempfile.TemporaryDirectory()
    >>> card = pathlib.Path(folder.name) / "model.yaml"  # or a config.json of Hugging Face
    >>> _ = card.write_text(
    ...     "{name: one, layers: 16, hidden: 2048, heads: 32, kv_heads: 8, head_dim: 64, ffn: 8192, gated_mlp: true, vocab: 128256}")
    >>> question = {
    ...     "title": "one model on eight GPUs",
    ...     "topology": "dgx-h100",
    ...     "workload": {"step": {"model": card, "plan": {"global_batch": 32, "sequence": 4096}}},
    ...     "goals": ["step_time <= 3 s"],
    ...     "search": {"gpus": [8], "layout": {"tp": [1, 2]}},
    ... }
    >>> answer = linkcast.plan(question)
    >>> answer.met, answer.best["gpus"]
    (True, 8)
    >>> answer.to_pandas()["meets_all"].any()
    True
    >>> folder.cleanup()
    """
    if threads < 0:
        raise _core.InputError(f"threads is {threads}: write how many, or 0 for all cores")
    source = source_of(scenario, settings, profile=profile)
    with following(progress, "plan", "cells") as follow:
        found = _core.plan(source.text, source.where, list(source.settings), source.profile, threads, follow)
    answer = Plan(*found)
    answer._made_by("plan", source.where)
    return answer

"""Scenarios from everything that people have: a file, a mapping, a text. Knows no key of a scenario."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from typing import Any, Mapping, Optional, Union

from . import _core
from ._words import text_of

Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Settings = Optional[Mapping[str, Any]]


def plain(value: Any) -> Any:
    """What JSON has no word for, in words that it has: arrays, ranges, NumPy's numbers, paths."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy and pandas
        return value.tolist()
    if isinstance(value, (range, tuple, set, frozenset)) or hasattr(value, "__iter__"):
        return list(value)
    raise TypeError(f"{value!r} has no form in a scenario: write a text, a number, a list or a mapping")


def written(value: Any) -> str:
    """A value as `--set` reads it."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (str, bool, int, float)):
        return text_of(value)
    return json.dumps(value, default=plain)


def grid_text(grid: Mapping[str, Any]) -> str:
    """A grid as YAML. Ranges ("8:64:x2") stand as they are: in quotes they would be words."""
    entries = []
    for key, values in grid.items():
        plain_range = isinstance(values, str) and re.fullmatch(r"[\w.:+-]+", values)
        entries.append(f"{json.dumps(str(key))}: {values if plain_range else json.dumps(values, default=plain)}")
    return "{" + ",\n ".join(entries) + "}"


def settings_of(settings: Settings) -> list[str]:
    return [f"{key}={written(value)}" for key, value in (settings or {}).items()]


@dataclass(frozen=True)
class Source:
    """A scenario as it travels to whoever runs it: small, hashable, picklable.

    Attributes
    ----------
    text : str
        YAML.
    where : str
        What messages call it; files that it names are relative to its folder.
    settings : tuple of str
        "key=value" over the text's.
    grid : str, optional
        YAML in the place of its variants.
    profile : str, optional
        The text of a profile.
    alone : bool
        Without its variants.
    job : str
        Tells users of one scenario apart.
    """

    text: str
    where: str
    settings: tuple[str, ...] = ()
    grid: Optional[str] = None
    profile: Optional[str] = None
    alone: bool = False
    job: str = ""

    def anywhere(self, job: str) -> Source:
        """The same for a process with another working folder."""
        return replace(self, where=os.path.abspath(self.where), job=job)

    def open(self) -> _core.Study:
        return _core.Study(self.text, self.where, list(self.settings), self.grid, self.profile, self.alone)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise _core.InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def is_text(scenario: str) -> bool:
    """Whether a string is a scenario itself and no path: a path has no line end and does not begin with a brace."""
    return "\n" in scenario or scenario.lstrip().startswith("{")


def source_of(
    scenario: Scenario,
    settings: Settings = None,
    *,
    grid: Optional[Mapping[str, Any]] = None,
    profile: Union[str, os.PathLike[str], None] = None,
    alone: bool = False,
) -> Source:
    """The source that a scenario in any form stands for.

    Examples
    --------
    >>> source_of({"topology": "dgx-h100", "nodes": 2}, {"nodes": 4}).settings
    ('nodes=4',)
    """
    if isinstance(scenario, Mapping):
        text, where = json.dumps(scenario, default=plain, indent=1), os.path.abspath("scenario")
    elif isinstance(scenario, str) and is_text(scenario):
        text, where = scenario, os.path.abspath("scenario")
    elif isinstance(scenario, (str, os.PathLike)):
        where = os.fspath(scenario)
        text = _read(where)
    else:
        raise TypeError(f"a scenario is a path, a mapping or a YAML text, not {type(scenario).__name__}")
    return Source(
        text,
        where,
        tuple(settings_of(settings)),
        None if grid is None else grid_text(grid),
        None if profile is None else _read(os.fspath(profile)),
        alone,
    )

"""Answers as one HTML file for the people who decide. Knows no answer: the room below reads its JSON."""

from __future__ import annotations

import json as json_
import os
from typing import Any, Union

from . import _core


class Reported:
    """An answer that can be a page: what has a scenario. Classes with it have ``json``."""

    json: Any
    _call: str = ""
    _file: str = ""

    def report(self, path: Union[str, os.PathLike[str]]) -> str:
        """Write the answer as one HTML file that needs no network (docs/report.md): the verdict first, goals, charts,
        assumptions. Returns the path.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        files = [self._file] if os.path.isfile(self._file) else []
        page = _core.report_html(json_.dumps(self.json), self._call, files)
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)
        return os.fspath(path)

    def _made_by(self, function: str, where: str) -> None:
        self._file = where
        self._call = f"linkcast.{function}({where!r})" if os.path.isfile(where) else f"linkcast.{function}(scenario)"

"""What all answers have in common: the command's JSON and text, a table, and a short form for notebooks. Knows no
study."""

from __future__ import annotations

import html
import json as json_
from typing import TYPE_CHECKING, Any, Iterable, Sequence

if TYPE_CHECKING:
    import pandas

_most_rows = 20


def _cell(value: Any) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    return str(value)


def html_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A short table; what is beyond twenty rows is counted."""
    rows = list(rows)
    head = "".join(f"<th>{html.escape(c)}</th>" for c in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(v))}</td>" for v in row) + "</tr>" for row in rows[:_most_rows]
    )
    more = f"<p>and {len(rows) - _most_rows:,} more</p>" if len(rows) > _most_rows else ""
    return f"<p><b>{html.escape(title)}</b></p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def flat(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mappings inside of rows as columns of their own: ``capex_usd.typical``. Lists of mappings are left out."""
    out = []
    for row in rows:
        entry: dict[str, Any] = {}
        for key, value in row.items():
            if isinstance(value, dict):
                entry.update({f"{key}.{k}": v for k, v in value.items() if not isinstance(v, (dict, list))})
            elif not (isinstance(value, list) and value and isinstance(value[0], dict)):
                entry[key] = value
        out.append(entry)
    return out


class Answer:
    """An answer of a command, read from its JSON.

    Attributes
    ----------
    json : dict
        As the command prints it with ``--json``; its schema is in docs/formats.md.
    text : str
        As the command prints it for people; ``print(answer)`` shows it.
    """

    _rows_key = "rows"

    def __init__(self, json: str, text: str) -> None:
        self.json: dict[str, Any] = json_.loads(json)
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<linkcast.{type(self).__name__}: {self._headline()}>"

    def _headline(self) -> str:
        return str(self.json.get("title") or self.json.get("schema"))

    def _short(self) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        """Columns and rows for a notebook."""
        rows = flat(self.json[self._rows_key])
        columns = list(dict.fromkeys(c for row in rows for c in row))[:10]
        return columns, [[row.get(c) for c in columns] for row in rows]

    def _repr_html_(self) -> str:
        return html_table(self._headline(), *self._short())

    def to_pandas(self) -> pandas.DataFrame:
        """The answer's table, one row for each line; mappings become columns (``capex_usd.typical``).

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        import pandas

        return pandas.DataFrame(flat(self.json[self._rows_key]))

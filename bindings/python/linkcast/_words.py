"""Values as they are written in files and environment variables. Knows no simulation."""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Union


def text_of(value: Any) -> str:
    """The word for a value: ``True`` is ``"true"`` as in YAML, everything else as it prints."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def words_of(values: Mapping[str, Any] | None) -> dict[str, str]:
    """A mapping with its values as words."""
    return {str(name): text_of(value) for name, value in (values or {}).items()}


def environment_of(values: Mapping[str, Any] | None) -> dict[str, str]:
    """As `words_of`, with ``True`` and ``False`` as NCCL reads them: 1 and 0."""
    return {str(name): str(int(v)) if isinstance(v, bool) else str(v) for name, v in (values or {}).items()}


def path_of(path: Union[str, os.PathLike[str], None]) -> Optional[str]:
    """A path as text, or nothing."""
    return None if path is None else os.fspath(path)

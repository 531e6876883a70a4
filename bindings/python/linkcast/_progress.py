"""A bar on the terminal, where there is one. Knows nothing of what progresses."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Optional


class _Silent:
    def update(self, n: int = 1) -> None:
        pass

    def close(self) -> None:
        pass


def bar(wanted: Optional[bool], total: int, done: int, what: str, unit: str) -> Any:
    """Of tqdm. ``None``: where tqdm is installed and stderr is a terminal.

    Raises
    ------
    ImportError
        `wanted` is true, and tqdm is not installed.
    """
    if wanted is False or (wanted is None and not (sys.stderr is not None and sys.stderr.isatty())):
        return _Silent()
    try:
        from tqdm import tqdm
    except ImportError:
        if wanted is None:
            return _Silent()
        raise ImportError("a progress bar needs tqdm: pip install 'linkcast[sweep]', or progress=False") from None
    return tqdm(total=total, initial=done, desc=what, unit=f" {unit}", dynamic_ncols=True)


@contextmanager
def following(wanted: Optional[bool], what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """A callable that is told how much of how much is done, and shows it."""
    shown = bar(wanted, 0, 0, what, unit)

    def follow(done: int, total: int) -> None:
        if isinstance(shown, _Silent):
            return
        shown.total = total
        shown.n = done
        shown.refresh()

    try:
        yield follow
    finally:
        shown.close()

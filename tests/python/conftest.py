"""Fixtures of the Python tests. The package under test is whichever `import linkcast` finds."""

import os
import pathlib
import shutil

import pytest

import linkcast


@pytest.fixture(scope="session")
def h100():
    return linkcast.Fabric.load("dgx-h100")


@pytest.fixture(scope="session")
def command():
    """The command `linkcast` that belongs to the package: of LINKCAST_COMMAND, the build folder, or PATH."""
    built = pathlib.Path(__file__).resolve().parents[2] / "build/release/bin/linkcast"
    found = os.environ.get("LINKCAST_COMMAND") or (built if os.access(built, os.X_OK) else shutil.which("linkcast"))
    if not found:
        pytest.skip("no command `linkcast` was built")
    return str(found)

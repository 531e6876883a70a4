"""Fixtures of the Python tests. The package under test is whichever `import linkcast` finds."""

import pytest

import linkcast


@pytest.fixture(scope="session")
def h100():
    return linkcast.Fabric.load("dgx-h100")

"""The notebook runs from its first cell to its last, and what it shows is what is committed."""

import pathlib

import pytest

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "docs/notebooks/capacity-planning.ipynb"


@pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client", "ignore::DeprecationWarning:zmq",
                            "ignore::DeprecationWarning:nbclient", "ignore::DeprecationWarning:jupyter_core")
def test_the_notebook_runs(tmp_path, monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    for module in ("ipykernel", "matplotlib", "pandas"):
        pytest.importorskip(module)
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    written = nbformat.read(NOTEBOOK, as_version=4)
    fresh = nbformat.read(NOTEBOOK, as_version=4)
    for cell in fresh.cells:
        cell["outputs"] = []
    nbclient.NotebookClient(fresh, timeout=300, kernel_name="python3").execute(cwd=str(tmp_path))  # raises where a cell does
    for was, now in zip(written.cells, fresh.cells):
        assert texts(now) == texts(was), f"./dev notebook writes the outputs anew: {was['source'][:60]}"
    assert any("image/png" in o.get("data", {}) for c in fresh.cells for o in c.get("outputs", []))
    assert NOTEBOOK.stat().st_size < 300_000


def texts(cell):
    return [o["data"].get("text/html", o["data"].get("text/plain")) for o in cell.get("outputs", [])
            if "image/png" not in o.get("data", {}) and "data" in o]

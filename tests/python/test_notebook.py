"""The notebook runs from its first cell to its last, and what it shows is what is committed."""

import json
import os
import pathlib
import sys

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
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    # The interpreter that runs the tests, not the one that a kernel installed for everybody names.
    kernel = tmp_path / "kernels" / "tests"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(json.dumps({
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "tests", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    written = nbformat.read(NOTEBOOK, as_version=4)
    fresh = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(fresh, timeout=300, kernel_name="tests").execute(cwd=str(tmp_path))  # raises where a cell does
    for cell in fresh.cells:
        cell.metadata.pop("execution", None)  # when it ran
        assert not [o for o in cell.get("outputs", []) if o["output_type"] == "stream"], cell["outputs"]
    if os.environ.get("LINKCAST_REFRESH_NOTEBOOK"):
        nbformat.write(fresh, NOTEBOOK)
    else:
        for was, now in zip(written.cells, fresh.cells):
            assert shown(now) == shown(was), "LINKCAST_REFRESH_NOTEBOOK=1 writes the outputs anew"
    assert any("image/png" in o.get("data", {}) for c in fresh.cells for o in c.get("outputs", []))
    assert NOTEBOOK.stat().st_size < 300_000


def shown(cell):
    """Linkcast's own answers, and Python's; tables and pictures look as their libraries make them."""
    texts = [o["data"].get("text/html", o["data"].get("text/plain", "")) for o in cell.get("outputs", []) if "data" in o]
    return [t for t in texts if 'class="dataframe"' not in t and "<Figure" not in t]

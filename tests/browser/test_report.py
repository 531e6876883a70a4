"""Reports in a real browser: every chart is drawn, nothing is complained of, nothing is fetched, it prints.

The pages are made of tests/data/reports/*.json by build/*/bin/report_page, and by the command itself. Screenshots stay
in build/report-pages, to be looked at.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("LINKCAST_BIN", ROOT / "build/release/bin"))
OUT = ROOT / "build/report-pages"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
STUDIES = sorted(p.stem for p in (ROOT / "tests/data/reports").glob("*.json"))
FIGURE = '<figure class="chart">\n'

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium: install Debian's package `chromium`, or set CHROMIUM to a browser of that kind"
)


def browse(tmp_path, page, *arguments):
    """Chromium on a page without any network; what it printed, and what the page's console said."""
    done = subprocess.run(
        [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
         "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--hide-scrollbars", f"--user-data-dir={tmp_path / 'profile'}", "--host-resolver-rules=MAP * ~NOTFOUND",
         "--enable-logging=stderr", *arguments, page.as_uri()],
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE:" in line or "CONSOLE(" in line]


def page_of(study):
    OUT.mkdir(parents=True, exist_ok=True)
    page = OUT / f"{study}.html"
    with page.open("wb") as out:
        subprocess.run([BIN / "report_page", ROOT / f"tests/data/reports/{study}.json"], stdout=out, check=True)
    return page


def check_drawn(text, dom):
    figures = text.count(FIGURE)
    assert figures > 0
    assert dom.count('data-drawn="yes"') == figures
    drawn = re.findall(r'<div class="canvas".*?<svg.*?</svg>', dom, re.S)
    assert len(drawn) == figures
    for svg in drawn:
        assert 'role="graphics-symbol"' in svg and "<text" in svg
        assert "NaN" not in svg and "undefined" not in svg


@pytest.mark.parametrize("study", STUDIES)
def test_draws_everything_and_complains_of_nothing(study, tmp_path):
    page = page_of(study)
    text = page.read_text()
    assert len(text) < 2_000_000
    dom, console = browse(tmp_path, page, "--dump-dom")
    assert console == []
    check_drawn(text, dom)


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("width", [1280, 400])
def test_screenshots(study, width, tmp_path):
    picture = OUT / f"{study}-{width}.png"
    _, console = browse(tmp_path, page_of(study), f"--window-size={width},2400", f"--screenshot={picture}")
    assert console == []
    assert picture.stat().st_size > 20_000  # an empty page of that size has a few hundred bytes


@pytest.mark.parametrize("study", STUDIES)
def test_prints(study, tmp_path):
    paper = OUT / f"{study}.pdf"
    _, console = browse(tmp_path, page_of(study), "--no-pdf-header-footer", f"--print-to-pdf={paper}")
    assert console == []
    assert paper.read_bytes().startswith(b"%PDF") and paper.stat().st_size > 20_000


def test_what_is_fetched_would_be_seen(tmp_path):
    """The test above can fail: a page that wants something from outside, or runs another script, complains."""
    text = page_of("run").read_text()
    for foreign in ('<img src="http://example.org/x.png">', "<script>document.title = 'taken'</script>"):
        page = tmp_path / "foreign.html"
        page.write_text(text.replace("</main>", foreign + "</main>"))
        dom, console = browse(tmp_path, page, "--dump-dom")
        assert console != []
        assert "<title>taken" not in dom


def test_the_command_writes_such_a_page(tmp_path):
    page = tmp_path / "run.html"
    subprocess.run([BIN / "linkcast", "run", ROOT / "configs/data-parallel-dgx-h100.yaml", "--report", page],
                   capture_output=True, check=True)  # fmt: skip
    dom, console = browse(tmp_path, page, "--dump-dom")
    assert console == []
    check_drawn(page.read_text(), dom)
    assert '<div class="drawing"' in dom

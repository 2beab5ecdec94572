"""JupyterLab in Chromium: the notebook as a person sees it."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.parse

import nbformat
import pytest

from conftest import ROOT
from outputs import cells
from test_notebooks import by_nbclient, every

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# Quiet flags: without them Chromium tries to reach its maker's servers.
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]
START = 180  # seconds that JupyterLab may take on a loaded machine

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH")


def quiet_news():
    """Keep Lab from asking whether it may look for news on the network."""
    config = pathlib.Path(os.environ["JUPYTER_CONFIG_DIR"]) / "labconfig"
    config.mkdir(parents=True, exist_ok=True)
    settings = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
    (config / "default_setting_overrides.json").write_text(json.dumps(settings))


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab server over a copy of the notebooks: (url, directory)."""
    work = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "notebooks", work / "notebooks")
    quiet_news()
    log = open(work / "lab.log", "w")
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0",
         "--IdentityProvider.token=", "--ServerApp.password=", "--ServerApp.disable_check_xsrf=True",
         "--LabApp.expose_app_in_browser=True", f"--ServerApp.root_dir={work}"],
        stdout=log, stderr=subprocess.STDOUT, env=dict(os.environ),
    )
    deadline = time.monotonic() + START
    found = None
    while not found:
        assert server.poll() is None and time.monotonic() < deadline, (work / "lab.log").read_text()
        found = re.search(r"http://127\.0\.0\.1:\d+", (work / "lab.log").read_text())
        time.sleep(0.2)
    yield found.group(0), work
    server.terminate()
    server.wait(START)
    log.close()


def launched(chromium, flags):
    """A browser whose pages wait as long as a loaded machine may need."""

    def patient(opener):
        def opened(**options):
            scope = opener(**options)
            scope.set_default_timeout(START * 1000)
            return scope

        return opened

    browser = chromium.launch(executable_path=CHROMIUM, args=flags, timeout=START * 1000)
    browser.new_page, browser.new_context = patient(browser.new_page), patient(browser.new_context)
    return browser


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        b = launched(p.chromium, FLAGS)
        yield b
        b.close()


def photograph(page, shot):
    """Pictures of the whole notebook, one window height each."""
    scroller = ".jp-WindowedPanel-outer"
    total = page.eval_on_selector(scroller, "e => e.scrollHeight")
    step = page.eval_on_selector(scroller, "e => e.clientHeight")
    for i, top in enumerate(range(0, total, step)):
        page.eval_on_selector(scroller, "(e, top) => { e.scrollTop = top }", top)
        page.wait_for_timeout(500)
        page.screenshot(path=shot.with_stem(f"{shot.stem}-{i}"))


def opened(browser, url, name):
    """A page with the notebook and its kernel ready."""
    page = browser.new_page(viewport={"width": 1280, "height": 1600})
    page.goto(f"{url}/lab/tree/notebooks/{name}?reset", wait_until="domcontentloaded", timeout=START * 1000)
    page.wait_for_selector(".jp-NotebookPanel-toolbar", timeout=START * 1000)
    # The indicator says idle before there is a kernel, and a command without one
    # asks which to use.
    page.wait_for_function(
        """() => { const k = window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel;
                   return k?.connectionStatus === 'connected' && k.status === 'idle'; }""",
        timeout=START * 1000,
    )
    return page


# All cells have run.
DONE = """() => {
    const {content, sessionContext} = window.jupyterapp.shell.currentWidget;
    return sessionContext.session.kernel.status === 'idle' &&
        [...content.model.cells].every(c => c.type !== 'code' || c.executionCount || !c.sharedModel.source.trim());
}"""


def execute_in_lab(browser, url, name, shot):
    page = opened(browser, url, name)
    # Lab's own commands. The promise of the first may end before the last cells do.
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(DONE, timeout=START * 1000)
    page.wait_for_timeout(2000)  # Mermaid draws after the outputs have arrived
    photograph(page, shot)
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.close()


@every
def test_lab_agrees_with_nbclient(lab, browser, path):
    url, work = lab
    shots = pathlib.Path(ROOT / "build" / "screenshots")
    shots.mkdir(parents=True, exist_ok=True)
    execute_in_lab(browser, url, path.name, shots / f"{path.stem}-lab.png")
    saved = nbformat.read(work / "notebooks" / path.name, as_version=4)
    assert cells(saved) == cells(by_nbclient(path))


DARK = "window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})"


def test_lab_shows_what_is_meant(lab, browser):
    """Dollars in tables are no formulas, cells behind a failure have no number,
    and a cluster has no ground of its own in the dark."""
    url, work = lab
    nb = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "forge", "display_name": "Forge", "language": "go"}})
    nb.cells = [nbformat.v4.new_code_cell(code) for code in (
        "%%forge --show mermaid\ndef chain(x: f32[4], y: f32[4]):\n    return sigmoid(relu(x + y) - y)",
        'display.Table{Title: "$3 or $4", Columns: []display.Column{{Name: "$5"}}, Rows: [][]any{{"$1, $2"}}}',
        'display.HTML("<p>$x^2$</p>")',
        'panic("stop")',
        "1 + 1",
    )]
    nbformat.write(nb, work / "notebooks" / "meant.ipynb")
    page = opened(browser, url, "meant.ipynb")
    page.evaluate(DARK)
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_selector("p mjx-container", timeout=START * 1000)
    drawing = page.wait_for_selector(".jp-RenderedMermaid img", timeout=START * 1000)
    assert page.eval_on_selector_all("table mjx-container", "all => all.length") == 0
    assert "$1, $2" in page.inner_text("table")
    page.wait_for_function(
        "want => [...document.querySelectorAll('.jp-InputPrompt')].map(p => p.innerText).join(' ') === want",
        arg="[1]: [2]: [3]: [4]: [ ]:", timeout=START * 1000,
    )
    assert "fill:#8c959f1a" in urllib.parse.unquote(drawing.get_attribute("src"))
    page.close()

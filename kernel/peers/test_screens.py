"""Every display as a person sees it, in every front end that can be had.

One notebook of all displays is executed once and then opened, without a kernel, in
JupyterLab 4 (light and dark, trusted and not), Notebook 7, the page of nbconvert and
our own, and a PDF that Chromium prints of nbconvert's page. Each output is
photographed, reduced to a thumbnail and compared with the one in screens/.

Fonts, their smoothing and so the heights of texts differ between machines. What is
compared is therefore what does not: thumbnails of one size in which a letter is less
than a pixel, by the sum of the differences of their colours as a share of all that is
drawn. With other fonts it is up to 0.47; a picture without its marks has 0.65, one on the wrong
ground or in the wrong colours more. FORGE_SCREENS=update writes the references anew.
"""

import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import nbformat
import pytest
from nbconvert import HTMLExporter
from nbformat.sign import NotebookNotary
from PIL import Image, ImageChops, ImageFilter

from conftest import ROOT
from displays import CELLS, notebook
from test_lab import CHROMIUM, START, browser, quiet_news  # noqa: F401: browser is a fixture

SCREENS = pathlib.Path(__file__).parent / "screens"
SHOTS = ROOT / "build" / "screenshots"
NAMES = [name for name, _ in CELLS]
THUMB = (240, 180)  # pixels of a thumbnail
COLUMNS = 5
GROUND = (255, 0, 255)
SHAPE = 0.2  # the most by which the ratio of sides differs
COLOURS = 0.55  # the most by which the colours differ, as a share of what is drawn

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH")


@pytest.fixture(scope="module")
def executed(forge, tmp_path_factory):
    """The notebook with its outputs, and what its run printed."""
    work = tmp_path_factory.mktemp("screens")
    nbformat.write(notebook(), work / "in.ipynb")
    out = work / "displays.ipynb"
    done = subprocess.run(
        [forge, "notebook", "run", "--allow-errors", work / "in.ipynb", "-o", out, "--html", work / "forge.html"],
        capture_output=True, text=True, timeout=300,
    )
    nb = nbformat.read(out, as_version=4)
    kinds = [c.outputs[0].output_type for c in nb.cells]
    assert kinds[:-1].count("error") == 0 and kinds[-1] == "error", done.stdout + done.stderr
    return work, nb, done.stdout


@pytest.fixture(scope="module")
def server(executed):
    """One server for Lab and Notebook over a trusted and an untrusted copy."""
    work, nb, _ = executed
    quiet_news()
    config = pathlib.Path(os.environ["JUPYTER_CONFIG_DIR"]) / "labconfig" / "default_setting_overrides.json"
    settings = json.loads(config.read_text())
    settings["@jupyterlab/notebook-extension:tracker"] = {"windowingMode": "none"}
    config.write_text(json.dumps(settings))
    nbformat.write(nb, work / "untrusted.ipynb")
    for cell in nb.cells:
        cell.metadata["trusted"] = True
    trusted = nbformat.from_dict(json.loads(json.dumps(nb)))
    trusted.metadata["title"] = "trusted"  # another text, another signature
    nbformat.write(trusted, work / "trusted.ipynb")
    NotebookNotary().sign(nbformat.read(work / "trusted.ipynb", as_version=4))
    log = open(work / "server.log", "w")
    process = subprocess.Popen(
        [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0",
         "--IdentityProvider.token=", "--ServerApp.password=", "--ServerApp.disable_check_xsrf=True",
         "--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True", f"--ServerApp.root_dir={work}"],
        stdout=log, stderr=subprocess.STDOUT, env=dict(os.environ),
    )
    deadline, found = time.monotonic() + START, None
    while not found:
        assert process.poll() is None and time.monotonic() < deadline, (work / "server.log").read_text()
        found = re.search(r"http://127\.0\.0\.1:\d+", (work / "server.log").read_text())
        time.sleep(0.2)
    yield found.group(0)
    process.terminate()
    process.wait(START)
    log.close()


# Resolves when nothing has changed its size for as many frames as a quick machine draws
# in a second and a half.
STILL = """selector => new Promise(done => {
    let before = '', same = 0;
    const look = () => {
        const now = [...document.querySelectorAll(`:is(${selector}) :is(*, img, canvas, svg)`)].map(e => { const b = e.getBoundingClientRect(); return [b.width, b.height]; }).join();
        same = now === before ? same + 1 : 0;
        before = now;
        same < 90 ? requestAnimationFrame(look) : done();
    };
    look();
})"""


def photographs(page, selector):
    """A picture of each output area, by the name of its cell."""
    page.wait_for_function(
        """selector => { const areas = [...document.querySelectorAll(selector)];
             return areas.length >= %d && areas.every(a => a.offsetHeight > 0) &&
                    areas.filter(a => a.querySelector('.vega-embed :is(canvas, svg)')).length >= %d &&
                    [...document.images].every(i => i.complete); }""" % (len(NAMES), len(CHARTS)),
        arg=selector, timeout=START * 1000,
    )
    page.evaluate(STILL, selector)  # charts find their sizes
    page.evaluate("async () => { for (const i of document.images) await i.decode().catch(() => 0) }")
    areas = page.query_selector_all(selector)
    assert len(areas) == len(NAMES)
    shots = {}
    for name, area in zip(NAMES, areas):
        area.scroll_into_view_if_needed()
        shots[name] = Image.open(io.BytesIO(area.screenshot())).convert("RGB")
    return shots


def trimmed(shot):
    """The photograph without the empty ground at its right and bottom."""
    ground = Image.new("RGB", shot.size, shot.getpixel((shot.width - 1, shot.height - 1)))
    box = ImageChops.difference(shot, ground).point(lambda v: 255 * (v > 8)).getbbox()
    return shot.crop((0, 0, box[2], box[3]))


def sheet(shots):
    """Thumbnails in a grid, on a ground that no theme has."""
    rows = (len(NAMES) + COLUMNS - 1) // COLUMNS
    page = Image.new("RGB", (COLUMNS * THUMB[0], rows * THUMB[1]), GROUND)
    for i, name in enumerate(NAMES):
        if name in shots:
            small = trimmed(shots[name])
            small.thumbnail(THUMB, Image.Resampling.BOX)
            page.paste(small, (i % COLUMNS * THUMB[0], i // COLUMNS * THUMB[1]))
    return page


def cell(page, i):
    """The size of a thumbnail, and its picture in a size that all have."""
    x, y = i % COLUMNS * THUMB[0], i // COLUMNS * THUMB[1]
    part = page.crop((x, y, x + THUMB[0], y + THUMB[1]))
    box = ImageChops.difference(part, Image.new("RGB", part.size, GROUND)).getbbox()
    part = part.crop(box)
    return part.size, part.filter(ImageFilter.BoxBlur(2)).resize((60, 45), Image.Resampling.BOX).tobytes()


def difference(got, want, i):
    """By how much a thumbnail differs: in the ratio of its sides, and in its colours,
    as a share of what is drawn there, which is all that differs from the ground."""
    (w, h), a = cell(got, i)
    (v, g), b = cell(want, i)
    ground = [sorted(b[c::3])[len(b) // 6] for c in range(3)]
    drawn = sum(abs(y - ground[k % 3]) for k, y in enumerate(b))
    return abs(w * g / (v * h) - 1), sum(abs(x - y) for x, y in zip(a, b)) / drawn


def compare(front, shots):
    """Holds the photographs to the references of a front end."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    for name, shot in shots.items():
        shot.save(SHOTS / f"{front}-{name}.png")
    got = sheet(shots)
    path = SCREENS / f"{front}.png"
    if os.environ.get("FORGE_SCREENS") == "update":
        SCREENS.mkdir(exist_ok=True)
        got.quantize(64).save(path, optimize=True)
    want = Image.open(path).convert("RGB")
    got.save(SHOTS / f"{front}.png")
    wrong = []
    for i, name in enumerate(NAMES):
        shape, colours = difference(got, want, i)
        if shape > SHAPE or colours > COLOURS:
            wrong.append(f"{name}: sides {100 * shape:.0f} %, colours {100 * colours:.0f} %")
    assert not wrong, f"{front} looks different from {path}: {wrong}; see {SHOTS}"


def opened(browser, url, theme="Light"):
    """A page of Lab or Notebook with a notebook in it, and no kernel."""
    page = browser.new_page(viewport={"width": 1280, "height": 1600})
    page.goto(url, wait_until="domcontentloaded", timeout=START * 1000)
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=START * 1000)
    # The server keeps the theme of the page before.
    page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", f"JupyterLab {theme}")
    page.wait_for_function("light => document.body.dataset.jpThemeLight === light", arg=str(theme == "Light").lower(), timeout=START * 1000)
    return page


AREA = ".jp-Notebook .jp-CodeCell .jp-Cell-outputArea"
CHARTS = ["plan", "distribution", "violin", "roofline", "scaling", "timeline", "contest"]


@pytest.mark.parametrize("front,name,theme", [
    ("lab-light", "trusted", "Light"), ("lab-dark", "trusted", "Dark"), ("lab-untrusted", "untrusted", "Light"),
])
def test_lab(executed, server, browser, front, name, theme):
    page = opened(browser, f"{server}/lab/tree/{name}.ipynb?reset", theme)
    compare(front, photographs(page, AREA))
    # Charts are drawn by Vega-Lite, whether the notebook is trusted or not.
    for i, area in enumerate(page.query_selector_all(AREA)):
        drawn = area.query_selector(".vega-embed") is not None
        assert drawn == (NAMES[i] in CHARTS), NAMES[i]
        assert "Javascript Error" not in area.inner_text()
    page.close()


def test_notebook7(executed, server, browser):
    page = opened(browser, f"{server}/notebooks/trusted.ipynb")
    compare("notebook7", photographs(page, AREA))
    page.close()


def exported(executed):
    work, nb, _ = executed
    html, _ = HTMLExporter(template_name="lab").from_notebook_node(nb)
    path = work / "nbconvert.html"
    path.write_text(html)
    return path


def test_nbconvert_html(executed, browser):
    """nbconvert's page, with scripts switched off: nothing that matters needs them."""
    context = browser.new_context(viewport={"width": 1280, "height": 1600}, java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(exported(executed).as_uri(), wait_until="load")
    areas = page.query_selector_all(".jp-Cell-outputWrapper .jp-OutputArea")
    assert len(areas) == len(NAMES)
    compare("nbconvert", {n: Image.open(io.BytesIO(a.screenshot())).convert("RGB") for n, a in zip(NAMES, areas)})
    context.close()


TITLES = ("Time of a layer", "Kernels under the roof of one core", "24 layers", "What the ranks did", "rate (GFLOP/s)", "inner dimensions differ")


@pytest.mark.parametrize("front", ["forge", "nbconvert"])
def test_pdf(executed, browser, tmp_path, front):
    """The PDF that Chromium prints of our page, and of nbconvert's, whose pictures keep
    their size and so need a smaller scale: no page is empty, and all text is there."""
    import pypdfium2

    source = exported(executed) if front == "nbconvert" else executed[0] / "forge.html"
    page = browser.new_page()
    page.goto(source.as_uri(), wait_until="load")
    SHOTS.mkdir(parents=True, exist_ok=True)
    raw = page.pdf(path=SHOTS / f"{front}.pdf", format="A4", print_background=True, scale=0.65 if front == "nbconvert" else 1)
    page.close()
    pdf = pypdfium2.PdfDocument(raw)
    text = ""
    for i, leaf in enumerate(pdf):
        text += leaf.get_textpage().get_text_range()
        picture = leaf.render(scale=1).to_pil().convert("RGB")
        picture.save(SHOTS / f"{front}-pdf-{i}.png")
        assert picture.convert("L").getextrema()[0] < 128, "an empty page"
        # Nothing is cut at the right edge of the paper, which is a margin.
        edge = picture.crop((int(picture.width * 0.985), 0, picture.width, picture.height))
        assert edge.convert("L").getextrema()[0] > 200, f"page {i} reaches the edge of the paper"
    text = re.sub(r"\s+", " ", text)
    for title in TITLES:
        assert title in text, title


def test_latex(executed, tmp_path):
    """Tables are booktabs tables, which a TeX without extras sets."""
    _, nb, _ = executed
    tables = [o.data["text/latex"] for c in nb.cells for o in c.outputs if "text/latex" in o.get("data", {})]
    assert tables and all(t.count(r"\toprule") == t.count(r"\midrule") == t.count(r"\bottomrule") == 1 for t in tables)
    if not shutil.which("pdflatex"):
        pytest.skip("no pdflatex on PATH: the tables were not set")
    body = "\n\n".join(tables)
    (tmp_path / "t.tex").write_text(
        "\\documentclass{article}\\usepackage[utf8]{inputenc}\\usepackage[T1]{fontenc}\\usepackage{textcomp}\\usepackage{booktabs}\\begin{document}\n" + body + "\n\\end{document}\n")
    done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]


def test_terminal(executed):
    """What a terminal shows fits into 100 columns and has no control characters."""
    _, nb, printed = executed
    assert all(ch.isprintable() for line in printed.splitlines() for ch in line)
    shown = [o.data["text/plain"] for c in nb.cells for o in c.outputs if "data" in o]
    assert len(shown) > len(NAMES)
    for line in "\n".join(shown).splitlines():
        assert len(line) <= 100, line
    for title in ("24 times these 5 nodes", "planned", "of the roof", "speed-up", "without work", "hint:"):
        assert title in printed, title


def test_pictures_have_their_size(executed):
    """A PNG of two pixels for each says how large it is to be shown, and every picture
    has a vector form whose colours and sizes are attributes."""
    import base64

    _, nb, _ = executed
    pictures = 0
    for c in nb.cells:
        for o in c.outputs:
            data = o.get("data", {})
            if "image/png" not in data:
                continue
            pictures += 1
            image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
            size = o.metadata["image/png"]
            assert image.size == (2 * size["width"], 2 * size["height"])
            assert size["alt"] and f'aria-label="{size["alt"]}"' in data["image/svg+xml"]
            svg = data["image/svg+xml"]
            assert "style=" not in svg and "<style" not in svg and "<script" not in svg and "sans-serif" in svg
            assert len(json.dumps(data.get("application/vnd.vegalite.v5+json", ""))) < 200_000
    assert pictures >= 9

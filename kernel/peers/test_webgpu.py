"""Outputs of RunInBrowser where people meet them: a page in Chromium, with WebGPU in
software and without, and JupyterLab."""

import html
import http.server
import io
import re
import subprocess
import threading
import time

import nbformat
import pytest
from PIL import Image

from conftest import ROOT
from test_lab import CHROMIUM, START, lab, launched, opened  # noqa: F401: lab is a fixture

FLAGS = [
    "--no-sandbox", "--enable-unsafe-webgpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]
SHOTS = ROOT / "build" / "screenshots"
CARD = "[data-forge-webgpu]"
RAN = "The results are those of the kernel."

CELLS = [
    "def layer(x, w):\n    return softmax(relu(x @ w), axis=-1)",
    "layer.RunInBrowser(forge.Rand(64, 96), forge.Rand(96, 32))",
    'glyphs := forge.Load("models/glyphs.onnx")\n'
    'glyphs.RunInBrowser(map[string]*forge.Tensor{"images": forge.Rand(3, 1, 8, 8), "k": forge.From([]float64{2})})',
    "layer.RunInBrowser(forge.Rand(200, 160), forge.Rand(160, 200))",
    "def wave(x):\n    return tanh(x * x) + x",
    "wave.RunInBrowser(forge.Rand(4100000))",  # 31 MiB of the 32 that a card holds
]
CARDS = sum("RunInBrowser" in code for code in CELLS)

# Resolves when Lab has faded from one theme to the other, which begins with the next frame.
FADED = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() =>
    Promise.allSettled(document.getAnimations().filter(a => a instanceof CSSTransition).map(a => a.finished)).then(done))))"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH")


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        b = launched(p.chromium, FLAGS)
        yield b
        b.close()


def notebook():
    nb = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "forge", "display_name": "Forge", "language": "go"}})
    nb.cells = [nbformat.v4.new_code_cell(code) for code in CELLS]
    return nb


@pytest.fixture(scope="module")
def ran(forge, tmp_path_factory):
    """The notebook with its outputs."""
    work = tmp_path_factory.mktemp("webgpu")
    nbformat.write(notebook(), work / "in.ipynb")
    (work / "models").symlink_to(ROOT / "notebooks" / "models")
    done = subprocess.run([forge, "notebook", "run", "-q", work / "in.ipynb", "-o", work / "out.ipynb"], cwd=work, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return nbformat.read(work / "out.ipynb", as_version=4)


@pytest.fixture(scope="module")
def cards(ran):
    return [c.outputs[0].data["text/html"] for c in ran.cells if "RunInBrowser" in c.source]


@pytest.fixture(scope="module")
def served():
    """Serves texts on the loopback: f(text) is the port of a server that knows no other,
    with a policy that lets nothing be fetched and no text become code."""
    servers = []

    def serve(text):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Security-Policy", "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'")
                self.end_headers()
                self.wfile.write(f"<!DOCTYPE html><body>{text}".encode())

            def log_message(self, *_):
                pass

        servers.append(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return servers[-1].server_address[1]

    yield serve
    for s in servers:
        s.shutdown()


def visited(browser, url, **options):
    """A page that collects what goes wrong in it."""
    page = browser.new_page(**options)
    page.problems = []
    page.on("pageerror", lambda e: page.problems.append(str(e)))
    page.on("request", lambda r: None if r.url == url or "favicon" in r.url else page.problems.append(r.url))
    page.goto(url)
    return page


def ended(scope, selector=CARD):
    """Waits until all cards of a page say how it went, and gives what they say."""
    scope.wait_for_function(
        """selector => { const all = [...document.querySelectorAll(selector)];
             return all.length && all.every(c => /those of the kernel|did not run|no WebGPU|only over https/.test(c.innerText)); }""",
        arg=selector, timeout=START * 1000,
    )
    return scope.eval_on_selector_all(selector, "all => all.map(c => c.innerText)")


def test_page(browser, served, cards):
    """Several cards on a page run, one after another, and leave nothing behind."""
    url = f"http://localhost:{served(''.join(cards) + cards[0])}/"
    page = visited(browser, url)
    texts = ended(page)
    assert len(texts) == CARDS + 1
    for text in texts:
        assert RAN in text and "✓" in text and "✗" not in text and "swiftshader" in text, text
        assert re.search(r"median of \d+ runs [\d.]+ ms, the quickest [\d.]+ ms, the first [\d.]+ ms; compiling took [\d.]+ ms", text), text
    assert page.problems == []
    blank = visited(browser, f"http://localhost:{served('')}/")
    names = "Object.getOwnPropertyNames(window).sort()"
    assert page.evaluate(names) == blank.evaluate(names)
    page.click("text=Run again >> nth=0")
    page.wait_for_function("n => document.querySelectorAll('button').length === n", arg=CARDS + 1, timeout=START * 1000)
    assert RAN in ended(page)[0]
    blank.close()
    page.close()


def test_wrong_values_are_told(browser, served, cards):
    """A card that was to get another value says so."""
    wrong = re.sub(r'("want":\[\{"buffer":\d+,"parts":\[").{8}', r"\1AACAPwAA", cards[0])  # 1, and half of another
    page = visited(browser, f"http://localhost:{served(wrong)}/")
    [text] = ended(page)
    assert "The results are not those of the kernel." in text and "✗" in text
    page.close()


def test_frame(browser, served, cards):
    """In a frame without an origin, as Colab and VS Code put outputs in, a card runs."""
    frame = f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(cards[0])}"></iframe>'
    page = visited(browser, f"http://localhost:{served(frame)}/")
    assert RAN in ended(page.frames[1])[0]
    page.close()


def test_lost_device(browser, served, cards):
    """A driver that is reset between two runs ends a card with that reason."""
    breaks = """<script>(() => { const { submit } = GPUQueue.prototype, { requestDevice } = GPUAdapter.prototype; let device;
      GPUAdapter.prototype.requestDevice = async function (d) { return (device = await requestDevice.call(this, d)); };
      GPUQueue.prototype.submit = function (list) { submit.call(this, list); device.destroy(); }; })()</script>"""
    page = visited(browser, f"http://localhost:{served(breaks + cards[0])}/")
    [text] = ended(page)
    assert "It did not run: the device was lost (destroyed)" in text and "Try again" in text
    page.close()


def test_without_webgpu(browser, served, cards):
    """Without WebGPU, without a GPU, without https and without scripts, a card has the
    values of the kernel and says what is missing."""
    port = served(cards[0])
    named = launched(browser.browser_type, [*FLAGS, "--host-resolver-rules=MAP forge.test 127.0.0.1"])
    cases = [
        (named, f"http://forge.test:{port}/", {}, "only over https or from localhost"),
        (browser, f"http://localhost:{port}/", {"java_script_enabled": False}, "It has not run: the notebook is not trusted"),
    ]
    for b, url, options, want in cases:
        page = visited(b, url, **options)
        page.wait_for_selector(f"{CARD}:has-text('{want}')", timeout=START * 1000)
        text = page.inner_text(CARD)
        assert want in text and "f32[64,32]" in text and text.count("not run") >= 2, text
        page.screenshot(path=SHOTS / "webgpu-absent.png")
        page.close()
    for gone, want in (("gpu", "This browser has no WebGPU"), ("adapter", "finds no GPU that it may use")):
        page = browser.new_page()
        page.add_init_script({
            "gpu": "Object.defineProperty(navigator, 'gpu', { value: undefined })",
            "adapter": "GPU.prototype.requestAdapter = async () => null",
        }[gone])
        page.goto(f"http://localhost:{port}/")
        assert want in ended(page)[0]
        page.close()
    named.close()


def test_lab(browser, lab):
    """Cells that run in JupyterLab show what the GPU of its page gives, in both themes;
    the saved notebook has the static card, which is all of it while it is not trusted."""
    url, work = lab
    SHOTS.mkdir(parents=True, exist_ok=True)
    path = work / "notebooks" / "webgpu.ipynb"
    nbformat.write(notebook(), path)
    page = opened(browser, url, path.name)
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function("([card, n]) => document.querySelectorAll(card).length === n", arg=[CARD, CARDS], timeout=START * 1000)
    for text in ended(page):
        assert RAN in text and "✓" in text, text
    for theme in ("Light", "Dark"):
        page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", f"JupyterLab {theme}")
        page.wait_for_function("light => document.body.dataset.jpThemeLight === light", arg=str(theme == "Light").lower())
        page.evaluate(FADED)
        card = page.query_selector_all(CARD)[0]
        card.scroll_into_view_if_needed()
        end = time.monotonic() + START
        low = high = 0
        while high - low <= 120 and time.monotonic() < end:  # the card follows the page
            shot = card.screenshot(path=SHOTS / f"webgpu-lab-{theme.lower()}.png")
            low, high = Image.open(io.BytesIO(shot)).convert("L").getextrema()
        assert high - low > 120, f"{theme}: no contrast"
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.close()
    saved = nbformat.read(path, as_version=4)
    text = saved.cells[1].outputs[0].data["text/html"]
    assert "not run" in text and "swiftshader" not in text
    saved.metadata["title"] = "untrusted"  # another text, another signature
    nbformat.write(saved, work / "notebooks" / "untrusted.ipynb")
    page = opened(browser, url, "untrusted.ipynb")
    page.wait_for_selector("text=It has not run: the notebook is not trusted", timeout=START * 1000)
    page.screenshot(path=SHOTS / "webgpu-lab-untrusted.png")
    assert RAN not in page.inner_text(".jp-Notebook")
    page.close()

"""The picture on top of README: a function and what was decided about it, in JupyterLab.

    .venv/bin/python kernel/peers/screenshot.py notebooks/screenshot.png
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOK = "block.ipynb"
CELLS = [
    """def block(x: f32[64, 256], w: f32[256, 512], b: f32[512], v: f32[512, 256]):
    h = gelu(x @ w + b)
    return softmax(x + h @ v)""",
    "block.Explain()",
]
WIDTH, HEIGHT = 1360, 1680


def serve(work):
    """A JupyterLab on a port of its own, over a copy of the notebooks."""
    env = dict(os.environ, HOME=str(work), JUPYTER_PATH=str(work / "share" / "jupyter"), JUPYTER_CONFIG_DIR=str(work / "config"),
               JUPYTER_RUNTIME_DIR=str(work / "runtime"), XDG_STATE_HOME=str(work / "state"), FORGE_CACHE_DIR=str(work / "cache"))
    subprocess.run([ROOT / "bin" / "forge", "install", "--prefix", work], check=True, env=env)
    cells = [{"cell_type": "code", "id": str(i), "metadata": {}, "execution_count": None, "outputs": [], "source": c} for i, c in enumerate(CELLS)]
    metadata = {"kernelspec": {"name": "forge", "display_name": "Forge", "language": "go"}}
    (work / "notebooks").mkdir()
    (work / "notebooks" / NOTEBOOK).write_text(json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}))
    settings = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
    (work / "config" / "labconfig").mkdir(parents=True)
    (work / "config" / "labconfig" / "default_setting_overrides.json").write_text(json.dumps(settings))
    log = work / "lab.log"
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0",
         "--IdentityProvider.token=", "--ServerApp.password=", "--LabApp.expose_app_in_browser=True",
         f"--ServerApp.root_dir={work / 'notebooks'}"],
        stdout=log.open("w"), stderr=subprocess.STDOUT, env=env)
    while not (found := re.search(r"http://127\.0\.0\.1:\d+", log.read_text())):
        if server.poll() is not None:
            sys.exit(log.read_text())
        time.sleep(0.2)
    return server, found.group(0)


def shoot(url, path):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    flags = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=flags)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=1)
        page.goto(f"{url}/lab/tree/{NOTEBOOK}?reset", wait_until="domcontentloaded", timeout=120_000)
        page.wait_for_function(
            """() => { const k = window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel;
                       return k?.connectionStatus === 'connected' && k.status === 'idle'; }""", timeout=120_000)
        page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
        page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area')")
        page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
        page.wait_for_timeout(3000)
        page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0")
        page.eval_on_selector(".jp-Cell >> nth=0", "e => e.scrollIntoView()")
        page.wait_for_timeout(1500)
        page.screenshot(path=path)
        browser.close()


def main():
    out = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        server, url = serve(pathlib.Path(folder))
        try:
            shoot(url, out)
        finally:
            server.terminate()
            server.wait(30)


main()

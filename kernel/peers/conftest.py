"""Real clients against the real kernel.

Every test here talks to bin/forge through software that people use: Jupyter's
own client library, its conformance suite, nbclient, nbconvert, and JupyterLab
in Chromium. The kernel is installed into a directory of the test run, and its
history and runtime files stay there too.
"""

import os
import pathlib
import shutil
import subprocess

import pytest

from messages import TIMEOUT

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORGE = pathlib.Path(os.environ.get("FORGE_BIN", ROOT / "bin" / "forge"))


def pytest_configure(config):
    """Install the kernelspec before any test class looks for it."""
    if not FORGE.exists():
        raise pytest.UsageError(f"{FORGE} is missing: run 'make build' first")
    home = pathlib.Path(os.environ.get("FORGE_PEERS_DIR", ROOT / "build" / "peers"))
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    os.environ.update(
        HOME=str(home),
        JUPYTER_PATH=str(home / "share" / "jupyter"),
        JUPYTER_RUNTIME_DIR=str(home / "runtime"),
        JUPYTER_CONFIG_DIR=str(home / "config"),
        JUPYTER_DATA_DIR=str(home / "data"),
        XDG_STATE_HOME=str(home / "state"),
        JUPYTER_PLATFORM_DIRS="1",
    )
    subprocess.run([FORGE, "install", "--prefix", home], check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def forge():
    """The path of the binary under test."""
    return FORGE


@pytest.fixture
def kernel():
    """A fresh kernel as (manager, blocking client), shut down afterwards."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="forge", startup_timeout=TIMEOUT)
    try:
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel()

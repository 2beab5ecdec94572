"""The kernel over Unix sockets, as Colab starts it: transport ipc, sockets PREFIX-PORT."""

import os
import shutil
import subprocess

import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from messages import TIMEOUT, run, text


@pytest.fixture
def colab(forge, tmp_path):
    """A manager of the kernelspec that is written on Colab, with a library preloaded as there."""
    shutil.copy(forge, tmp_path / "downloaded")
    env = {**os.environ, "COLAB_RELEASE_TAG": "test", "PATH": "/nowhere"}
    install = [tmp_path / "downloaded", "install", "--host", "colab", "--prefix", tmp_path / "local"]
    explained = subprocess.run(install, env=env, check=True, capture_output=True, text=True).stdout
    assert f'sys.path.insert(0, "{tmp_path}/local/share/forge")' in explained
    (tmp_path / "downloaded").unlink()
    specs = KernelSpecManager(kernel_dirs=[str(tmp_path / "local" / "share" / "jupyter" / "kernels")])
    manager = KernelManager(kernel_name="forge", kernel_spec_manager=specs, transport="ipc", ip=str(tmp_path / "socket"))
    manager.start_kernel(env={**os.environ, "LD_PRELOAD": "libm.so.6"})
    yield manager
    if manager.has_kernel:
        manager.shutdown_kernel(now=True)


def test_cells_restart_and_shutdown_over_ipc(colab, tmp_path):
    for _ in range(2):
        client = colab.client()
        client.start_channels()
        client.wait_for_ready(timeout=TIMEOUT)
        sockets = {str(tmp_path / f"socket-{port}") for port in colab.ports}
        assert sockets == {str(p) for p in tmp_path.glob("socket-*")}
        assert {os.stat(s).st_mode & 0o777 for s in sockets} == {0o600}
        _, messages = run(client, 'fmt.Printf("%q\\n", os.Getenv("LD_PRELOAD"))')
        assert text(messages) == '""\n'
        assert client.is_alive()
        client.stop_channels()
        colab.restart_kernel()
    colab.shutdown_kernel()
    assert list(tmp_path.glob("socket-*")) == []

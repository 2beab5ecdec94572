"""The commands and files of "forge kaggle push" and "forge colab run", as --dry-run
writes them, go through the real tools: their parsers, their checks of metadata, and
the requests that they would send. What would talk to a service is replaced before,
and sockets cannot be opened at all. The stand-ins print what the tools print here."""

import io
import json
import os
import pathlib
import shlex
import socket
import subprocess
import sys
from types import SimpleNamespace
from unittest import mock

import pytest

FORGE = os.environ["FORGE_BIN"]


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path):
    def refuse(*_args, **_kwargs):
        raise AssertionError("a test must not reach the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def dry_run(tmp_path, *args):
    """The commands that forge would run, without those that depend on an answer."""
    cells = [{"cell_type": "code", "id": "a", "metadata": {"tags": ["parameters"]}, "execution_count": None, "outputs": [],
              "source": 'tp, model := 1, ""'}]
    nb = {"cells": cells, "metadata": {"kernelspec": {"name": "forge", "language": "go"}}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "job.ipynb").write_text(json.dumps(nb))
    (tmp_path / "weights.gguf").write_text("12345")
    out = subprocess.run([FORGE, *args, "--dry-run", "--dir", "sent"], check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    return [shlex.split(line) for line in out.splitlines() if not line.startswith("#")]


# Kaggle


class Kaggle:
    """What the tool talks to: the last request of every kind, and answers."""

    def __init__(self):
        self.requests = {}
        self.kernels = SimpleNamespace(kernels_api_client=self)
        self.datasets = SimpleNamespace(dataset_api_client=self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def save_kernel(self, request):
        self.requests["push"] = request
        return SimpleNamespace(error=None, invalidTags=[], invalidDatasetSources=[], invalidCompetitionSources=[],
                               invalidKernelSources=[], versionNumber=1, url="https://kaggle.example/code/ada/forge-job")

    def get_kernel_session_status(self, request):
        from kagglesdk.kernels.types.kernels_enums import KernelWorkerStatus

        return SimpleNamespace(status=KernelWorkerStatus.COMPLETE, failure_message="")

    def list_kernel_session_output(self, request):
        self.requests["output"] = request
        return SimpleNamespace(files=[], log="", next_page_token="")

    def get_dataset_status(self, request):
        from kagglesdk.datasets.types.dataset_enums import DatabundleVersionStatus

        return SimpleNamespace(status=DatabundleVersionStatus.READY)

    def create_dataset_version(self, request):
        self.requests["version"] = request
        return SimpleNamespace(invalidTags=[], status="ok", url="https://kaggle.example/datasets", error="")

    def create_dataset(self, request):
        self.requests["create"] = request
        return SimpleNamespace(invalidTags=[], status="ok", url="https://kaggle.example/datasets", error="")


@pytest.fixture
def kaggle(monkeypatch):
    import kaggle
    from kaggle.api.kaggle_api_extended import KaggleApi, UploadFile

    service = Kaggle()
    service.uploaded = []

    def upload(self, name, path, *_args):
        service.uploaded.append((name, os.path.getsize(path)))
        file = UploadFile()
        file.token = name
        return file

    monkeypatch.setattr(KaggleApi, "build_kaggle_client", lambda self: service)
    monkeypatch.setattr(KaggleApi, "_upload_file", upload)
    monkeypatch.setattr(kaggle.api, "_authenticated", True)
    monkeypatch.setitem(kaggle.api.config_values, "username", "ada")
    service.api = kaggle.api
    return service


def run_kaggle(argv):
    from kaggle import cli

    out = io.StringIO()
    with mock.patch.object(sys, "argv", argv), mock.patch.object(sys, "stdout", out):
        try:
            cli.main()
        except SystemExit as e:
            assert not e.code, (argv, e.code, out.getvalue())
    return out.getvalue()


def test_kaggle(kaggle, monkeypatch, tmp_path):
    commands = dry_run(tmp_path, "kaggle", "push", "job.ipynb", "--user", "ada", "--accelerator", "NvidiaTeslaT4", "--tp", "2",
                       "--timeout", "90s", "--model", "weights.gguf")
    said = {}
    for argv in commands:
        if argv[1:3] == ["datasets", "create"]:
            with monkeypatch.context() as m:  # which is tried where there is none
                from requests.exceptions import HTTPError

                def absent(_name, format=None):
                    raise HTTPError(response=SimpleNamespace(status_code=403))

                m.setattr(kaggle.api, "dataset_status", absent)
                said["create"] = run_kaggle(argv)
        elif argv[1:3] == ["kernels", "logs"]:
            monkeypatch.setattr(kaggle.api, "kernels_logs_stream", lambda kernel: iter([{"data": "one\n"}, {"data": "two"}]))
            said["logs"] = run_kaggle(argv)
        else:
            said[" ".join(argv[1:3])] = run_kaggle(argv)
    # What the stand-in says, and Forge reads.
    assert said["kernels push"].startswith("Kernel version 1 successfully pushed.  Please check progress at ")
    assert said["kernels status"] == 'ada/forge-job has status "KernelWorkerStatus.COMPLETE"\n'
    assert said["datasets status"] == "ready"
    assert said["logs"] == "one\ntwo\n"
    assert "error" not in said["create"] + said["datasets version"]

    push = kaggle.requests["push"]
    assert (push.slug, push.new_title, push.language, push.kernel_type) == ("ada/forge-job", "forge job", "python", "script")
    assert (push.is_private, push.enable_gpu, push.enable_tpu, push.enable_internet) == (True, True, False, False)
    assert (push.machine_shape, push.session_timeout_seconds) == ("NvidiaTeslaT4", 90)
    assert push.dataset_data_sources == ["ada/forge-job-files"]
    compile(push.text, "bootstrap.py", "exec")
    manifest = json.loads(pathlib.Path("sent/dataset/forge-job.json").read_text())
    files = {f["name"]: f["size"] for f in manifest["files"]}
    assert dict(kaggle.uploaded) == {**files, "forge-job.json": os.path.getsize("sent/dataset/forge-job.json")}
    assert set(files) == {"forge", "job.ipynb", "weights.gguf"}
    create = kaggle.requests["create"]
    assert (create.title, create.slug, create.owner_slug, create.is_private) == ("forge job files", "forge-job-files", "ada", True)


def test_kaggle_user(kaggle):
    assert "- username: ada\n" in run_kaggle(["kaggle", "config", "view"])


def test_kaggle_version():
    assert run_kaggle(["kaggle", "--version"]).startswith("Kaggle CLI 2.2.")


def test_kaggle_refuses_as_the_stand_in_does(kaggle):
    with mock.patch.object(sys, "stderr", io.StringIO()) as err, pytest.raises(AssertionError):
        run_kaggle(["kaggle", "kernels", "push", "-p", ".", "--gpu", "T4"])
    assert "unrecognized arguments: --gpu T4" in err.getvalue()


# Colab


def test_colab(monkeypatch, tmp_path):
    from colab_cli.cli import app
    from colab_cli.commands import execution, files, session
    from colab_cli.common import state
    from typer.testing import CliRunner

    done = []
    known = {}
    assigned = SimpleNamespace(endpoint="e", runtime_proxy_info=SimpleNamespace(token="t", url="http://u", expires_at=lambda: None))
    client = SimpleNamespace(assign=lambda _id, variant, accelerator, shape: done.append(("new", accelerator.value)) or assigned,
                             unassign=lambda endpoint: done.append(("stop", endpoint)))

    class Runtime:
        def __init__(self, *_args, **_kwargs):
            pass

        def execute_code(self, code, output_hook=None, timeout=None, **_):
            if output_hook:
                compile(code, "cell", "exec")
                done.append(("exec", timeout))
            return []

        def stop(self, **_):
            pass

    class Contents:
        def __init__(self, _session):
            pass

        def upload(self, local, remote):
            assert os.path.isfile(local)
            done.append(("upload", remote))

        def download(self, remote, local):
            done.append(("download", remote, local))

    monkeypatch.setattr(type(state), "client", property(lambda self: client))
    monkeypatch.setattr(type(state), "store", property(lambda self: SimpleNamespace(
        add=lambda s: known.__setitem__(s.name, s), remove=lambda n: known.pop(n), get=known.get, list=lambda: known)))
    monkeypatch.setattr(type(state), "history", property(lambda self: SimpleNamespace(log_event=lambda *a, **k: None)))
    monkeypatch.setattr(state, "get_session", lambda name, **_: known[name])
    monkeypatch.setattr("colab_cli.auto_update.run_background_check", lambda: None)
    for module in (execution, session):
        monkeypatch.setattr(module, "ColabRuntime", Runtime)
    monkeypatch.setattr(files, "ContentsClient", Contents)

    for argv in dry_run(tmp_path, "colab", "run", "job.ipynb", "--session", "s1", "--gpu", "T4", "--timeout", "90s", "--model", "weights.gguf"):
        result = CliRunner().invoke(app, argv[1:])
        assert result.exit_code == 0, (argv, result.output)
    assert done == [
        ("new", "T4"), ("exec", 30.0), ("upload", "content/forge-job/forge"), ("upload", "content/forge-job/job.ipynb"),
        ("upload", "content/forge-job/weights.gguf"), ("upload", "content/forge-job/forge-job.json"), ("exec", 90.0),
        ("download", "content/forge-job.tgz", "sent/forge-job.tgz"), ("stop", "e")]


def test_colab_version():
    from colab_cli.cli import app
    from typer.testing import CliRunner

    assert "Version: 0.7." in CliRunner().invoke(app, ["version"]).output

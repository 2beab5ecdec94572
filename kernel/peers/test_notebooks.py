"""Every notebook runs in every client, with the same outputs."""

import json
import re
import shutil
import subprocess

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from conftest import ROOT
from outputs import cells

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ids = [p.stem for p in NOTEBOOKS]


def by_nbclient(path):
    nb = nbformat.read(path, as_version=4)
    NotebookClient(nb, timeout=120, kernel_name="forge", resources={"metadata": {"path": str(path.parent)}}).execute()
    return nb


def by_forge(forge, path, out, *more):
    done = subprocess.run(
        [forge, "notebook", "run", path, "-o", out, *more], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return nbformat.read(out, as_version=4)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_valid(path):
    nbformat.validate(nbformat.read(path, as_version=4))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_runner_agrees_with_nbclient(path, forge, tmp_path):
    ours = by_forge(forge, path, tmp_path / "out.ipynb")
    nbformat.validate(ours)
    assert cells(ours) == cells(by_nbclient(path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_verify_accepts_a_fresh_run(path, forge, tmp_path):
    shutil.copytree(path.parent / "models", tmp_path / "models")  # which notebooks open beside them
    by_forge(forge, path, tmp_path / "out.ipynb")
    done = subprocess.run([forge, "notebook", "verify", tmp_path / "out.ipynb"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_verify_reports_a_changed_result(forge, tmp_path):
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("6 * 7")])
    nbformat.write(nb, tmp_path / "in.ipynb")
    out = tmp_path / "out.ipynb"
    by_forge(forge, tmp_path / "in.ipynb", out)
    out.write_text(out.read_text().replace("42", "43"))
    done = subprocess.run([forge, "notebook", "verify", "--json", out], capture_output=True, text=True)
    assert done.returncode == 1
    assert "43" in json.dumps(json.loads(done.stdout))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_html_is_self_contained(path, forge, tmp_path):
    html = tmp_path / "out.html"
    by_forge(forge, path, tmp_path / "out.ipynb", "--html", html)
    page = html.read_text()
    # Scripts of outputs may be there, but nothing that a page would fetch.
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page)
    assert not re.search(r"url\(\s*[\"']?(https?:)?//|@import|\bfetch\(|XMLHttpRequest|\bimport\(", page)
    assert "<svg" in page or "data:image/svg+xml" in page


@pytest.mark.parametrize("path", NOTEBOOKS, ids=ids)
def test_nbconvert_keeps_the_pictures(path, tmp_path):
    page, _ = HTMLExporter().from_notebook_node(by_nbclient(path))
    assert "data:image/svg+xml" in page or "<svg" in page or "data:image/png" in page


def test_failed_run_keeps_what_ran(forge, tmp_path):
    source = ['fmt.Println("first")', 'panic("second")', 'fmt.Println("third")']
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in source])
    nbformat.write(nb, tmp_path / "in.ipynb")
    done = subprocess.run(
        [forge, "notebook", "run", tmp_path / "in.ipynb", "-o", tmp_path / "out.ipynb"], capture_output=True, text=True
    )
    assert done.returncode == 1 and "second" in done.stderr + done.stdout
    ran = nbformat.read(tmp_path / "out.ipynb", as_version=4).cells
    assert ran[0].outputs[0].text == "first\n"
    assert ran[1].outputs[0].output_type == "error"
    assert ran[2].outputs == []


def test_programs_run_from_the_command_line(forge, tmp_path):
    for path in (ROOT / "notebooks" / "programs").glob("*.fs"):
        shutil.copy(path, tmp_path)
        done = subprocess.run([forge, "run", tmp_path / path.name, "--json"], capture_output=True, text=True)
        assert done.returncode == 0, f"{path.name}: {done.stderr}"
        assert json.loads(done.stdout)

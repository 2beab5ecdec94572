"""Every notebook is executed by our runner and by nbclient, once each: both show the same,
and what the repository stores verifies. On one machine after another, with other work on
them, times are not compared."""

import functools
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from conftest import FORGE, ROOT
from messages import TIMEOUT
from outputs import cells

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MOST_BYTES = 300_000  # of a notebook, which GitHub has to draw

every = pytest.mark.parametrize("path", NOTEBOOKS, ids=[p.stem for p in NOTEBOOKS])


@functools.cache
def by_nbclient(path):
    nb = nbformat.read(path, as_version=4)
    NotebookClient(nb, timeout=300, startup_timeout=TIMEOUT, kernel_name="forge", resources={"metadata": {"path": str(path.parent)}}).execute()
    return nb


@functools.cache
def by_forge(path):
    """A notebook as our runner executes it, and how that compares with what it stores."""
    out = pathlib.Path(tempfile.mkdtemp(prefix="forge-notebooks-"), path.name)
    done = subprocess.run(
        [FORGE, "notebook", "verify", path, "--skip-times", "--json", "-o", out], capture_output=True, text=True, timeout=300
    )
    assert out.exists(), done.stderr
    return out, done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module", autouse=True)
def folders():
    yield
    for path in NOTEBOOKS:
        if by_forge.cache_info().currsize:
            shutil.rmtree(by_forge(path)[0].parent, ignore_errors=True)


@every
def test_stored(path):
    """What a reader finds is a valid notebook with outputs, none of them an unexpected
    error, and not too large to be drawn."""
    nb = nbformat.read(path, as_version=4)
    nbformat.validate(nb)
    assert path.stat().st_size <= MOST_BYTES
    code = [c for c in nb.cells if c.cell_type == "code"]
    assert any(c.outputs for c in code), "it stores no outputs"
    for c in code:
        if "raises-exception" not in c.metadata.get("tags", []):
            assert [o for o in c.outputs if o.output_type == "error"] == []


@every
def test_stored_verifies(path):
    _, status, report = by_forge(path)
    bad = [c for c in report["cells"] if c["status"] in ("changed", "failed", "not run")]
    assert (status, bad) == (0, []), json.dumps(bad, indent=1)


@every
def test_runner_agrees_with_nbclient(path):
    ours = nbformat.read(by_forge(path)[0], as_version=4)
    nbformat.validate(ours)
    assert cells(ours) == cells(by_nbclient(path))


@every
def test_pages_are_self_contained(path, tmp_path):
    for command in ("html", "report"):
        page = tmp_path / f"{command}.html"
        subprocess.run([FORGE, "notebook", command, by_forge(path)[0], "-o", page], check=True)
        page = page.read_text()
        # Scripts of outputs may be there, but nothing that a page would fetch.
        assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page)
        assert not re.search(r"url\(\s*[\"']?(https?:)?//|@import|\bfetch\(|XMLHttpRequest|\bimport\(", page)
        assert "<svg" in page or "data:image/svg+xml" in page


@every
def test_nbconvert_keeps_the_pictures(path):
    page, _ = HTMLExporter().from_notebook_node(by_nbclient(path))
    assert "data:image/svg+xml" in page or "<svg" in page or "data:image/png" in page


def test_verify_reports_a_changed_result(forge, tmp_path):
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("6 * 7")])
    nbformat.write(nb, tmp_path / "in.ipynb")
    out = tmp_path / "out.ipynb"
    subprocess.run([forge, "notebook", "run", "-q", tmp_path / "in.ipynb", "-o", out], check=True)
    out.write_text(out.read_text().replace("42", "43"))
    done = subprocess.run([forge, "notebook", "verify", "--json", out], capture_output=True, text=True)
    assert done.returncode == 1
    assert [c["status"] for c in json.loads(done.stdout)["cells"]] == ["changed"]
    assert "43" in done.stdout


def test_a_capture_outlives_other_clients(forge, tmp_path):
    """nbformat writes the notebook anew, keys and digits in its own way; the hash holds."""
    subprocess.run([forge, "notebook", "new", tmp_path / "bench", "--template", "bench"], check=True)
    quick = ["--param", "backend=portable", "--param", "blocks=6", "--param", "samples=6", "--param", "spread=1ms"]
    out = tmp_path / "out.ipynb"
    subprocess.run([forge, "notebook", "run", "-q", tmp_path / "bench.ipynb", "-o", out, *quick], check=True)
    nbformat.write(nbformat.read(out, as_version=4), out)
    done = subprocess.run([forge, "notebook", "verify", "--stored", "--json", out], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "captures that prove themselves: 1" in done.stdout


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

"""Forge cells in a Python notebook: the extension under the Jupyter of today, and of the hosts.

The notebook's own kernel is a real ipykernel: that of this environment, and the versions that
Colab and Kaggle pin. It finds the extension as forge install writes it. More environments, of
other versions of Python, are named by the variable FORGE_MORE_PYTHONS: paths with colons between.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from messages import TIMEOUT, collect, of_type, reply_to, run, text
from processes import gone

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHONS = {"current": sys.executable, "hosts": os.environ.get("FORGE_HOSTS_PYTHON", ROOT / ".venv-hosts" / "bin" / "python")}

PYTHONS |= {path: path for path in os.environ.get("FORGE_MORE_PYTHONS", "").split(":") if path}


class Notebook:
    """A Python kernel that has loaded the extension."""

    def __init__(self, python, forge, folder):
        modules, specs, self.tmp = folder / "modules", folder / "kernels", folder / "tmp"
        subprocess.run([forge, "install", "--prefix", folder, "--extension", modules], check=True, stdout=subprocess.DEVNULL)
        (specs / "notebook").mkdir(parents=True)
        self.tmp.mkdir()
        argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        (specs / "notebook" / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "", "language": "python"}))
        self.manager = KernelManager(kernel_name="notebook", kernel_spec_manager=KernelSpecManager(kernel_dirs=[str(specs)]))
        env = {**os.environ, "PYTHONPATH": str(modules), "TMPDIR": str(self.tmp)}
        env.pop("JPY_PARENT_PID", None)
        self.manager.start_kernel(env=env)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=TIMEOUT)
        self.do("%load_ext forge_magic")
        prefix = "import sys; print(sys.prefix)"  # Jupyter has names that mean its own Python
        assert self.do(prefix)[0] == subprocess.run([python, "-c", prefix], check=True, capture_output=True, text=True).stdout

    def run(self, code, **options):
        # Else an old ipykernel aborts what it gets just after an error.
        reply, messages = run(self.client, code, stop_on_error=False, **options)
        return reply["content"], messages

    def do(self, code):
        """Execute a cell that has no error, and return what it prints and its messages."""
        reply, messages = self.run(code)
        assert reply["status"] == "ok", reply
        return text(messages), messages

    def fails(self, code, **options):
        """Execute a cell that has an error: what the person sees is what the reply says."""
        reply, messages = self.run(code, **options)
        (error,) = of_type(messages, "error")
        assert reply["status"] == "error"
        assert {k: reply[k] for k in ("ename", "evalue", "traceback")} == error["content"]
        assert "forge_magic.py" not in "".join(reply["traceback"])
        return reply

    def processes(self):
        """The front and the session of the Go kernel, and this notebook's kernel."""
        numbers, _ = self.do('%%go\nfmt.Println(os.Getppid(), os.Getpid())')
        return [int(n) for n in numbers.split()] + [self.manager.provisioner.process.pid]

    def close(self):
        self.client.stop_channels()
        if self.manager.has_kernel:
            self.manager.shutdown_kernel()


@pytest.fixture(scope="module", params=PYTHONS)
def python(request):
    path = pathlib.Path(PYTHONS[request.param])
    assert path.exists(), f"{path} is missing: run 'make hosts-env' first"
    return path


@pytest.fixture(scope="module")
def notebook(python, forge, tmp_path_factory):
    """One notebook for the tests that leave it usable."""
    opened = Notebook(python, forge, tmp_path_factory.mktemp("nb"))
    yield opened
    opened.close()


@pytest.fixture
def fresh(python, forge, tmp_path):
    """A notebook for the tests that end it."""
    opened = Notebook(python, forge, tmp_path)
    yield opened
    opened.close()


def test_cells_show_what_the_go_kernel_shows(notebook):
    printed, messages = notebook.do('%%go\nfmt.Println("a", "ü")\nfmt.Fprintln(os.Stderr, "b")\n6 * 7')
    assert printed == "a ü\n" and text(messages, "stderr") == "b\n"
    (shown,) = of_type(messages, "display_data")
    assert shown["content"]["data"] == {"text/plain": "42"}
    _, messages = notebook.do("%%forge --shapes 2x3 --show ir\ndef double(x):\n    return x + x")
    (shown,) = of_type(messages, "display_data")
    assert {"text/html", "text/plain"} <= set(shown["content"]["data"])
    printed, _ = notebook.do("%%go\nfmt.Println(double(forge.Ones(2)).At(1))")
    assert printed == "2\n"
    # Braces and dollars on the magic's line are the Go kernel's, and so is the numbering of lines.
    reply = notebook.fails("%%go\n\nx := 1\nnothing(x)")
    assert (reply["ename"], reply["evalue"]) == ("CompileError", "undefined: nothing")
    assert ":4:1" in "".join(reply["traceback"])


def test_errors_count_the_cells_of_the_notebook(notebook):
    notebook.do("%%go\nfunc broken() { panic(1) }")
    defined = notebook.run("1")[0]["execution_count"] - 1
    reply = notebook.fails("%%go\n\nbroken()")
    assert reply["execution_count"] == defined + 2
    trace = "".join(reply["traceback"])
    assert f"cell {defined + 2}:3" in trace and f"cell {defined}:2" in trace, trace
    reply = notebook.fails("%%forge\ndef f(x):\n    return y")
    assert f"cell {defined + 3}:3:12" in "".join(reply["traceback"])


def test_displays_are_updated_and_cleared(notebook):
    _, messages = notebook.do('%%go\ndisplay.ShowID("bar", "half")\ndisplay.Update("bar", "whole")')
    shown, updated = of_type(messages, "display_data") + of_type(messages, "update_display_data")
    assert shown["content"]["transient"] == updated["content"]["transient"] == {"display_id": "bar"}
    assert "whole" in updated["content"]["data"]["text/plain"]
    _, messages = notebook.do("%%go\ndisplay.Clear(true)")
    (cleared,) = of_type(messages, "clear_output")
    assert cleared["content"] == {"wait": True}


def test_completion_is_that_of_the_go_kernel(notebook):
    if notebook.do("import IPython; print(IPython.version_info >= (8, 6))")[0] == "False\n":
        pytest.skip("before IPython 8.6 a completer sees one line of a cell")
    notebook.do("import forge_magic\nforge_magic.ASK_MILLISECONDS = 100_000  # a machine may stall for longer than a person waits")
    notebook.do("%%go\ncompleted := 1")
    code = '%%go\n// ü\nfmt.Println(strings.ToUpperS + comp'
    for cursor, found in ((len(code) - 7, {"ToUpperSpecial"}), (len(code), {"completed", "complex", "complex128", "complex64"})):
        reply = reply_to(notebook.client, notebook.client.complete(code, cursor))["content"]
        matches = {match.rpartition(".")[2] for match in reply["matches"]}
        assert found <= matches and reply["cursor_end"] == cursor, reply
        assert code[reply["cursor_start"] : cursor] in ("strings.ToUpperS", "ToUpperS", "comp")


def test_help_opens_the_pager(notebook):
    reply, _ = notebook.run("%%go\nfmt.Println?")
    (page,) = [p for p in reply["payload"] if p["source"] == "page"]
    assert "Println" in page["data"]["text/plain"]


def test_an_error_stops_and_keeps_everything(notebook):
    notebook.do("%%go\nkept := 41")
    reply = notebook.fails('%%go\nkept++\npanic("no")')
    assert (reply["ename"], reply["evalue"]) == ("panic", "panic: no")
    assert notebook.do("%%go\nfmt.Println(kept)")[0] == "42\n"


@pytest.mark.parametrize("prompt", ["", "name: "])
def test_input_is_asked_of_the_person(notebook, prompt):
    msg_id = notebook.client.execute(f'%%go\nvar line string\nfmt.Print("{prompt}")\nfmt.Scanln(&line)\nfmt.Println("got", line)', allow_stdin=True)
    request = notebook.client.get_stdin_msg(timeout=TIMEOUT)
    assert request["content"] == {"prompt": "", "password": False}
    notebook.client.input("Ada")
    assert text(collect(notebook.client, msg_id)) == f"{prompt}got Ada\n"
    assert reply_to(notebook.client, msg_id)["content"]["status"] == "ok"


def test_input_that_nobody_gives_ends_the_cell(notebook):
    reply = notebook.fails("%%go\nvar line string\nfmt.Scanln(&line)", allow_stdin=False)
    assert "asks for input: raw_input was called, but this frontend does not support" in reply["evalue"]
    assert notebook.do("%%go\n1")[1]


def started(client, code):
    """Send a cell that prints a line first, and wait for that."""
    msg_id = client.execute(code, allow_stdin=True, stop_on_error=False)
    while not text([client.get_iopub_msg(timeout=TIMEOUT)]):
        pass
    return msg_id


@pytest.mark.parametrize("cell", ["for {\n}", "time.Sleep(time.Hour)", "var s string\nfmt.Scanln(&s)\nselect {}"])
def test_an_interrupt_keeps_the_session(notebook, cell):
    notebook.do("%%go\nkept := 7")
    msg_id = started(notebook.client, f'%%go\nfmt.Println("begun")\n{cell}')
    notebook.manager.interrupt_kernel()
    collect(notebook.client, msg_id)
    reply = reply_to(notebook.client, msg_id)["content"]
    assert reply["status"] == "error" and reply["ename"] == "Interrupt"
    assert notebook.do("%%go\nfmt.Println(kept)")[0] == "7\n"


ROUND_TRIP = """
import numpy as np

def layouts(dtype):
    a = np.arange(-12, 12).reshape(2, 3, 4).astype(dtype)
    yield from (a, a.T, a[:, ::2, ::-1], np.asfortranarray(a), a[:0], a[1, 1, 1], a.astype(a.dtype.newbyteorder(">")))
    fixed = a.copy()
    fixed.flags.writeable = False
    yield fixed

dtypes = [np.float32, np.float64, np.float16, np.int64, np.int32, np.bool_, np.int16, np.int8, np.uint8, np.uint16, np.uint32]
held = {"int16": "int32", "int8": "int32", "uint8": "int32", "uint16": "int32", "uint32": "int64"}
for dtype in dtypes:
    for größe in layouts(dtype):
        sent = größe
        %forge_push größe
        größe = None
        %forge_pull größe
        assert größe.shape == sent.shape and größe.dtype == held.get(np.dtype(dtype).name, dtype), (dtype, größe.dtype)
        assert größe.flags.writeable and größe.flags.aligned and größe.flags.c_contiguous
        assert np.array_equal(größe, sent)
nan = np.array([np.nan, -0.0, np.inf], np.float32)
bits = nan.tobytes()
%forge_push nan
%forge_pull nan
assert nan.tobytes() == bits
file, err, tensors = np.ones(1), np.ones(2), np.ones(3)  # as variables of the cell that nobody sees
%forge_push file err tensors
%forge_pull file err tensors
assert [len(a) for a in (file, err, tensors)] == [1, 2, 3]
"""


def test_arrays_go_and_come_back(notebook):
    notebook.do(ROUND_TRIP)


TORCH = """
import torch
for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.bool):
    a = torch.arange(-12, 12).reshape(2, 3, 4).to(dtype)
    for x in (a, a.transpose(0, 2), a[:, ::2], a[:0], a[1, 1, 1], a.clone().requires_grad_(dtype.is_floating_point)):
        sent = x
        %forge_push x
        %forge_pull --torch x
        assert x.dtype == dtype and x.shape == sent.shape and torch.equal(x, sent), (dtype, x)
sparse = torch.eye(3).to_sparse()
"""


def test_tensors_of_torch_go_and_come_back(notebook):
    if notebook.run("import torch")[0]["status"] == "error":
        pytest.skip("this Python has no torch, whose wheel is 3 GB")
    notebook.do(TORCH)
    assert "takes dense ones" in notebook.fails("%forge_push sparse")["evalue"]


def test_bfloat16_comes_without_a_type_of_numpy(notebook):
    notebook.do("%%go\nhalf, _ := forge.Ones(2).Convert(tensor.BF16)")
    assert "which NumPy lacks: write %forge_pull --torch half" in notebook.fails("%forge_pull half")["evalue"]


@pytest.mark.parametrize("code, says", [
    ("%forge_push", "usage: %forge_push NAME…"),
    ("%forge_pull", "usage: %forge_pull NAME…"),
    ("%forge_push nothing", "there is no nothing in this notebook's Python"),
    ("%forge_pull nothing", "%forge_pull: no Go cell has defined nothing; %forge_pull takes tensors (*forge.Tensor), which forge.From and forge.Scalar make of numbers"),
    ("%forge_push 1x", "1x cannot be the name of a variable in Go cells"),
    ("select = 1\n%forge_push select", "select cannot be the name of a variable in Go cells"),
    ("%forge_pull len", "len cannot be the name of a variable in Go cells"),
    ("%forge_pull os", "os cannot be the name of a variable in Go cells"),
    ("word = 'a'\n%forge_push word", "word is of type str; %forge_push takes arrays of NumPy and tensors of torch"),
    ("import numpy\nc = numpy.zeros(2, complex)\n%forge_push c", "c is an array of complex128; %forge_push takes float32, "),
    ("import numpy\nr = numpy.zeros((1,) * 9)\n%forge_push r", '%forge_push: tensor "r": shape [1,1,1,1,1,1,1,1,1] has rank 9; the limit is 8'),
    ("import numpy\nm = numpy.ma.array([1.0], mask=[True])\n%forge_push m", "m is of type MaskedArray; %forge_push takes arrays of NumPy"),
    ("%%go\nlist := []float64{1}\ntype pair struct{ a, b int }\nboth, greeting, none := pair{1, 2}, \"hi\", (*forge.Tensor)(nil)\nvar failure error\nfunc triple(x int) int { return 3 * x }", ""),
    ("%%forge --show ir\ndef doubled(x: f32[2]):\n    return x + x", ""),
    ("%forge_pull list", "%forge_pull: list is of type []float64; %forge_pull takes tensors (*forge.Tensor), which forge.From and forge.Scalar make of numbers"),
    ("%forge_pull both", "%forge_pull: both is of type main.pair; %forge_pull takes tensors"),
    ("%forge_pull greeting", "%forge_pull: greeting is of type string; %forge_pull takes tensors"),
    ("%forge_pull none", "%forge_pull: none is nil; %forge_pull takes tensors"),
    ("%forge_pull failure", "%forge_pull: failure is nil; %forge_pull takes tensors"),
    ("%forge_pull triple", "%forge_pull: triple is a function; %forge_pull takes tensors"),
    ("%forge_pull doubled", "%forge_pull: doubled is a function; %forge_pull takes tensors"),
    ("%forge_pull pair", "%forge_pull: pair is not a value of Go cells; %forge_pull takes tensors"),
    ("%forge_pull strings", "%forge_pull: no Go cell has defined strings; %forge_pull takes tensors"),
])
def test_what_cannot_go_is_refused_in_a_sentence(notebook, code, says):
    if says:
        assert says in notebook.fails(code)["evalue"]
    else:
        notebook.do(code)


def test_one_thread_at_a_time_has_the_go_kernel(notebook):
    notebook.do('''
import pathlib, tempfile, threading, time
running, tried = (pathlib.Path(tempfile.gettempdir(), name) for name in ("running", "tried"))
said = []
def other():
    while not running.exists():
        time.sleep(0.001)
    try:
        get_ipython().run_cell_magic("go", "", "1")
    except Exception as err:
        said.append(str(err))
    tried.touch()
thread = threading.Thread(target=other)
thread.start()
get_ipython().run_cell_magic("go", "", f"""
    os.WriteFile("{running}", nil, 0o600)
    for _, err := os.Stat("{tried}"); err != nil; _, err = os.Stat("{tried}") {{
        time.Sleep(time.Millisecond)
    }}""")
thread.join()
running.unlink()
tried.unlink()
assert said == ["another Go cell runs: wait for its end"], said
get_ipython().run_cell_magic("go", "", "1")
''')


def test_nothing_moves_if_one_of_many_cannot(notebook):
    notebook.do("import numpy\nfirst = numpy.ones(2)\nsecond = 'a'")
    notebook.fails("%forge_push first second")
    assert notebook.fails("%%go\nfirst")["evalue"] == "undefined: first"
    notebook.do("%%go\nthird := forge.Ones(2)")
    notebook.fails("%forge_pull third fourth")
    assert notebook.fails("third")["ename"] == "NameError"


def descriptors(pid):
    """What a process holds open, but for what comes and goes by itself."""
    links = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return links


def test_shared_memory_is_private_and_leaves_nothing(notebook):
    printed, _ = notebook.do("import forge_magic, os, stat\nwith forge_magic.segment() as (fd, path):\n    print(oct(os.stat(path).st_mode))")
    assert printed == "0o100600\n"
    notebook.do("import numpy\nbig = numpy.arange(1 << 20, dtype=numpy.float64)\n%forge_push big\n%forge_pull big")
    pids = notebook.processes()
    before = [len([d for d in descriptors(pid) if "memfd:forge" in d]) for pid in pids]
    notebook.do("for i in range(20):\n    %forge_push big\n    %forge_pull big")
    assert notebook.do("print(big.sum())\n")[0] == f"{(1 << 20) * ((1 << 20) - 1) / 2}\n"
    assert [len([d for d in descriptors(pid) if "memfd:forge" in d]) for pid in pids] == before
    assert os.listdir(notebook.tmp) == []


def test_memory_that_does_not_suffice_is_an_error(notebook):
    notebook.do("import numpy, resource\nmany = numpy.ones(1 << 20)\nbefore = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
                "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))")
    assert "shared memory: [Errno 27] File too large" in notebook.fails("%forge_push many")["evalue"]
    notebook.do("resource.setrlimit(resource.RLIMIT_FSIZE, before)\n%forge_push many")


MOVING = "import numpy\nbig = numpy.ones(1 << 22)\nprint('begun', flush=True)\nwhile True:\n    %forge_push big\n    %forge_pull big"
RUNNING = '%%go\nfmt.Println("begun")\nfor {\n}'


@pytest.mark.parametrize("how, code", [
    (signal.SIGKILL, "pass"), (signal.SIGKILL, RUNNING), (signal.SIGKILL, MOVING), (signal.SIGTERM, "pass"), (None, "pass"), (None, RUNNING),
], ids=["killed", "killed-running", "killed-moving", "terminated", "asked", "asked-running"])
def test_the_go_kernel_ends_with_the_notebook(fresh, how, code):
    front, session, python = fresh.processes()
    if code == "pass":
        fresh.do(code)
    else:
        started(fresh.client, code)
    if how:
        os.kill(python, how)
    else:
        fresh.close()
    assert gone([front, session, python])
    assert os.listdir(fresh.tmp) == []


def test_a_go_kernel_that_is_killed_is_replaced(fresh):
    front, session, _ = fresh.processes()
    msg_id = started(fresh.client, RUNNING)
    os.kill(front, signal.SIGKILL)
    collect(fresh.client, msg_id)
    assert reply_to(fresh.client, msg_id)["content"]["evalue"] == "the Forge kernel has ended, with exit status -9, and its variables are lost"
    assert gone([front, session])
    front, session, _ = fresh.processes()
    os.kill(front, signal.SIGKILL)  # between two cells
    assert gone([front, session])
    printed, messages = fresh.do("%%go\nfmt.Println(1)")
    assert printed == "1\n" and "its variables are lost" in text(messages, "stderr")
    assert not text(fresh.do("%%go\n1")[1], "stderr")


def test_restart_and_unload_end_the_go_kernel(fresh):
    front, session, _ = fresh.processes()
    fresh.do("%%go\nx := 1")
    fresh.do("%forge_restart")
    assert gone([front, session])
    assert fresh.fails("%%go\nx")["evalue"] == "undefined: x"
    front, session, _ = fresh.processes()
    # What a host preloads into its Python is not for the Go kernel.
    fresh.do("import os\nos.environ.update(COLAB_RELEASE_TAG='test', LD_PRELOAD='libm.so.6')\n%forge_restart")
    assert fresh.do('%%go\nfmt.Printf("%q\\n", os.Getenv("LD_PRELOAD"))')[0] == '""\n'
    front, session, _ = fresh.processes()
    fresh.do("%unload_ext forge_magic")
    assert gone([front, session]) and os.listdir(fresh.tmp) == []


def test_output_between_cells_is_kept_for_the_next(fresh):
    fresh.do('%%go\ndone := make(chan bool)\ngo func() {\n\ttime.Sleep(100 * time.Millisecond)\n\tfor i := range 5000 {\n\t\tfmt.Println("late", i)\n\t}\n\tclose(done)\n}()')
    time.sleep(0.5)
    assert fresh.do("%%go\n<-done")[0].split("\n")[-2] == "late 4999"


def test_a_binary_that_cannot_run_is_named(fresh, tmp_path):
    plain = tmp_path / "forge-without-x"
    plain.write_text("")
    fresh.do(f"import os\nos.environ['FORGE_BIN'] = {str(plain)!r}")
    assert "may not be executed" in fresh.fails("%%go\n1")["evalue"]
    plain.write_text("#!/bin/sh\nexit 3\n")
    plain.chmod(0o755)
    assert "ended at its start, with exit status 3" in fresh.fails("%%go\n1")["evalue"]
    plain.write_text("#!/bin/sh\nexec sleep 60\n")
    fresh.do("import tempfile\nshort, tempfile.tempdir = tempfile.tempdir, tempfile.mkdtemp(prefix='x' * 100)")
    assert "folder is of no use for sockets: File name too long" in fresh.fails("%%go\n1")["evalue"]
    fresh.do("os.rmdir(tempfile.tempdir)\ntempfile.tempdir = short")
    plain.write_bytes(b"\x7fELF of another machine")
    assert f"cannot start {plain}" in fresh.fails("%%go\n1")["evalue"]
    assert os.listdir(fresh.tmp) == []

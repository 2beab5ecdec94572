"""Forge cells in a Python notebook.

    %load_ext forge_magic

    %%forge --shapes 8x16    a ForgeScript cell, with the options of the Forge kernel
    %%go                     a Go cell
    %forge_push x w          NumPy arrays and CPU tensors of torch become tensors of Go cells
    %forge_pull y            and back, as NumPy arrays; as tensors of torch with --torch
    %forge_restart           a new Go kernel, which has forgotten everything

The cells run in one Go kernel, a child of this process that the first of them starts.
What it prints, shows and asks is passed on, an interrupt of the Python kernel becomes one
of the Go kernel, and its errors fail the cell as it writes them. It ends with this process,
however that ends. The two talk over Unix sockets in a private folder, which is removed as
soon as both are connected, so that nothing is left on the disk.

jupyter_client gives the connection file, the launcher and the messages. Its KernelManager
and clients are coroutines underneath: version 7 runs them inside the loop of the notebook's
own kernel and version 8 on another thread, where an interrupt would leave them behind. Plain
sockets, read where the cell runs, need neither.

Arrays travel as a file of safetensors in shared memory that has no name and belongs to the
processes that hold it open: it is gone when they are. A cell that nobody sees tells the Go
kernel to read or write it. So it waits for its turn, declares variables as any Go cell does,
and has an error and an interrupt; a comm would come in the middle of a running cell.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import getpass
import json
import mmap
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from types import SimpleNamespace
from typing import Any, Iterator, Sequence

import zmq
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand
from IPython.display import clear_output, publish_display_data
from jupyter_client.connect import write_connection_file
from jupyter_client.launcher import launch_kernel
from jupyter_client.session import Session

INSTALLED = ""  # the binary that wrote this file
START_SECONDS = 60  # that the kernel has to connect
STOP_SECONDS = 5  # that it has to end when asked
ASK_MILLISECONDS = 1000  # that a completion may take
POLL_MILLISECONDS = 50  # after which an interrupt is seen


class ForgeError(Exception):
    """A failure of the Go kernel or of these magics; shown without Python's own frames."""

    def __init__(self, message: str, traceback: list[str] | None = None) -> None:
        super().__init__(message)
        self.traceback = traceback or [f"{type(self).__name__}: {message}"]

    def _render_traceback_(self) -> list[str]:  # IPython asks for it
        return self.traceback


def cell_error(reply: dict[str, Any]) -> ForgeError:
    """The error of a cell, under the name that the Go kernel gives it."""
    return type(reply["ename"], (ForgeError,), {})(reply["evalue"], reply["traceback"])


def find_binary() -> str:
    """The binary to start: $FORGE_BIN, the one that wrote this file, one beside it, one on PATH."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "forge")
    on_path = shutil.which("forge") or ""
    for path in (os.environ.get("FORGE_BIN", ""), INSTALLED, beside, on_path):
        if path and os.path.isfile(path):
            if not os.access(path, os.X_OK):
                raise ForgeError(f"{path} may not be executed: copy it to another folder and run chmod +x on it there")
            return path
    raise ForgeError("there is no forge binary: set FORGE_BIN to its path")


def environment() -> dict[str, str]:
    """The variables of the Go kernel. What these hosts preload is meant for their Python."""
    env = dict(os.environ)
    if "COLAB_RELEASE_TAG" in env or "KAGGLE_KERNEL_RUN_TYPE" in env:
        env.pop("LD_PRELOAD", None)
    return env


class Interrupts:
    """SIGINT while messages are read: counted, as an exception between two frames would lose a message."""

    def __init__(self) -> None:
        self.count = 0
        self._before: Any = None

    def _note(self, *_: Any) -> None:
        self.count += 1

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    @contextlib.contextmanager
    def raised(self) -> Iterator[None]:
        """For code of others, which knows interrupts as exceptions."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()


class Kernel:
    """A running Go kernel and the sockets to it."""

    def __init__(self, binary: str) -> None:
        self._owner = os.getpid()
        self._busy = threading.Lock()  # the sockets are for one thread at a time
        key = secrets.token_hex(32).encode()
        self._session: Any = Session(key=key)
        with tempfile.TemporaryDirectory(prefix="forge-") as folder:  # mode 0700
            where = os.path.join(folder, "kernel")
            file, ports = write_connection_file(where + ".json", ip=where, transport="ipc", key=key, kernel_name="forge")
            try:
                self._process = launch_kernel([binary, "kernel", "--connection-file", file], env=environment())
            except OSError as err:
                raise ForgeError(f"cannot start {binary}: {err}") from None
            self._context = zmq.Context()
            try:
                self._connect(where, ports)
            except BaseException:
                self._process.kill()
                self._process.wait()
                self._context.destroy(linger=0)
                raise

    def _connect(self, where: str, ports: Any) -> None:
        def connect(kind: int, channel: str) -> Any:
            socket = self._context.socket(kind)
            socket.linger = 1000
            socket.immediate = True  # writable means connected
            socket.reconnect_ivl, socket.reconnect_ivl_max = 5, 1000
            socket.rcvhwm = 0  # what comes between two cells waits here
            socket.identity = self._session.bsession
            try:
                socket.connect(f"ipc://{where}-{ports[channel + '_port']}")
            except zmq.ZMQError as err:
                raise ForgeError(f"the temporary folder is of no use for sockets: {err}") from None
            return socket

        self._iopub = connect(zmq.SUB, "iopub")
        self._iopub.subscribe(b"")
        self._shell, self._stdin, self._control = (connect(zmq.DEALER, c) for c in ("shell", "stdin", "control"))
        starting = zmq.Poller()
        starting.register(self._iopub, zmq.POLLIN)  # its welcome
        for socket in (self._shell, self._stdin, self._control):
            starting.register(socket, zmq.POLLOUT)
        deadline = time.monotonic() + START_SECONDS
        while starting.sockets:
            for socket, _ in starting.poll(POLL_MILLISECONDS):
                starting.unregister(socket)
            if (status := self._process.poll()) is not None:
                raise ForgeError(f"the Forge kernel ended at its start, with exit status {status}")
            if time.monotonic() > deadline:
                raise ForgeError(f"the Forge kernel did not answer within {START_SECONDS} s of its start")
        self._poller = zmq.Poller()
        for socket in (self._iopub, self._stdin, self._shell):
            self._poller.register(socket, zmq.POLLIN)

    def alive(self) -> bool:
        return self._process.poll() is None

    def obituary(self) -> str:
        return f"the Forge kernel has ended, with exit status {self._process.poll()}, and its variables are lost"

    def run(self, code: str, number: int, *, silent: bool = False) -> dict[str, Any]:
        """Execute a cell, pass on what it shows, and return the content of its reply. Errors call
        it by its number in the notebook."""
        if not self._busy.acquire(blocking=False):
            raise ForgeError("another Go cell runs: wait for its end")
        try:
            return self._execute(code, number, silent)
        finally:
            self._busy.release()

    def _execute(self, code: str, number: int, silent: bool) -> dict[str, Any]:
        content = {"code": code, "silent": silent, "store_history": not silent, "allow_stdin": True}
        sent = self._session.send(self._shell, "execute_request", content, metadata={"forge_cell": number})["header"]["msg_id"]
        reply: dict[str, Any] | None = None
        idle, interrupted, refused = False, 0, None
        with Interrupts() as interrupts:
            while reply is None or not idle:
                if interrupts.count > interrupted:
                    interrupted += 1
                    if interrupted > 1:
                        raise ForgeError("the Go cell goes on: %forge_restart ends it")
                    self._session.send(self._control, "interrupt_request", {})
                quiet = True
                for message in self._messages():
                    quiet = False
                    kind, ours = message["header"]["msg_type"], message["parent_header"].get("msg_id") == sent
                    if kind == "execute_reply" and ours:
                        reply = message["content"]
                    elif kind == "status" and ours:
                        idle = message["content"]["execution_state"] == "idle"
                    elif kind == "input_request":
                        refused = refused or self._answer(message, interrupts)
                    else:
                        show(message)
                if quiet and not self.alive():
                    raise ForgeError(self.obituary())
        if refused:
            raise refused
        return reply

    def ask(self, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        """The reply to a request between two cells; nothing if it takes too long or a cell runs."""
        if not self._busy.acquire(blocking=False):
            return {}
        try:
            sent = self._session.send(self._shell, kind, content)["header"]["msg_id"]
            while self._shell.poll(ASK_MILLISECONDS):
                message = self._session.recv(self._shell)[1]
                if message["parent_header"].get("msg_id") == sent:
                    return message["content"]
            return {}
        finally:
            self._busy.release()

    def _messages(self) -> Iterator[dict[str, Any]]:
        """What has arrived, outputs first."""
        ready = [socket for socket, _ in self._poller.poll(POLL_MILLISECONDS)]
        if self._stdin in ready:  # what was printed before the question
            self._iopub.poll(POLL_MILLISECONDS)
        for socket in (self._iopub, self._stdin, self._shell):
            while (message := self._session.recv(socket)[1]) is not None:
                yield message

    def _answer(self, request: dict[str, Any], interrupts: Interrupts) -> ForgeError | None:
        """Ask the person. Without an answer the cell is interrupted; a reason is returned."""
        ask = getpass.getpass if request["content"]["password"] else input
        try:
            with interrupts.raised():
                if interrupts.count:  # the question comes too late
                    return None
                value = ask(request["content"]["prompt"])
        except (Exception, KeyboardInterrupt) as err:
            self._session.send(self._control, "interrupt_request", {})
            return None if isinstance(err, KeyboardInterrupt) else ForgeError(f"the Go cell asks for input: {err}")
        self._session.send(self._stdin, "input_reply", {"value": value}, parent=request)
        return None

    def close(self) -> None:
        """End the kernel and wait for it. In a fork of this process nothing happens."""
        if os.getpid() != self._owner:
            return
        if self.alive():
            self._session.send(self._control, "shutdown_request", {"restart": False})
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._context.destroy(linger=0)


def show(message: dict[str, Any]) -> None:
    """Pass an output on to the running Python cell."""
    kind, content = message["header"]["msg_type"], message["content"]
    if kind == "stream":
        stream = sys.stderr if content["name"] == "stderr" else sys.stdout
        stream.write(content["text"])
        stream.flush()
    elif kind in ("display_data", "execute_result", "update_display_data"):
        publish_display_data(content["data"], content["metadata"], transient=content.get("transient"),
                             update=kind == "update_display_data")
    elif kind == "clear_output":
        clear_output(wait=content["wait"])


# The element types that both sides have, by their names in safetensors. The Go kernel widens
# integers of 8 and 16 bits to int32, and uint32 to int64.
NUMPY_TYPES = {"float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16", "bool": "BOOL", "int64": "I64",
               "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8", "uint16": "U16", "uint32": "U32"}
RESERVED = frozenset("break case chan const continue default defer else fallthrough for func go goto if import interface map "
                     "package range return select struct switch type var _ forge nebula display os init main "
                     # What Go predeclares: such a variable would break all later cells.
                     "any append bool byte cap clear close comparable complex complex128 complex64 copy delete error false "
                     "float32 float64 imag int int16 int32 int64 int8 iota len make max min new nil panic print println real "
                     "recover rune string true uint uint16 uint32 uint64 uint8 uintptr".split())


@contextlib.contextmanager
def segment() -> Iterator[tuple[int, str]]:
    """Shared memory that ends with those who hold it open: a descriptor and the path by which
    another process of this user opens it. Without such memory it is a file, which is gone
    when this function ends."""
    if hasattr(os, "memfd_create"):
        fd, file = os.memfd_create("forge", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), None
        os.fchmod(fd, 0o600)
    else:
        fd, file = tempfile.mkstemp(prefix="forge-")  # mode 0600
    try:
        yield fd, file or f"/proc/{os.getpid()}/fd/{fd}"
    except OSError as err:
        raise ForgeError(f"shared memory: {err}") from None
    finally:
        os.close(fd)
        if file:
            os.unlink(file)


def encode(name: str, value: Any) -> tuple[str, list[int], memoryview]:
    """The safetensors type, the shape and the bytes of an array; row-major, copied only if it is not."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch and isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        if value.device.type != "cpu" or value.layout != torch.strided or dtype not in NUMPY_TYPES:
            raise ForgeError(f"{name} is a {value.layout} tensor of {value.dtype} on {value.device}; "
                             f"%forge_push takes dense ones on the CPU, of {', '.join(NUMPY_TYPES)}")
        flat = value.detach().resolve_neg().contiguous().reshape(-1)
        return NUMPY_TYPES[dtype], list(value.shape), memoryview(flat.view(torch.uint8).numpy())
    if numpy and isinstance(value, (numpy.ndarray, numpy.generic)) and not isinstance(value, numpy.ma.MaskedArray):
        array = numpy.asarray(value)
        if array.dtype.name not in NUMPY_TYPES:
            raise ForgeError(f"{name} is an array of {array.dtype}; %forge_push takes {', '.join(NUMPY_TYPES)}")
        row_major = numpy.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        return NUMPY_TYPES[array.dtype.name], list(array.shape), memoryview(row_major.reshape(-1).view(numpy.uint8))
    raise ForgeError(f"{name} is of type {type(value).__name__}; %forge_push takes arrays of NumPy and tensors of torch")


def write_segment(fd: int, values: dict[str, Any]) -> None:
    """Write values as a file of safetensors, and forbid every later change of it."""
    table, parts, end = {}, [], 0
    for name, value in values.items():
        dtype, shape, data = encode(name, value)
        table[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + data.nbytes]}
        parts.append(data)
        end += data.nbytes
    header = json.dumps(table).encode()
    header += b" " * (-len(header) % 8)
    for part in (memoryview(len(header).to_bytes(8, "little") + header), *parts):
        while part.nbytes:
            part = part[os.write(fd, part):]
    if hasattr(os, "memfd_create"):
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)


def read_segment(fd: int, torch: Any) -> dict[str, Any]:
    """The arrays of a file of safetensors, which stay where they are."""
    memory = mmap.mmap(fd, 0)
    start = 8 + int.from_bytes(memory[:8], "little")
    table = json.loads(memory[8:start])
    return {name: decode(name, memory, start, entry, torch) for name, entry in table.items()}


def decode(name: str, memory: mmap.mmap, start: int, entry: dict[str, Any], torch: Any) -> Any:
    dtype = next(numpy for numpy, ours in NUMPY_TYPES.items() if ours == entry["dtype"])
    first, end = (start + offset for offset in entry["data_offsets"])
    if torch:
        flat = torch.frombuffer(memory, dtype=torch.uint8, count=end - first, offset=first) if end > first else torch.empty(0, dtype=torch.uint8)
        return flat.view(getattr(torch, dtype)).reshape(entry["shape"])
    import numpy

    if dtype == "bfloat16":
        try:
            import ml_dtypes  # teaches NumPy the name
        except ImportError:
            raise ForgeError(f"{name} is of bfloat16, which NumPy lacks: write %forge_pull --torch {name}, or convert it in Go") from None
        kind = numpy.dtype(ml_dtypes.bfloat16)
    else:
        kind = numpy.dtype(dtype).newbyteorder("<")
    return numpy.frombuffer(memory, numpy.uint8, end - first, first).view(kind).reshape(entry["shape"])


PULLABLE = "; %forge_pull takes tensors (*forge.Tensor), which forge.From and forge.Scalar make of numbers"


@magics_class
class ForgeMagics(Magics):
    """The magics of this extension, and the kernel behind them."""

    shell: Any

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._kernel: Kernel | None = None
        atexit.register(self.close)

    def close(self) -> None:
        """End the Go kernel, if there is one."""
        kernel, self._kernel = self._kernel, None
        if kernel:
            kernel.close()

    def complete(self, context: Any) -> dict[str, Any]:
        """What the Go kernel offers in a cell of its own, as a matcher of IPython."""
        code = context.full_text
        if not self._kernel or not code.startswith(("%%go", "%%forge")):
            return {"completions": []}
        above = code.split("\n")[: context.cursor_line]
        cursor = sum(len(line) + 1 for line in above) + context.cursor_position
        reply = self._kernel.ask("complete_request", {"code": code, "cursor_pos": cursor})
        found = [SimpleNamespace(text=match, type=None) for match in reply.get("matches", [])]
        return {"completions": found, "matched_fragment": code[reply.get("cursor_start", cursor) : cursor], "suppress": True, "ordered": True}

    def _run(self, code: str, *, silent: bool = False) -> dict[str, Any]:
        if self._kernel and not self._kernel.alive():
            print(self._kernel.obituary(), file=sys.stderr)
            self.close()
        if not self._kernel:
            self._kernel = Kernel(find_binary())
        try:
            reply = self._kernel.run(code, self.shell.displayhook.prompt_count, silent=silent)
        finally:
            if not self._kernel.alive():
                self.close()
        if reply["status"] != "ok":
            raise cell_error(reply)
        return reply

    def _relay(self, magic: str, line: str, cell: str) -> None:
        reply = self._run(f"%%{magic} {line}\n{cell}")
        for payload in reply.get("payload", []):
            self.shell.payload_manager.write_payload(payload)

    @no_var_expand
    @cell_magic
    def forge(self, line: str, cell: str) -> None:
        """Run a cell of ForgeScript in the Go kernel."""
        self._relay("forge", line, cell)

    @no_var_expand
    @cell_magic
    def go(self, line: str, cell: str) -> None:
        """Run a cell of Go in the Go kernel."""
        self._relay("go", line, cell)

    @line_magic
    def forge_restart(self, line: str) -> None:
        """End the Go kernel; the next cell starts a new one."""
        self.close()

    @no_var_expand
    @line_magic
    def forge_push(self, line: str) -> None:
        """%forge_push NAME…: give arrays of Python to Go cells, under the same names."""
        names = arguments("forge_push", line)
        for name in names:
            if name not in self.shell.user_ns:
                raise ForgeError(f"there is no {name} in this notebook's Python")
        with segment() as (fd, path):
            write_segment(fd, {name: self.shell.user_ns[name] for name in names})
            self._arrays("forge_push", path, f"""var {", ".join(names)} = func() ({", ".join(["*forge.Tensor"] * len(names))}) {{
                tensors, err := forge.ReadSafetensors({json.dumps(path)})
                if err != nil {{ panic(err) }}
                return {", ".join(f"tensors[{json.dumps(name)}]" for name in names)}
            }}()""")

    @no_var_expand
    @line_magic
    def forge_pull(self, line: str) -> None:
        """%forge_pull [--torch] NAME…: take tensors of Go cells, under the same names."""
        words = line.split()
        names = arguments("forge_pull", " ".join(w for w in words if w != "--torch"))
        torch = __import__("torch") if "--torch" in words else None
        with segment() as (fd, path):
            self._arrays("forge_pull", path, f"""func(names []string, values ...any) {{
                tensors := map[string]*forge.Tensor{{}}
                for i, value := range values {{
                    tensor, ok := value.(*forge.Tensor)
                    if !ok || tensor == nil {{
                        what := fmt.Sprintf("of type %T", value)
                        if v := reflect.ValueOf(value); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {{
                            what = "nil"
                        }} else if v.Kind() == reflect.Func {{
                            what = "a function"
                        }}
                        panic(names[i] + " is " + what + {json.dumps(PULLABLE)})
                    }}
                    tensors[names[i]] = tensor
                }}
                file, err := os.OpenFile({json.dumps(path)}, os.O_WRONLY, 0)
                if err != nil {{ panic(err) }}
                defer file.Close()
                err = forge.WriteSafetensors(file, tensors)
                if err != nil {{ panic(err) }}
            }}([]string{{{", ".join(json.dumps(n) for n in names)}}}, {", ".join(names)})""", names)
            self.shell.push(read_segment(fd, torch))

    def _arrays(self, magic: str, path: str, code: str, used: Sequence[str] = ()) -> None:
        """Run a cell that nobody sees and that uses some names. Of its error the message is of use,
        and the lines are not."""
        try:
            self._run(code, silent=True)
        except ForgeError as err:
            problem = self._no_value(used) if type(err).__name__ == "CompileError" else ""
            raise ForgeError(f"%{magic}: " + (problem or str(err).removeprefix("panic: ").replace(f"{path}: ", ""))) from None

    def _no_value(self, names: Sequence[str]) -> str:
        """Which of the names has no value in Go cells, and why; empty if all have one."""
        for name in names:
            try:
                self._run(f"_ = any({name})", silent=True)
            except ForgeError as err:
                if str(err).startswith("undefined: "):
                    return f"no Go cell has defined {name}{PULLABLE}"
                return f"{name} is not a value of Go cells{PULLABLE}"
        return ""


def arguments(magic: str, line: str) -> list[str]:
    """The names on the line of a magic, each once."""
    names = list(dict.fromkeys(line.split()))
    if not names:
        raise ForgeError(f"usage: %{magic} NAME…")
    for name in names:
        if not name.isidentifier() or name in RESERVED:
            raise ForgeError(f"{name} cannot be the name of a variable in Go cells")
    return names


def load_ipython_extension(shell: Any) -> None:
    """What %load_ext calls."""
    magics = ForgeMagics(shell)
    shell.register_magics(magics)
    if hasattr(shell.Completer, "custom_matchers"):  # IPython 8.6; before, a completer saw one line of a cell

        def forge_matcher(context: Any) -> dict[str, Any]:
            return magics.complete(context)

        forge_matcher.matcher_api_version = 2  # type: ignore[attr-defined]
        shell.Completer.custom_matchers.append(forge_matcher)


def unload_ipython_extension(shell: Any) -> None:
    """What %unload_ext calls."""
    matchers = getattr(shell.Completer, "custom_matchers", [])
    matchers[:] = [m for m in matchers if m.__name__ != "forge_matcher"]
    shell.magics_manager.registry["ForgeMagics"].close()

"""The kernel as VS Code's Jupyter extension uses it.

The extension itself is on no package registry. What it does is in its public source
(microsoft/vscode-jupyter): it starts kernelspecs by itself, with a connection file of
its own, sends interrupt_request by the shell, asks for completions with types and for
the help of each while one is chosen, and keeps displays by their id.
"""

import json
import os
import pathlib
import subprocess

import pytest
from jupyter_client import BlockingKernelClient
from jupyter_client.connect import write_connection_file

from messages import TIMEOUT, collect, of_type, reply_to, run
from processes import gone

SPEC = pathlib.Path("share", "jupyter", "kernels", "forge", "kernel.json")
# The kinds of completions that VS Code has an icon for.
KINDS = {
    "method", "function", "constructor", "field", "variable", "class", "struct", "interface", "module", "property", "event", "operator",
    "unit", "value", "constant", "enum", "enumMember", "keyword", "text", "color", "file", "reference", "folder", "typeParameter", "snippet",
}


@pytest.fixture
def started(tmp_path):
    """A client of a kernel that was started as VS Code starts one: by the argv of its
    kernelspec, with the file's path in place of the placeholder and no shell between."""
    spec = json.loads((pathlib.Path(os.environ["HOME"]) / SPEC).read_text())
    file = tmp_path / "a folder" / "kernel-v2-1Xy.json"
    file.parent.mkdir()
    write_connection_file(str(file), ip="127.0.0.1", kernel_name="forge")
    argv = [a.replace("{connection_file}", str(file)) for a in spec["argv"]]
    process = subprocess.Popen(argv, cwd=tmp_path, env={**os.environ, **spec["env"]}, stdin=subprocess.PIPE)
    client = BlockingKernelClient(connection_file=str(file))
    client.load_connection_file()
    client.start_channels()
    client.wait_for_ready(timeout=TIMEOUT)
    yield client, process, spec
    client.stop_channels()
    process.terminate()
    process.wait(TIMEOUT)
    process.stdin.close()


def asked(client, msg_id):
    return reply_to(client, msg_id)["content"]


def test_kernelspec_and_info(started):
    client, _, spec = started
    # The placeholder has an entry of its own, since beside an option VS Code puts a
    # path with a space into quotes.
    assert spec["argv"].count("{connection_file}") == 1 and sum("connection_file" in a for a in spec["argv"]) == 1
    assert pathlib.Path(spec["argv"][0]).is_absolute()
    assert spec["language"] == "go" and spec["display_name"] and spec["interrupt_mode"] == "message"
    info = asked(client, client.kernel_info())
    language = info["language_info"]
    assert language["name"] == spec["language"] and language["file_extension"] == ".go" and language["mimetype"] == "text/x-go"
    # Buttons of a debugger are there if the kernel has one.
    assert spec["metadata"]["debugger"] == ("debugger" in info["supported_features"])
    assert [set(link) for link in info["help_links"]] == [{"text", "url"}] * len(info["help_links"])


def test_interrupt_by_the_shell(started):
    client, _, _ = started
    run(client, "kept := 7")
    cell = client.execute("for i := 0; ; i++ {}")
    while client.get_iopub_msg(timeout=TIMEOUT)["msg_type"] != "execute_input":
        pass
    request = client.session.msg("interrupt_request", {})
    client.shell_channel.send(request)
    replies = {}
    while len(replies) < 2:
        r = client.get_shell_msg(timeout=TIMEOUT)
        replies[r["parent_header"]["msg_id"]] = r
    assert replies[request["header"]["msg_id"]]["content"]["status"] == "ok"
    assert replies[cell]["content"]["status"] == "error"
    _, messages = run(client, "kept")
    assert of_type(messages, "execute_result")[0]["content"]["data"]["text/plain"] == "7"


def test_completions_have_types_and_help(started):
    client, _, _ = started
    run(client, "größe := 3")
    for code in ("fmt.Pri", "time.Dur", "time.Now().For", "retu", 'import "encoding/js',  'a := "ö€𝄞"; str', "forge.", "%ti", "def f(x: f32[2]):\n    return sof", "grö"):
        reply = asked(client, client.complete(code, len(code)))
        items = reply["metadata"]["_jupyter_types_experimental"]
        assert reply["matches"] and [i["text"] for i in items] == reply["matches"], code
        for item in items:
            assert (item["start"], item["end"]) == (reply["cursor_start"], reply["cursor_end"]), code
            assert item["type"] in KINDS | ({"magic"} if code.startswith("%") else set()), item
    # The help of an entry is asked with the text before it and the entry itself.
    code = "fmt.Println"
    found = asked(client, client.inspect(code, len(code)))
    assert found["found"] and found["data"]["text/plain"].startswith("func Println(a ...any)")
    # Of a cell of several lines VS Code sends what stands before the column in the first
    # line: that is no name, and no failure.
    for code in ("x :=Println", "fm", "x := 1\ny :=Print"):
        assert asked(client, client.inspect(code, len(code)))["status"] == "ok"


def test_outputs_have_numbers_and_ids(started, tmp_path):
    client, _, _ = started
    # A meter shows itself after a second, and here the work ends when it has.
    shown, messages = tmp_path / "shown", []
    cell = client.execute(
        f'm := display.Progress(forge.Context(), "work", 2)\nfor _, err := os.Stat("{shown}"); err != nil; _, err = os.Stat("{shown}") {{'
        "\n\ttime.Sleep(time.Millisecond)\n}\nm.Add(1); m.Done(); 1+1"
    )
    while not of_type(messages, "display_data"):
        messages.append(client.get_iopub_msg(timeout=TIMEOUT))
    shown.touch()
    messages += collect(client, cell)
    reply = reply_to(client, cell)
    count = reply["content"]["execution_count"]
    assert of_type(messages, "execute_input")[0]["content"]["execution_count"] == count
    assert of_type(messages, "execute_result")[0]["content"]["execution_count"] == count
    first = of_type(messages, "display_data")[0]["content"]
    updates = of_type(messages, "update_display_data")
    assert first["transient"]["display_id"] and updates
    assert {u["content"]["transient"]["display_id"] for u in updates} == {first["transient"]["display_id"]}
    # A widget that nobody here knows is closed again at once.
    assert asked(client, client.comm_info()) == {"status": "ok", "comms": {}}
    opened = client.session.msg("comm_open", {"comm_id": "1", "target_name": "jupyter.widget", "data": {}})
    client.shell_channel.send(opened)
    closed = of_type(collect(client, opened["header"]["msg_id"]), "comm_close")
    assert [c["content"]["comm_id"] for c in closed] == ["1"]


def test_it_ends_with_its_process(started):
    """VS Code kills the process, and its children before."""
    client, process, _ = started
    _, messages = run(client, 'import "os"\nos.Getpid()')
    session = int(of_type(messages, "execute_result")[0]["content"]["data"]["text/plain"])
    os.kill(session, 15)
    process.terminate()
    assert process.wait(TIMEOUT) is not None
    assert gone([session])

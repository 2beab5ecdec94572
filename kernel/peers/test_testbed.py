"""The checks of the public kernel testbed that a Go kernel can pass.

One test for each check, with the Go snippets that the testbed uses. Its 27th,
rich_execute_result, has only a comment as its Go snippet; the same claim is
tested here with a value that shows itself.
"""

import time

import pytest

from messages import TIMEOUT, collect, of_type, reply_to, run, text

GONBUI = 'import "github.com/janpfeifer/gonb/gonbui"\n'


@pytest.fixture(scope="module")
def kc():
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="forge", startup_timeout=TIMEOUT)
    yield client
    client.stop_channels()
    manager.shutdown_kernel()


def request(client, kind, content, channel="shell"):
    msg = client.session.msg(kind, content)
    getattr(client, f"{channel}_channel").send(msg)
    return msg["header"]["msg_id"]


def test_heartbeat_responds(kc):
    assert kc.hb_channel.is_beating()
    assert kc.is_alive()


def test_kernel_info(kc):
    content = reply_to(kc, kc.kernel_info())["content"]
    assert content["status"] == "ok"
    assert content["language_info"]["name"] == "go"
    assert content["language_info"]["mimetype"]
    assert content["protocol_version"] == "5.5"
    assert "kernel subshells" in content["supported_features"]


def test_kernel_info_on_control(kc):
    msg_id = request(kc, "kernel_info_request", {}, "control")
    assert reply_to(kc, msg_id, "control")["content"]["status"] == "ok"


def test_execute_stdout(kc):
    assert "hello" in text(run(kc, 'fmt.Println("hello")')[1])


def test_execute_stderr(kc):
    assert "error" in text(run(kc, 'fmt.Fprintln(os.Stderr, "error")')[1], "stderr")


def test_execute_reply_ok(kc):
    assert run(kc, "1 + 1")[0]["content"]["status"] == "ok"


def test_status_busy_idle_lifecycle(kc):
    states = [m["content"]["execution_state"] for m in of_type(run(kc, "1 + 1")[1], "status")]
    assert states == ["busy", "idle"]


def test_execute_input_broadcast(kc):
    (msg,) = of_type(run(kc, "1 + 1")[1], "execute_input")
    assert msg["content"]["code"] == "1 + 1"


def test_complete_request(kc):
    run(kc, "testVariableForCompletion := 42")
    content = reply_to(kc, kc.complete("testVariableFor"))["content"]
    assert content["matches"] == ["testVariableForCompletion"]
    assert (content["cursor_start"], content["cursor_end"]) == (0, 15)


def test_inspect_request(kc):
    run(kc, "testVariableForCompletion := 42")
    content = reply_to(kc, kc.inspect("testVariableForCompletion"))["content"]
    assert content["found"] and "int" in content["data"]["text/plain"]


@pytest.mark.parametrize(
    "code, status", [("x := 1", "complete"), ("func foo(", "incomplete"), ("func func", "invalid")]
)
def test_is_complete(kc, code, status):
    assert reply_to(kc, kc.is_complete(code))["content"]["status"] == status


def test_history_request(kc):
    run(kc, "1 + 1")
    content = reply_to(kc, kc.history(hist_access_type="tail", n=10))["content"]
    assert content["status"] == "ok" and content["history"][-1][2] == "1 + 1"


def test_comm_info_request(kc):
    assert reply_to(kc, kc.comm_info())["content"] == {"status": "ok", "comms": {}}


def test_error_handling(kc):
    reply, messages = run(kc, "func func")
    assert reply["content"]["status"] == "error"
    (error,) = of_type(messages, "error")
    assert error["content"]["traceback"] and error["content"]["ename"]


def test_display_data(kc):
    (msg,) = of_type(run(kc, GONBUI + 'gonbui.DisplayHtml("<b>bold</b>")')[1], "display_data")
    assert msg["content"]["data"]["text/html"] == "<b>bold</b>"


def test_update_display_data(kc):
    code = 'id := gonbui.UniqueId()\ngonbui.UpdateHtml(id, "<b>initial</b>")\ngonbui.UpdateHtml(id, "<b>updated</b>")'
    messages = run(kc, GONBUI + code)[1]
    (first,) = of_type(messages, "display_data")
    (second,) = of_type(messages, "update_display_data")
    assert first["content"]["transient"]["display_id"] == second["content"]["transient"]["display_id"]


def test_execute_result(kc):
    (msg,) = of_type(run(kc, "1 + 1")[1], "execute_result")
    assert msg["content"]["data"]["text/plain"] == "2"


def test_rich_execute_result(kc):
    (msg,) = of_type(run(kc, 'display.HTML("<i>rich</i>")')[1], "execute_result")
    assert msg["content"]["data"]["text/html"] == "<i>rich</i>"


def test_stdin_input_request(kc):
    msg_id = kc.execute(GONBUI + 'gonbui.RequestInput("Enter: ", false)', allow_stdin=True)
    ask = kc.get_stdin_msg(timeout=TIMEOUT)
    assert ask["content"] == {"prompt": "Enter: ", "password": False}
    kc.input('an "answer"')
    assert reply_to(kc, msg_id)["content"]["status"] == "ok"
    collect(kc, msg_id)


def test_stdin_refused_when_not_allowed(kc):
    reply, _ = run(kc, GONBUI + 'gonbui.RequestInput("Enter: ", false)', allow_stdin=False)
    assert reply["content"]["status"] == "error"


def test_comms_lifecycle(kc):
    msg_id = request(kc, "comm_open", {"comm_id": "c1", "target_name": "nobody", "data": {}})
    (closed,) = of_type(collect(kc, msg_id), "comm_close")
    assert closed["content"]["comm_id"] == "c1"


def test_interrupt_request(kc):
    msg_id = kc.execute("time.Sleep(60 * time.Second)")
    while True:  # until the cell runs
        msg = kc.get_iopub_msg(timeout=TIMEOUT)
        if msg["msg_type"] == "execute_input" and msg["parent_header"]["msg_id"] == msg_id:
            break
    stop = request(kc, "interrupt_request", {}, "control")
    assert reply_to(kc, stop, "control")["content"]["status"] == "ok"
    reply = reply_to(kc, msg_id)
    assert reply["content"]["status"] == "error"
    assert run(kc, "1 + 1")[0]["content"]["status"] == "ok"


def test_execution_count_increments(kc):
    counts = [run(kc, "1 + 1")[0]["content"]["execution_count"] for _ in range(3)]
    assert counts == [counts[0], counts[0] + 1, counts[0] + 2]


def test_parent_header_correlation(kc):
    msg_id = kc.execute('fmt.Println("whose")')
    for msg in collect(kc, msg_id):
        assert msg["parent_header"]["msg_id"] == msg_id


def test_subshells_overlap(kc):
    """A cell of a subshell runs while the main shell is busy: it frees it."""
    run(kc, "gate := make(chan string)")
    created = reply_to(kc, request(kc, "create_subshell_request", {}, "control"), "control")["content"]
    waiting = kc.execute("<-gate")
    msg = kc.session.msg("execute_request", {"code": 'gate <- "open"', "silent": False, "store_history": True,
                                             "user_expressions": {}, "allow_stdin": False, "stop_on_error": True})
    msg["header"]["subshell_id"] = created["subshell_id"]
    kc.shell_channel.send(msg)
    replies = {}
    while len(replies) < 2:
        reply = kc.get_shell_msg(timeout=TIMEOUT)
        replies[reply["parent_header"]["msg_id"]] = reply["content"]["status"]
    assert replies == {waiting: "ok", msg["header"]["msg_id"]: "ok"}
    gone = request(kc, "delete_subshell_request", {"subshell_id": created["subshell_id"]}, "control")
    assert reply_to(kc, gone, "control")["content"]["status"] == "ok"


def test_shutdown_reply(kernel):
    manager, client = kernel
    msg_id = request(client, "shutdown_request", {"restart": False}, "control")
    reply = reply_to(client, msg_id, "control")
    assert reply["content"] == {"status": "ok", "restart": False}
    deadline = time.monotonic() + TIMEOUT
    while manager.is_alive():
        assert time.monotonic() < deadline, "the kernel did not exit"
        time.sleep(0.05)

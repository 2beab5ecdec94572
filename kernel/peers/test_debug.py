"""The debugger through Jupyter's messages, as a client that knows nothing of Go uses it."""

import os
import re
import signal
import time

import pytest

from messages import TIMEOUT, collect, reply_to, run

FUNCTION = """func area(w, h int) int {
	a := w * h
	a += 1
	return a
}"""
RUNS = "code runs that does not stop for a look: it can be paused"
CALL = "%time 1\nn := 3\nn = area(n, 4)\nn"


class Debugger:
    """Speaks the Debug Adapter Protocol over the control channel."""

    def __init__(self, client):
        self.client, self.seq = client, 0

    def start(self, command, **arguments):
        self.seq += 1
        content = {"type": "request", "seq": self.seq, "command": command, "arguments": arguments}
        msg = self.client.session.msg("debug_request", content)
        self.client.control_channel.send(msg)
        return msg

    def answer(self, msg):
        reply = reply_to(self.client, msg["header"]["msg_id"], "control")
        assert reply["msg_type"] == "debug_reply"
        answer, asked = reply["content"], msg["content"]
        assert answer["type"] == "response" and answer["request_seq"] == asked["seq"] and answer["command"] == asked["command"]
        return answer

    def ask(self, command, **arguments):
        return self.answer(self.start(command, **arguments))

    def must(self, command, **arguments):
        answer = self.ask(command, **arguments)
        assert answer["success"], answer
        return answer["body"]

    def held(self, command, **arguments):
        """must for what is computed beside a cell that runs: a busy machine may not hold that in time."""
        while (answer := self.ask(command, **arguments)).get("message") == RUNS:
            pass
        assert answer["success"], answer
        return answer["body"]

    def event(self, name):
        """The next event of a name; others are passed over."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            msg = self.client.get_iopub_msg(timeout=max(0.001, deadline - time.monotonic()))
            if msg["msg_type"] == "debug_event" and msg["content"]["event"] == name:
                assert msg["parent_header"]
                return msg["content"].get("body")

    def attach(self):
        assert self.must("initialize", clientID="test", adapterID="forge")["supportsConfigurationDoneRequest"]
        self.must("attach")
        self.event("initialized")
        self.must("configurationDone")

    def set(self, code, *lines):
        path = self.must("dumpCell", code=code)["sourcePath"]
        answer = self.must("setBreakpoints", source={"path": path}, breakpoints=[{"line": n} for n in lines])
        return path, answer["breakpoints"]

    def stopped(self):
        """The body of the next stop and the frames of its thread."""
        body = self.event("stopped")
        frames = self.must("stackTrace", threadId=body["threadId"])["stackFrames"]
        return body, frames

    def locals(self, frame):
        scopes = self.must("scopes", frameId=frame["id"])["scopes"]
        assert [s["name"] for s in scopes] == ["Locals", "Globals"]
        found = self.must("variables", variablesReference=scopes[0]["variablesReference"])["variables"]
        return {v["name"]: v["value"] for v in found}


@pytest.fixture
def debugger(kernel):
    return Debugger(kernel[1])


def test_info(debugger, kernel):
    info = reply_to(kernel[1], kernel[1].kernel_info())["content"]
    assert info["debugger"] is True and "debugger" in info["supported_features"]
    state = debugger.must("debugInfo")
    assert state["isStarted"] is False and state["hashMethod"] == "Murmur2" and state["richRendering"]
    debugger.attach()
    path, points = debugger.set(FUNCTION, 1, 4, 99)
    # The hash is what clients compute: ipykernel's own function does.
    from ipykernel.compiler import murmur2_x86

    want = state["tmpFilePrefix"] + str(murmur2_x86(FUNCTION, state["hashSeed"])) + state["tmpFileSuffix"]
    assert path == want
    assert [(p["line"], p["verified"]) for p in points] == [(2, True), (4, True), (99, False)]
    state = debugger.must("debugInfo")
    assert state["isStarted"] and [b["line"] for b in state["breakpoints"][0]["breakpoints"]] == [2, 4, 99]
    assert debugger.must("source", source={"path": path})["content"] == FUNCTION
    debugger.must("disconnect")
    assert debugger.must("debugInfo")["breakpoints"] == []


def test_session(debugger, kernel):
    """A breakpoint in a function of an earlier cell, every kind of step, variables."""
    client = kernel[1]
    run(client, FUNCTION)
    run(client, 'counts := map[string][]int{"a": {1, 2}}')
    debugger.attach()
    debugger.set(FUNCTION, 3)
    call, points = debugger.set(CALL, 1)
    assert points[0]["line"] == 2
    cell = client.execute(CALL)
    body, frames = debugger.stopped()
    assert body["reason"] == "breakpoint" and body["allThreadsStopped"]
    assert [(f["line"], f["source"]["path"]) for f in frames] == [(2, call)]
    debugger.must("next", threadId=body["threadId"])
    body, frames = debugger.stopped()
    assert body["reason"] == "step" and frames[0]["line"] == 3
    debugger.must("stepIn", threadId=body["threadId"])
    body, frames = debugger.stopped()
    assert [(f["name"], f["line"]) for f in frames] == [("area", 2), ("cell 3", 3)]
    assert debugger.locals(frames[0]) == {"w": "3", "h": "4"}
    debugger.must("continue", threadId=body["threadId"])
    body, frames = debugger.stopped()
    assert body["reason"] == "breakpoint" and debugger.locals(frames[0]) == {"w": "3", "h": "4", "a": "12"}
    # Everything but shell is answered while the cell is halted.
    value = debugger.must("evaluate", expression="a * len(counts)", frameId=frames[0]["id"], context="repl")
    assert (value["result"], value["type"]) == ("12", "int")
    assert not debugger.ask("evaluate", expression="nosuch", frameId=frames[0]["id"])["success"]
    rich = debugger.must("richInspectVariables", variableName="a", frameId=frames[0]["id"])
    assert rich["data"]["text/plain"] == "12"
    globals_ = {v["name"]: v for v in debugger.must("inspectVariables")["variables"]}
    assert globals_["counts"]["value"] == 'map["a": [1, 2]]' and globals_["n"]["value"] == "3"
    inner = debugger.must("variables", variablesReference=globals_["counts"]["variablesReference"])["variables"]
    assert (inner[0]["name"], inner[0]["value"]) == ('"a"', "[1, 2]")
    items = debugger.must("variables", variablesReference=inner[0]["variablesReference"], start=1, count=1)["variables"]
    assert [(v["name"], v["value"], v["evaluateName"]) for v in items] == [("[1]", "2", 'counts["a"][1]')]
    debugger.must("copyToGlobals", srcVariableName="a", dstVariableName="kept", srcFrameId=frames[0]["id"])
    debugger.must("stepOut", threadId=body["threadId"])
    body, frames = debugger.stopped()
    assert body["reason"] == "step" and frames[0]["line"] == 3
    assert not debugger.ask("scopes", frameId=1)["success"]
    debugger.must("continue", threadId=body["threadId"])
    messages = collect(client, cell)
    assert messages[-2]["content"]["data"]["text/plain"] == "13"
    assert run(client, "kept")[1][-2]["content"]["data"]["text/plain"] == "12"
    debugger.must("disconnect")
    assert run(client, "area(2, 2)")[1][-2]["content"]["data"]["text/plain"] == "5"


def test_pause_and_interrupt(debugger, kernel):
    """What runs already can be paused; an interrupt ends what is halted."""
    manager, client = kernel
    cell = client.execute('total := 0\nfmt.Println("up")\nfor {\n\ttotal++\n}')
    while client.get_iopub_msg(timeout=TIMEOUT)["msg_type"] != "stream":
        pass
    assert not debugger.ask("pause", threadId=1)["success"]
    debugger.attach()
    debugger.must("pause", threadId=1)
    body, frames = debugger.stopped()
    assert body["reason"] == "pause" and frames[0]["line"] in (3, 4)
    assert [t["id"] for t in debugger.must("threads")["threads"]] == [body["threadId"]]
    manager.interrupt_kernel()
    assert reply_to(client, cell)["content"]["ename"] == "Interrupt"
    assert not debugger.ask("stackTrace", threadId=body["threadId"])["success"]
    assert run(client, "total > 0")[1][-2]["content"]["data"]["text/plain"] == "true"


def test_panics_and_goroutines(debugger, kernel):
    client = kernel[1]
    debugger.attach()
    debugger.must("setExceptionBreakpoints", filters=["panic"])
    cell = client.execute("var wg sync.WaitGroup\nwg.Go(func() {\n\tn := 0\n\t_ = 1 / n\n})\nwg.Wait()")
    body, frames = debugger.stopped()
    assert body["reason"] == "exception" and "divide by zero" in body["text"]
    assert debugger.locals(frames[0]) == {"(panic)": "runtime error: integer divide by zero", "n": "0"}
    names = {t["id"]: t["name"] for t in debugger.must("threads")["threads"]}
    assert re.fullmatch(r"goroutine \d+ of cell 1", names[body["threadId"]])
    debugger.must("continue", threadId=body["threadId"])
    reply = reply_to(client, cell)["content"]
    assert reply["ename"] == "panic" and "divide by zero" in reply["evalue"]


def test_session_dies(debugger, kernel):
    """The client is told, and the next session is debugged like the one that is gone."""
    client = kernel[1]
    pid = int(run(client, "os.Getpid()")[1][-2]["content"]["data"]["text/plain"])
    run(client, FUNCTION)
    debugger.attach()
    path, _ = debugger.set(FUNCTION, 3)
    cell = client.execute(CALL)
    body, _ = debugger.stopped()
    os.kill(pid, signal.SIGKILL)
    assert debugger.event("continued")["threadId"] == body["threadId"]
    assert debugger.event("thread") == {"reason": "exited", "threadId": body["threadId"]}
    assert debugger.event("exited") == {"exitCode": 128 + signal.SIGKILL}
    assert reply_to(client, cell)["content"]["ename"] == "Killed"
    assert not debugger.ask("stackTrace", threadId=body["threadId"])["success"]
    state = debugger.must("debugInfo")
    assert state["isStarted"] and state["stoppedThreads"] == []
    assert [(b["source"], [p["line"] for p in b["breakpoints"]]) for b in state["breakpoints"]] == [(path, [3])]
    client.execute(FUNCTION)
    assert debugger.event("breakpoint")["breakpoint"]["verified"]
    cell = client.execute(CALL)
    body, frames = debugger.stopped()
    assert (frames[0]["name"], frames[0]["line"]) == ("area", 3)
    debugger.must("disconnect")
    debugger.event("terminated")
    assert collect(client, cell)[-2]["content"]["data"]["text/plain"] == "13"


LOOP = "func() int { for {} }()"


def looping(debugger, mark, **arguments):
    """Asks for a value that never comes, and waits until that is computed."""
    ask = debugger.start("evaluate", expression=f'func() int {{ os.WriteFile("{mark}", nil, 0o600); for {{}} }}()', **arguments)
    deadline = time.monotonic() + TIMEOUT
    while not mark.exists():
        assert time.monotonic() < deadline, "it is not computed"
        time.sleep(0.01)
    return ask


def halt(debugger, client, code, line):
    debugger.attach()
    debugger.set(code, line)
    cell = client.execute(code)
    return cell, *debugger.stopped()


def test_interrupted_evaluation(debugger, kernel, tmp_path):
    """An interrupt ends what is evaluated, whether a cell runs, is halted, or none is there."""
    manager, client = kernel
    run(client, "m := map[int]int{}")
    ask = looping(debugger, tmp_path / "idle")
    manager.interrupt_kernel()
    assert debugger.answer(ask)["message"] == "interrupted: running code"
    cell = client.execute("fmt.Println()\nfor i := 0; ; i++ {\n\tm[i%100]++\n}")
    while client.get_iopub_msg(timeout=TIMEOUT)["msg_type"] != "stream":
        pass
    for _ in range(20):  # what runs is held while it is looked at
        debugger.must("inspectVariables")
        debugger.held("evaluate", expression="m[7]")
        debugger.held("richInspectVariables", variableName="m")
    manager.interrupt_kernel()
    assert reply_to(client, cell)["content"]["ename"] == "Interrupt"
    cell, body, frames = halt(debugger, client, "n := 1\nn++", 2)
    ask = looping(debugger, tmp_path / "halted", frameId=frames[0]["id"])
    manager.interrupt_kernel()
    assert debugger.answer(ask)["message"] == "interrupted: running code"
    assert reply_to(client, cell)["content"]["ename"] == "Interrupt"
    assert debugger.event("continued")["threadId"] == body["threadId"]
    assert run(client, "n")[1][-2]["content"]["data"]["text/plain"] == "1"


def test_evaluation_ends_the_session(debugger, kernel):
    client = kernel[1]
    cell, _, frames = halt(debugger, client, "n := 1\nn++", 2)
    answer = debugger.ask("evaluate", expression="syscall.Kill(os.Getpid(), 9)", frameId=frames[0]["id"])
    assert answer["message"] == "the session ended before it answered"
    assert reply_to(client, cell)["content"]["ename"] == "Killed"
    assert debugger.must("debugInfo")["isStarted"]
    assert run(client, "1 + 1")[1][-2]["content"]["data"]["text/plain"] == "2"


def test_restart_within_an_evaluation(debugger, kernel):
    manager, client = kernel
    _, _, frames = halt(debugger, client, "n := 1\nn++", 2)
    debugger.start("evaluate", expression=LOOP, frameId=frames[0]["id"])
    manager.restart_kernel()
    client.wait_for_ready(timeout=TIMEOUT)
    assert run(client, "1 + 1")[1][-2]["content"]["data"]["text/plain"] == "2"


def test_another_client(debugger, kernel):
    """A client vanishes while its cell is halted; another one takes over."""
    from jupyter_client.blocking import BlockingKernelClient

    manager, client = kernel
    other = BlockingKernelClient()
    other.load_connection_file(manager.connection_file)
    other.start_channels()
    other.wait_for_ready(timeout=TIMEOUT)
    code = "n := 1\nn++\nn++"
    _, body, _ = halt(debugger, client, code, 2)
    client.stop_channels()
    second = Debugger(other)
    assert second.must("debugInfo")["stoppedThreads"] == [body["threadId"]]
    second.must("initialize", clientID="second")
    second.must("attach")
    waiting = other.execute("n + 100")
    assert second.must("stackTrace", threadId=body["threadId"])["stackFrames"][0]["line"] == 2
    second.must("continue", threadId=body["threadId"])
    assert collect(other, waiting)[-2]["content"]["data"]["text/plain"] == "103"
    second.must("disconnect")
    _, _, frames = halt(second, other, code, 3)
    assert frames[0]["line"] == 3
    second.must("disconnect")
    other.stop_channels()


@pytest.mark.parametrize("content", [
    {}, {"type": "event"}, {"type": "request", "command": "fly"}, {"type": "request", "command": "stackTrace", "arguments": {"threadId": "x"}},
    {"type": "request", "command": "variables", "arguments": {"variablesReference": -1}}, {"type": "request", "command": "next"},
    {"type": "request", "command": "setBreakpoints", "arguments": {"source": {"path": "/x"}}}, {"type": 1}, {"seq": []},
])
def test_bad_requests(debugger, kernel, content):
    """Each gets one answer that says what is wrong."""
    client = kernel[1]
    msg = client.session.msg("debug_request", content)
    client.control_channel.send(msg)
    answer = reply_to(client, msg["header"]["msg_id"], "control")["content"]
    assert answer["success"] is False and answer["message"]

"""Collecting the messages of one request from a blocking Jupyter client."""

import time
from queue import Empty

TIMEOUT = 120  # seconds: it ends a test that hangs, and no test measures it


def collect(client, msg_id, timeout=TIMEOUT):
    """Return the IOPub messages of a request up to and including its idle."""
    found = []
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            msg = client.get_iopub_msg(timeout=deadline - time.monotonic())
        except Empty:
            break
        if msg["parent_header"].get("msg_id") != msg_id:
            continue
        found.append(msg)
        if msg["msg_type"] == "status" and msg["content"]["execution_state"] == "idle":
            return found
    raise AssertionError(f"no idle within {timeout} s, only {[m['msg_type'] for m in found]}")


def reply_to(client, msg_id, channel="shell", timeout=TIMEOUT):
    """Return the reply to a request from a channel."""
    get = getattr(client, f"get_{channel}_msg")
    deadline = time.monotonic() + timeout
    while True:
        msg = get(timeout=max(0.001, deadline - time.monotonic()))
        if msg["parent_header"].get("msg_id") == msg_id:
            return msg


def run(client, code, **options):
    """Execute code and return (reply, IOPub messages)."""
    msg_id = client.execute(code, **options)
    messages = collect(client, msg_id)
    return reply_to(client, msg_id), messages


def of_type(messages, kind):
    return [m for m in messages if m["msg_type"] == kind]


def text(messages, name="stdout"):
    """Everything that a request printed on a stream."""
    return "".join(
        m["content"]["text"] for m in of_type(messages, "stream") if m["content"]["name"] == name
    )

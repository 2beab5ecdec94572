"""What becomes of the cells behind one that fails, as Run All sends them."""

from messages import TIMEOUT, reply_to


def test_cells_that_did_not_run_have_no_number(kernel, tmp_path):
    _, client = kernel
    # The first fails when the kernel has received the others, as its answer to the last
    # request tells.
    received = tmp_path / "received"
    fails = f'for _, err := os.Stat("{received}"); err != nil; _, err = os.Stat("{received}") {{\n}}\npanic("stop")'
    ids = [client.execute(code) for code in (fails, "1", "2")]
    reply_to(client, client.kernel_info())
    received.touch()
    replies = {}
    while len(replies) < len(ids):
        reply = client.get_shell_msg(timeout=TIMEOUT)
        if reply["parent_header"].get("msg_id") in ids:
            replies[reply["parent_header"]["msg_id"]] = reply["content"]
    failed, *aborted = (replies[i] for i in ids)
    assert failed["status"] == "error" and failed["execution_count"] == 1
    for reply in aborted:
        assert reply["status"] == "error" and reply["ename"] == "Aborted"
        assert "execution_count" not in reply  # Lab would write it beside the cell
    assert client.execute_interactive("3", timeout=TIMEOUT)["content"]["execution_count"] == 2

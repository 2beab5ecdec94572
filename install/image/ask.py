"""Asks the Jupyter server of this container, whose address and token it knows as its
user, for the kernels that it offers, starts the Forge kernel and lets it compute."""

import json
import subprocess
import urllib.request

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import start_new_kernel

servers = subprocess.run(["jupyter", "server", "list", "--json"], check=True, capture_output=True, text=True).stdout
server = json.loads(servers.splitlines()[0])


def get(path):
    # The server calls itself by the container's name, which is Docker's to resolve.
    request = urllib.request.Request("http://127.0.0.1:%d/%s" % (server["port"], path), headers={"Authorization": "token " + server["token"]})
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply)


offered = get("api/kernelspecs")["kernelspecs"]
assert "forge" in offered, offered.keys()
names = [entry["name"] for entry in get("api/contents")["content"]]
assert any(name.startswith("01-") for name in names), names
print("the server offers the kernel", offered["forge"]["spec"]["display_name"], "and", len(names), "entries of notebooks")

spec = KernelSpecManager().get_kernel_spec("forge")
manager, client = start_new_kernel(kernel_name="forge")
try:
    reply = client.execute_interactive("forge.Ones(2, 3).Values()", timeout=120, output_hook=lambda message: None)
    assert reply["content"]["status"] == "ok", reply["content"]
    print("the kernel", spec.argv[0], "computes")
finally:
    client.stop_channels()
    manager.shutdown_kernel()

"""How long a kernel takes from exec, with nothing of the client's in the time.

The connection file is there before the process starts, and the client's sockets
try the ports every millisecond with their request already queued. jupyter_client
itself connects later and tries again after 100 ms."""

import os
import socket
import subprocess
import time

import zmq
from jupyter_client.connect import write_connection_file
from jupyter_client.manager import KernelManager
from jupyter_client.session import Session

PORTS = "shell_port", "iopub_port", "stdin_port", "control_port", "hb_port"
TIMEOUT = 60


def bound(name, directory):
    """Seconds from exec until all five ports accept connections."""
    info, command = prepare(name, directory)
    began = time.perf_counter()
    kernel = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for port in PORTS:
            while not listens(info["ip"], info[port]):
                if time.perf_counter() - began > TIMEOUT:
                    raise TimeoutError(f"{name} does not bind its {port}")
                time.sleep(0.0005)
        return time.perf_counter() - began
    finally:
        end(kernel)


def answered(name, directory, msg_type, content):
    """Seconds from exec to the reply to a request on the shell channel."""
    info, command = prepare(name, directory)
    session = Session(key=info["key"].encode(), signature_scheme=info["signature_scheme"])
    context = zmq.Context()
    shell = context.socket(zmq.DEALER)
    shell.linger, shell.reconnect_ivl, shell.rcvtimeo = 0, 1, TIMEOUT * 1000
    shell.connect(f"tcp://{info['ip']}:{info['shell_port']}")
    session.send(shell, msg_type, content)
    time.sleep(0.05)  # the socket's own thread is at work
    began = time.perf_counter()
    kernel = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        frames = shell.recv_multipart()
        seconds = time.perf_counter() - began
        reply = session.deserialize(session.feed_identities(frames)[1])
        if reply["content"]["status"] != "ok":
            raise RuntimeError(f"{name} replies {reply['content']}")
        return seconds
    finally:
        context.destroy(linger=0)
        end(kernel)


def prepare(name, directory):
    """A new connection file's content, and the command that starts the kernel."""
    path = os.path.join(directory, "connection.json")
    if os.path.exists(path):
        os.remove(path)
    _, info = write_connection_file(path, ip="127.0.0.1")
    info["key"] = info["key"].decode() if isinstance(info["key"], bytes) else info["key"]
    return info, KernelManager(kernel_name=name, connection_file=path).format_kernel_cmd()


def listens(ip, port):
    with socket.socket() as s:
        return s.connect_ex((ip, port)) == 0


def end(kernel):
    kernel.terminate()
    try:
        kernel.wait(10)
    except subprocess.TimeoutExpired:
        kernel.kill()
        kernel.wait()


def process(command):
    """Seconds that a command takes which does nothing to speak of."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began

"""pyzmq clients of the Go sockets: clients.py ROUTER XPUB ECHO MESSAGES LARGE."""

import sys
import zmq
from zmq.utils.monitor import recv_monitor_message

router, xpub, echo, messages, large = sys.argv[1:4] + [int(a) for a in sys.argv[4:]]
context = zmq.Context()


def connect(kind, endpoint, identity=None):
    socket = context.socket(kind)
    socket.linger = 0
    socket.rcvtimeo = socket.sndtimeo = 30000
    socket.heartbeat_ivl = 10
    socket.heartbeat_timeout = 5000
    socket.heartbeat_ttl = 5000
    socket.rcvhwm = 0
    if identity:
        socket.identity = identity
    monitor = socket.get_monitor_socket(zmq.EVENT_DISCONNECTED | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL)
    if kind == zmq.SUB:
        socket.subscribe(b"")
    socket.connect(endpoint)
    return socket, monitor


def dealer():
    socket, monitor = connect(zmq.DEALER, router, b"\x00binary\xff identity")
    for first in range(0, messages, 500):  # both directions at once
        batch = [[b"", b"message", str(i).encode(), b"x" * (i % 300)] for i in range(first, first + 500)]
        for frames in batch:
            socket.send_multipart(frames)
        for frames in batch:
            assert socket.recv_multipart() == frames, frames[2]
    body = bytes(range(256)) * (large // 256)
    socket.send_multipart([b"large", body])
    assert socket.recv_multipart() == [b"large", body]
    return socket, monitor


def sub():
    socket, monitor = connect(zmq.SUB, xpub)
    assert socket.recv_multipart() == [b"", b"welcome"]
    for i in range(messages):
        assert socket.recv_multipart() == [b"topic", str(i).encode()], i
    topic, body = socket.recv_multipart()
    assert topic == b"large" and len(body) == large
    return socket, monitor


def req():
    socket, monitor = connect(zmq.REQ, echo)
    for i in range(200):
        socket.send_multipart([b"beat", str(i).encode()])
        assert socket.recv_multipart() == [b"beat", str(i).encode()]
    return socket, monitor


open_sockets = [sub(), dealer(), req()]
for socket, monitor in open_sockets:  # 30 heartbeats with nothing else going on
    assert not monitor.poll(100), recv_monitor_message(monitor)
print("ok", flush=True)
sys.stdin.read()
context.destroy(linger=0)

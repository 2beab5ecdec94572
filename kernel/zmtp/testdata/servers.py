"""pyzmq servers for the Go clients: servers.py ROUTER XPUB REP MESSAGES LARGE.

Endpoints may have port 0. Prints them as bound, then serves until stdin ends.
"""

import sys
import threading
import zmq

endpoints, (messages, large) = sys.argv[1:4], [int(a) for a in sys.argv[4:]]
context = zmq.Context()


def bind(kind, endpoint):
    socket = context.socket(kind)
    socket.linger = 0
    socket.heartbeat_ivl = 10
    socket.heartbeat_timeout = 5000
    socket.sndhwm = 0
    socket.bind(endpoint)
    return socket


router, xpub, rep = (bind(kind, e) for kind, e in zip((zmq.ROUTER, zmq.XPUB, zmq.REP), endpoints))
print(*(s.last_endpoint.decode() for s in (router, xpub, rep)), flush=True)


def echo(socket):
    while True:
        socket.send_multipart(socket.recv_multipart())


def publish():
    while True:
        if xpub.recv() != b"\x01topic":
            continue
        for i in range(messages):
            xpub.send_multipart([b"topic", str(i).encode()])
        xpub.send_multipart([b"other", b"not subscribed"])
        xpub.send_multipart([b"topic", b"L" * large])


for target, args in ((echo, (router,)), (echo, (rep,)), (publish, ())):
    threading.Thread(target=target, args=args, daemon=True).start()
sys.stdin.read()

"""A pyzmq DEALER that outlives its ROUTER: asks once for each line of stdin."""

import sys
import zmq

socket = zmq.Context().socket(zmq.DEALER)
socket.identity = b"patient"
socket.linger = 0
socket.reconnect_ivl = 10
socket.connect(sys.argv[1])
for line in sys.stdin:
    question = line.strip().encode()
    while True:  # what is sent into a gap is lost
        socket.send(question)
        if socket.poll(100) and socket.recv() == question:
            break
    print(line.strip(), flush=True)

"""Runs programs on another library for the measuring instrument.

usage: peers.py NAME THREADS DEVICE

DEVICE is cpu, or cuda for PyTorch, whose inputs and results then stay on the GPU.

Requests come as lines of JSON on standard input and are answered in order, one
line each, on standard output: {"id": N, "ok": {…}} or {"id": N, "error": "…"}.

  {"id": 1, "do": "hello"}                                      → versions
  {"id": 2, "do": "prepare", "program": PATH, "arrays": PATH}   → cost_ns, cache
      and "model": {"path": PATH, "inputs": [NAME], "outputs": [NAME]} for a program
      that was imported from a file, which a peer that reads such files runs instead
  {"id": 3, "do": "run", "results": PATH}                       → nothing; o0, o1, … in an .npz
  {"id": 4, "do": "time", "lead": L, "runs": N}                 → wall_ns, cpu_ns of N runs after L
      of which each is waited for
  {"id": 5, "do": "device"}                                     → device_ns of one run, by the clock of the GPU

What libraries print goes to standard error. The process ends with its input.
"""

import gc
import importlib
import json
import os
import platform
import sys
import time

import numpy as np

from program import File, Program

PEERS = {
    "numpy": ("numpy_peer", "Peer"),
    "torch-eager": ("torch_peer", "Peer"),
    "torch-compile": ("torch_peer", "CompiledPeer"),
    "onnxruntime": ("onnx_peer", "Peer"),
}


class Server:
    def __init__(self, name, threads, device):
        module, kind = PEERS[name]
        self.module = importlib.import_module(module)
        self.kind = getattr(self.module, kind)
        self.threads = threads
        self.on = device
        self.peer = None

    def hello(self, _):
        if self.on == "cpu":
            found = self.module.versions(self.threads)
        else:
            found = self.module.versions(self.threads, self.on)
        return {"versions": {"python": platform.python_version(), **found}}

    def prepare(self, request):
        self.peer = None
        gc.collect()
        kind, program = self.kind, None
        if "model" in request and hasattr(self.module, "FilePeer"):
            kind, program = self.module.FilePeer, File(request["model"], request["arrays"])
        else:
            program = Program(request["program"], request["arrays"])
        start = time.perf_counter_ns()
        self.peer = kind(program)
        return {"cost_ns": time.perf_counter_ns() - start, "cache": self.peer.cache}

    def run(self, request):
        results = [np.ascontiguousarray(a) for a in self.peer.arrays()]
        with open(request["results"], "wb") as f:
            np.savez(f, **{f"o{i}": a for i, a in enumerate(results)})
        return {}

    def time(self, request):
        peer, turns = self.peer, range(request["runs"])
        for _ in range(request["lead"]):
            peer()
        if self.on != "cpu":
            peer = self.waited
            peer()
        cpu, wall = time.process_time_ns(), time.perf_counter_ns()
        for _ in turns:
            peer()
        wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
        return {"wall_ns": wall, "cpu_ns": cpu}

    def waited(self):
        self.peer()
        self.module.wait()

    def device(self, _):
        return {"device_ns": self.module.device_time(self.peer)}


def main():
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    server = Server(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    gc.disable()  # as the module timeit does; prepare collects
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = {"ok": getattr(server, request["do"])(request)}
        except Exception as e:  # the parent records it in place of samples
            reply = {"error": f"{type(e).__name__}: {e}"[:2000]}
        replies.write(json.dumps({"id": request["id"], **reply}) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()

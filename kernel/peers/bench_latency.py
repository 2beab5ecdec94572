"""Forge and ipykernel side by side through jupyter_client.

Each round measures both kernels, one after the other, so that both meet the
same machine. Reported are medians and the ratio of medians; --out keeps every
sample with the environment it was taken in.

    python bench_latency.py [--rounds N] [--out FILE]

The start is measured as jupyter_client sees it, and from exec with a client
that is there before, which leaves the kernel's own part (see startup.py). Of
these parts, which take little, there are 20 samples and the minimum.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import ipykernel
import jupyter_client
import psutil
import zmq
from jupyter_client.manager import KernelManager

import startup
from messages import collect, reply_to

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORGE = pathlib.Path(os.environ.get("FORGE_BIN", ROOT / "bin" / "forge"))
WAIT = {"forge": "for {}", "python3": "while True: pass"}
NOTHING = {"forge": [FORGE, "version"], "python3": [sys.executable, "-c", "pass"]}
STARTS = 20
PRINTS = {
    "forge": 'for i := 0; i < 20000; i++ { fmt.Println("line", i) }',
    "python3": 'for i in range(20000): print("line", i)',
}


def start(name):
    """Start a kernel; return it with the seconds to its first kernel_info_reply."""
    manager = KernelManager(kernel_name=name)
    began = time.perf_counter()
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    reply_to(client, client.kernel_info())
    seconds = time.perf_counter() - began
    client.wait_for_ready(timeout=60)
    return manager, client, seconds


def execute(client, code):
    """Seconds from sending a cell to its reply and to its idle."""
    began = time.perf_counter()
    msg_id = client.execute(code)
    reply_to(client, msg_id)
    replied = time.perf_counter() - began
    messages = collect(client, msg_id)
    return replied, time.perf_counter() - began, messages


def interrupt(manager, client, code):
    """Seconds from the interrupt of an endless loop to the reply of its cell."""
    msg_id = client.execute(code)
    while client.get_iopub_msg(timeout=30)["msg_type"] != "execute_input":
        pass
    time.sleep(0.2)
    began = time.perf_counter()
    manager.interrupt_kernel()
    reply_to(client, msg_id)
    seconds = time.perf_counter() - began
    collect(client, msg_id)
    return seconds


def resident(manager):
    """Resident bytes of the kernel's processes. A page that several of them
    share, such as one of the program's text, counts once (PSS)."""
    parent = psutil.Process(manager.provisioner.pid)
    return sum(p.memory_full_info().pss for p in [parent, *parent.children(recursive=True)])


def measure_starts(note, directory):
    run = {"silent": True, "code": "1 + 1", "store_history": False, "user_expressions": {}, "allow_stdin": False}
    for _ in range(STARTS):
        for name in WAIT:
            note(name, "exec to exit of nothing, ms", startup.process(NOTHING[name]) * 1e3)
            note(name, "exec to sockets bound, ms", startup.bound(name, directory) * 1e3)
            note(name, "exec to kernel_info_reply, ms", startup.answered(name, directory, "kernel_info_request", {}) * 1e3)
            note(name, "exec to first cell's reply, ms", startup.answered(name, directory, "execute_request", run) * 1e3)


def measure(rounds, directory):
    samples = {name: {} for name in WAIT}

    def note(name, what, value):
        samples[name].setdefault(what, []).append(value)

    measure_starts(note, directory)
    for _ in range(rounds):
        for name, endless in WAIT.items():
            manager, client, seconds = start(name)
            try:
                note(name, "start to kernel_info_reply, ms", seconds * 1e3)
                time.sleep(0.5)
                note(name, "resident after start, MB", resident(manager) / 1e6)
                note(name, "first cell to reply, ms", execute(client, "1 + 1")[0] * 1e3)
                for _ in range(100):
                    replied, idle, _ = execute(client, "1 + 1")
                    note(name, "1 + 1 to reply, ms", replied * 1e3)
                    note(name, "1 + 1 to idle, ms", idle * 1e3)
                began = time.perf_counter()
                messages = execute(client, PRINTS[name])[2]
                note(name, "20,000 prints, ms", (time.perf_counter() - began) * 1e3)
                note(name, "20,000 prints, messages", sum(m["msg_type"] == "stream" for m in messages))
                note(name, "interrupt to reply, ms", interrupt(manager, client, endless) * 1e3)
            finally:
                client.stop_channels()
                manager.shutdown_kernel(now=True)
    return samples


def environment():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), "")
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return {
        "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "cpu": cpu, "cores": os.cpu_count(), "load": os.getloadavg(), "system": platform.platform(),
        "forge": subprocess.run([FORGE, "version"], capture_output=True, text=True).stdout.strip(),
        "commit": commit.stdout.strip(), "python": platform.python_version(),
        "ipykernel": ipykernel.__version__, "jupyter_client": jupyter_client.__version__,
        "pyzmq": zmq.__version__, "libzmq": zmq.zmq_version(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path, help="write every sample to this JSON file")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(JUPYTER_PATH=f"{home}/share/jupyter", XDG_STATE_HOME=home, IPYTHONDIR=home)
        subprocess.run([FORGE, "install", "--prefix", home], check=True, stdout=subprocess.DEVNULL)
        env = environment()
        samples = measure(args.rounds, home)
    print(f"{'median of ' + str(args.rounds) + ' rounds':38} {'forge':>10} {'ipykernel':>10} {'ratio':>7}")
    rows = [(what, statistics.median) for what in samples["forge"]]
    rows += [(what, min) for what in samples["forge"] if what.startswith("exec to")]
    for what, best in rows:
        ours, theirs = (best(samples[name][what]) for name in ("forge", "python3"))
        label = what + " (min)" if best is min else what
        print(f"{label:38} {ours:10.2f} {theirs:10.2f} {theirs / ours:7.2f}")
    if args.out:
        args.out.write_text(json.dumps({"environment": env, "samples": samples}, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Go cells and CPython side by side: the same loops in a Forge and an ipykernel.

Each round runs every program in both kernels, one after the other, so that both meet
the same machine; which goes first changes from round to round. Machines are shared, so
what is measured is the processor time of the kernel's processes, garbage collection
included; reported are minima of the rounds and their ratio.

    python bench_go.py [--rounds N] [--only NAME] [--out FILE]
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import psutil

from bench_latency import FORGE, environment, execute, start
from go_programs import PROGRAMS


def measure(rounds, chosen):
    samples = {program.name: {"forge": [], "python3": []} for program in chosen}
    started = {kernel: start(kernel) for kernel in ("forge", "python3")}
    try:
        for program in chosen:
            checked(started["forge"][1], program.go)
            checked(started["python3"][1], program.python)
        for i in range(rounds):
            for program in chosen:
                values = {}
                for kernel in sorted(started, reverse=i % 2 == 1):
                    manager, client, _ = started[kernel]
                    before = processor_time(manager)
                    values[kernel] = checked(client, program.run)
                    samples[program.name][kernel].append(processor_time(manager) - before)
                assert float(values["forge"]) == float(values["python3"]), (program.name, values)
    finally:
        for manager, client, _ in started.values():
            client.stop_channels()
            manager.shutdown_kernel(now=True)
    return samples


def processor_time(manager):
    """Seconds that all threads of a kernel have run so far, those that ended excepted."""
    parent = psutil.Process(manager.provisioner.pid)
    total = 0
    for process in [parent, *parent.children(recursive=True)]:
        for stat in pathlib.Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
            total += int(stat.read_text().split()[0])
    return total / 1e9


def checked(client, code):
    """The value of a cell as text."""
    messages = execute(client, code)[2]
    assert not any(m["msg_type"] == "error" for m in messages), (code, messages)
    values = [m["content"]["data"]["text/plain"] for m in messages if m["msg_type"] == "execute_result"]
    return values[0] if values else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="run the programs whose name has this in it")
    parser.add_argument("--out", type=pathlib.Path, help="write every sample to this JSON file")
    args = parser.parse_args()
    chosen = [program for program in PROGRAMS if args.only is None or args.only in program.name]
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(JUPYTER_PATH=f"{home}/share/jupyter", XDG_STATE_HOME=home, IPYTHONDIR=home)
        subprocess.run([FORGE, "install", "--prefix", home], check=True, stdout=subprocess.DEVNULL)
        env = environment()
        samples = measure(args.rounds, chosen)
    print(f"{'least of ' + str(args.rounds) + ' rounds, CPU ms':28} {'Go cell':>9} {'CPython':>9} {'ratio':>6} {'bar':>5}")
    for name, _, _, _, bar in chosen:
        ours, theirs = (min(samples[name][kernel]) * 1e3 for kernel in ("forge", "python3"))
        print(f"{name:28} {ours:9.1f} {theirs:9.1f} {ours / theirs:6.2f} {bar if bar else '':>5}")
    if args.out:
        args.out.write_text(json.dumps({"environment": env, "unit": "s of processor time", "samples": samples}, indent=1) + "\n")


if __name__ == "__main__":
    main()

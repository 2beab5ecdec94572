"""Ends a rank, or the leader, of a job on two GPUs by force, and measures what follows.

usage: kill.py FORGE

For each victim: the seconds until no rank of the job lives and the memory of the GPUs is
back, and the error that the command ends with. The status is 1 if anything is left.
"""

import json
import os
import signal
import subprocess
import sys
import time

LIMIT = 30  # seconds until a job counts as left behind


def memory():
    """MiB in use on all GPUs."""
    text = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"], capture_output=True, text=True, check=True).stdout
    return sum(int(line) for line in text.split())


def ranks(forge, parent):
    """Process ids of the ranks that a process has started."""
    text = subprocess.run([forge, "nebula", "ps", "--json"], capture_output=True, text=True, check=True).stdout
    return {r["rank"]: r["pid"] for r in json.loads(text)["ranks"] if r["parent_pid"] == parent}


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return fields[0] != "Z" or int(fields[17]) > 1  # the state is that of the first thread
    except OSError:
        return False


def attempt(forge, victim, layout):
    before = memory()
    command = [forge, "nebula", "generate", "--model", "llama-3.2-1b", "--device", "cuda", "--dtype", "bf16", *layout,
               "--context", "8192", "--max-tokens", "8000", "--ids", "1,2,3", "--ignore-eos"]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        pids, begun = {}, time.monotonic()
        while memory() < before + 3000 or len(pids) < 2:  # weights are on both devices
            if job.poll() is not None or time.monotonic() - begun > 120:
                print(f"kill {victim}: the job did not start: {job.communicate()[1][-600:].decode(errors='replace')}")
                return False
            pids = ranks(forge, job.pid)
            time.sleep(0.2)
        seen = b""
        while seen.count(b" ") < 50:  # decodes run
            more = os.read(job.stdout.fileno(), 4096)
            if not more:
                print(f"kill {victim}: the job ended by itself: {job.communicate()[1][-600:].decode(errors='replace')}")
                return False
            seen += more
        target = job.pid if victim == "the command" else pids[victim]
        os.kill(target, signal.SIGKILL)
        killed = time.monotonic()
        gone = back = None
        while time.monotonic() - killed < LIMIT and (gone is None or back is None):
            if gone is None and not any(alive(pid) for pid in pids.values()):
                gone = time.monotonic() - killed
            if back is None and memory() <= before + 16:
                back = time.monotonic() - killed
            time.sleep(0.02)
        try:
            error = job.communicate(timeout=LIMIT)[1].decode(errors="replace").strip()
        except subprocess.TimeoutExpired:
            error = "the command does not end"
        print(f"kill {victim} of {' '.join(layout)}: ranks gone after {gone if gone is None else round(gone, 2)} s, memory back after {back if back is None else round(back, 2)} s; status {job.returncode}: {error[-300:]}")
        return gone is not None and back is not None
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)


def main():
    forge = os.path.abspath(sys.argv[1])
    layouts = (["--tp", "2"], ["--pp", "2"])
    results = [attempt(forge, victim, layout) for layout in layouts for victim in (1, 0, "the command")]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()

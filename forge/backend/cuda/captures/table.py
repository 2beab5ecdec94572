"""Prints what gpu.sh has found, as a short table.

usage: table.py OUT
"""

import json
import os
import re
import statistics
import sys


def micro(seconds):
    return f"{1e6 * seconds:9.2f}"


def suite(path):
    """Medians of a capture of the suite, and how much quicker than the peers."""
    with open(path, encoding="utf-8") as f:
        capture = json.load(f)["capture"]
    print(f"{os.path.basename(path)}: µs by the host's clock (device), commit {capture['environment']['commit']}")
    for w in capture["workloads"]:
        times, text = {}, ""
        for s in w["series"]:
            if s.get("error"):
                text += f"  {s['backend']}: {s['error'][:60]}"
                continue
            times[s["backend"]] = statistics.median(s["wall_s"])
            device = statistics.median(s["device_s"]) if s.get("device_s") else float("nan")
            text += f"  {s['backend']} {micro(times[s['backend']])} ({micro(device).strip()})"
        own = times.get("cuda")
        ratios = [f"{name.split()[0]} / cuda {t / own:.2f}" for name, t in times.items() if own and name != "cuda"]
        print(f"  {w['name']:32}{text}  {', '.join(ratios)}")


def lines(path, pattern):
    """The lines of a log that match."""
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            if re.search(pattern, line):
                print("  " + line.strip()[:200])


def main():
    out = sys.argv[1]
    for name in sorted(os.listdir(out)):
        path = os.path.join(out, name)
        try:
            if re.fullmatch(r"suite-\w+\.json", name):
                suite(path)
            elif re.fullmatch(r"torch-.*\.json", name):
                with open(path, encoding="utf-8") as f:
                    d = json.load(f)
                print(f"{name}: {d['tokens_per_s']:.1f} tokens/s, {d['step_ms']:.3f} ms a step ({d['device_step_ms']:.3f} on the device), {d['weight_bytes'] / d['step_ms'] / 1e6:.0f} GB/s of weights")
        except (ValueError, KeyError) as e:
            print(f"{name}: {type(e).__name__}: {e}")
    for name, pattern in (
        ("environment.log", r"^[0-9]+, |^commit |GPUs exchange"), ("decode.log", r"^Benchmark.*ns/op"), ("two_nccl.log", r"all_reduce of|aborted within|ended .* after the kill|us/all-reduce|--- FAIL"),
        ("two_ranks.log", r"^Benchmark.*ns/op|is idle for|--- (FAIL|PASS)"), ("two_kill.log", r"."), ("rates.log", r"^Benchmark.*(GB/s|TFLOP/s)"),
    ):
        path = os.path.join(out, name)
        if os.path.exists(path):
            print(name)
            lines(path, pattern)
    for name in sorted(os.listdir(out)):
        if name.endswith(".log"):
            with open(os.path.join(out, name), encoding="utf-8", errors="replace") as f:
                text = f.read()
            counts = {word: len(re.findall(rf"^\s*--- {word}:", text, re.M)) for word in ("PASS", "FAIL", "SKIP")}
            if any(counts.values()):
                print(f"{name}: {counts['PASS']} tests passed, {counts['FAIL']} failed, {counts['SKIP']} skipped")


if __name__ == "__main__":
    main()

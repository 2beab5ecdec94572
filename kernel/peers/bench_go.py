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

# name: (bar as a share of CPython's time, Go definitions, Go cell, Python definitions, Python cell)
PROGRAMS = {
    "1e8 integer adds": (0.5,
        "func adds(n int) int { t := 0; for i := 0; i < n; i++ { t += i }; return t }", "adds(100_000_000)",
        "def adds(n):\n    t = 0\n    for i in range(n): t += i\n    return t", "adds(100_000_000)"),
    "fib(32)": (0.5,
        "func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }", "fib(32)",
        "def fib(n): return n if n < 2 else fib(n-1) + fib(n-2)", "fib(32)"),
    "sum of 1e7 floats": (0.5,
        "xs := make([]float64, 10_000_000)\nfunc sum(xs []float64) (t float64) { for i := range xs { t += xs[i] }; return }", "sum(xs)",
        "xs = [0.0] * 10_000_000\ndef total(xs):\n    t = 0.0\n    for x in xs: t += x\n    return t", "total(xs)"),
    "1e6 map increments": (None,
        "func counts(n int) int { m := map[int]int{}; for i := range n { m[i%1000]++ }; return len(m) }", "counts(1_000_000)",
        "def counts(n):\n    m = {}\n    for i in range(n): m[i % 1000] = m.get(i % 1000, 0) + 1\n    return len(m)", "counts(1_000_000)"),
    "1e6 method calls": (None,
        "type acc struct{ n int }\nfunc (a *acc) add(k int) { a.n += k }\nfunc methods(n int) int { a := &acc{}; for i := range n { a.add(i) }; return a.n }", "methods(1_000_000)",
        "class Acc:\n    def __init__(self): self.n = 0\n    def add(self, k): self.n += k\ndef methods(n):\n    a = Acc()\n    for i in range(n): a.add(i)\n    return a.n", "methods(1_000_000)"),
    "1e6 interface calls": (None,
        "type shape interface{ area(k int) float64 }\ntype square struct{ side float64 }\nfunc (s square) area(k int) float64 { return s.side * float64(k) }\n"
        "func areas(s shape, n int) (t float64) { for i := range n { t += s.area(i) }; return }", "areas(square{2}, 1_000_000)",
        "class Square:\n    def __init__(self, side): self.side = side\n    def area(self, k): return self.side * k\n"
        "def areas(s, n):\n    t = 0.0\n    for i in range(n): t += s.area(i)\n    return t", "areas(Square(2.0), 1_000_000)"),
    "1e6 bytes of a builder": (None,
        "func build(n int) int { var b strings.Builder; for i := range n { b.WriteByte(byte('a' + i%26)) }; return b.Len() }", "build(1_000_000)",
        "import io\ndef build(n):\n    b = io.StringIO()\n    for i in range(n): b.write(chr(97 + i % 26))\n    return len(b.getvalue())", "build(1_000_000)"),
    "1e6 structs of a slice": (None,
        "type pt struct{ x, y float64 }\nfunc move(n int) float64 { ps := make([]pt, 1000); for i := range n { p := &ps[i%1000]; p.x += 1; p.y += p.x }; return ps[0].y }", "move(1_000_000)",
        "class Pt:\n    __slots__ = ('x', 'y')\n    def __init__(self): self.x = self.y = 0.0\n"
        "def move(n):\n    ps = [Pt() for _ in range(1000)]\n    for i in range(n):\n        p = ps[i % 1000]; p.x += 1; p.y += p.x\n    return ps[0].y", "move(1_000_000)"),
}


def measure(rounds, chosen):
    samples = {name: {"forge": [], "python3": []} for name in chosen}
    started = {kernel: start(kernel) for kernel in ("forge", "python3")}
    try:
        for name in chosen:
            _, go, _, python, _ = PROGRAMS[name]
            for kernel, code in (("forge", go), ("python3", python)):
                checked(started[kernel][1], code)
        for i in range(rounds):
            for name in chosen:
                cells = {"forge": PROGRAMS[name][2], "python3": PROGRAMS[name][4]}
                values = {}
                for kernel in sorted(cells, reverse=i % 2 == 1):
                    manager, client, _ = started[kernel]
                    before = processor_time(manager)
                    values[kernel] = checked(client, cells[kernel])
                    samples[name][kernel].append(processor_time(manager) - before)
                assert float(values["forge"]) == float(values["python3"]), (name, values)
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
    chosen = [name for name in PROGRAMS if args.only is None or args.only in name]
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(JUPYTER_PATH=f"{home}/share/jupyter", XDG_STATE_HOME=home, IPYTHONDIR=home)
        subprocess.run([FORGE, "install", "--prefix", home], check=True, stdout=subprocess.DEVNULL)
        env = environment()
        samples = measure(args.rounds, chosen)
    print(f"{'least of ' + str(args.rounds) + ' rounds, CPU ms':28} {'Go cell':>9} {'CPython':>9} {'ratio':>6} {'bar':>5}")
    for name in chosen:
        ours, theirs = (min(samples[name][kernel]) * 1e3 for kernel in ("forge", "python3"))
        bar = PROGRAMS[name][0]
        print(f"{name:28} {ours:9.1f} {theirs:9.1f} {ours / theirs:6.2f} {bar if bar else '':>5}")
    if args.out:
        args.out.write_text(json.dumps({"environment": env, "unit": "s of processor time", "samples": samples}, indent=1) + "\n")


if __name__ == "__main__":
    main()

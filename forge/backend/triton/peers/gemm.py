"""Times the candidates of emitted products beside torch.matmul, and compares results.

    python3 gemm.py MODULE.py...     what "forge kernel-source --lang triton" writes, as of the .ir files here

All candidates of a product take turns, with the library among them; times are medians by
CUDA events in microseconds. The error is the largest of a few rows against float64.
"""

import importlib.util
import re
import statistics
import sys

import torch
import triton

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
ROUNDS = 15


def load(path):
    spec = importlib.util.spec_from_file_location("module", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tensor(text):
    dtype, shape = re.match(r"\S+: (\w+)\[([\d,]*)\]", text).groups()
    return torch.randn([int(d) for d in shape.split(",") if d], device="cuda").to(TYPES[dtype])


def launcher(entry, candidate, arguments):
    constants = {**entry["constants"], **candidate["constants"]}
    options = dict(num_warps=candidate["num_warps"], num_stages=candidate["num_stages"], enable_fp_fusion=False)
    return lambda: entry["kernel"][candidate["grid"]](*arguments, **constants, **options)


def repeated(call, repeats):
    """The call so many times in one launch, without the host's part of it."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            call()
    return graph.replay


def timed(replay, repeats):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / repeats


def error(out, a, b):
    rows = torch.randint(0, out.shape[0], (16,), device="cuda")
    want = a[rows].double() @ b.double()
    return ((out[rows].double() - want).abs() / (1 + want.abs())).max().item()


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    for path in sys.argv[1:]:
        for entry in load(path).LAUNCHES:
            arguments = [tensor(text) for text in entry["arguments"]]
            out, a, b = arguments[:3]
            runs = {"torch": lambda: torch.matmul(a, b, out=out)}
            for i, candidate in enumerate(entry["candidates"]):
                name = " ".join(str(v) for v in candidate["constants"].values())
                name = f"{i}: {name} w{candidate['num_warps']} s{candidate['num_stages']}"
                call = launcher(entry, candidate, arguments)
                try:
                    out.zero_()
                    call()
                    torch.cuda.synchronize()
                    runs[name] = call
                    print(f"  {name}: error {error(out, a, b):.2e}", flush=True)
                except Exception as e:
                    print(f"  {name}: {type(e).__name__}: {str(e)[:120]}", flush=True)
            for call in runs.values():  # what is allocated at a first call must not be captured
                call()
            torch.cuda.synchronize()
            once = {name: timed(repeated(call, 3), 3) for name, call in runs.items()}
            repeats = {name: max(1, int(1000 / once[name])) for name in runs}
            replays = {name: repeated(call, repeats[name]) for name, call in runs.items()}
            samples = {name: [] for name in runs}
            for _ in range(ROUNDS):
                for name, replay in replays.items():
                    samples[name].append(timed(replay, repeats[name]))
            constants = entry["constants"]
            work = 2e-6 * constants["M"] * constants["N"] * constants["K"]
            library = statistics.median(samples["torch"])
            print(f"{path} {entry['arguments'][0]} K={constants['K']}")
            for name, list in sorted(samples.items(), key=lambda s: statistics.median(s[1])):
                median = statistics.median(list)
                print(f"  {name:36s} {median:9.1f} us {work / median:7.1f} TFLOP/s {library / median:6.1%} of torch", flush=True)


main()

"""Decoding in PyTorch on one GPU, beside what "forge nebula bench --device cuda" measures.

usage: torch_decode.py [--shape llama-3.2-1b|llama-3.1-8b|tiny] [--mode eager|compile|autotune]
                       [--tokens N] [--prompt N] [--repeats N] [--device cuda|cpu]

One request, greedy, with weights of bfloat16 at random. All modes have the same module
with a cache of a fixed size on the device, and the token of a step goes into the next
one without a way over the host:

  eager      the module as it is
  compile    torch.compile in its mode "reduce-overhead": a graph of the device for each step,
             with Inductor's search for the shapes of its own kernels switched on
  autotune   the same in the mode "max-autotune", which also tries kernels for the products

The last line is JSON: tokens per second and the step in milliseconds as medians over the
repeats, by the clock of the host and by events of the device, the bytes of weights that a
step reads, and what ran.
"""

import argparse
import json
import statistics
import time

import torch
import torch.nn.functional as F

SHAPES = {
    "tiny": dict(vocab=512, hidden=64, layers=2, heads=4, groups=2, ff=128, tied=False),
    "llama-3.2-1b": dict(vocab=128256, hidden=2048, layers=16, heads=32, groups=8, ff=8192, tied=True),
    "llama-3.1-8b": dict(vocab=128256, hidden=4096, layers=32, heads=32, groups=8, ff=14336, tied=False),
}


class Block(torch.nn.Module):
    def __init__(self, s, context):
        super().__init__()
        self.heads, self.groups, self.size = s["heads"], s["groups"], s["hidden"] // s["heads"]
        hidden, inner = s["hidden"], self.groups * self.size
        self.norm, self.norm2 = torch.nn.RMSNorm(hidden, 1e-5), torch.nn.RMSNorm(hidden, 1e-5)
        # Projections that read the same vector are one product, as serving engines have them.
        self.qkv = torch.nn.Linear(hidden, hidden + 2 * inner, bias=False)
        self.out = torch.nn.Linear(hidden, hidden, bias=False)
        self.gate_up = torch.nn.Linear(hidden, 2 * s["ff"], bias=False)
        self.down = torch.nn.Linear(s["ff"], hidden, bias=False)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, self.groups, context, self.size))

    def forward(self, x, at, turn, mask):
        batch, tokens, hidden = x.shape
        inner = self.groups * self.size
        q, k, v = self.qkv(self.norm(x)).split((hidden, inner, inner), -1)
        q, k, v = (t.view(batch, tokens, -1, self.size).transpose(1, 2) for t in (q, k, v))
        q, k = turned(q, turn), turned(k, turn)
        self.keys[:, :, at], self.values[:, :, at] = k, v
        y = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, tokens, hidden))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


def turned(x, turn):
    """Rotary positions: halves of the channels are pairs."""
    cos, sin = turn
    low, high = x.float().chunk(2, -1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), -1).to(x.dtype)


class Decoder(torch.nn.Module):
    def __init__(self, s, context):
        super().__init__()
        size = s["hidden"] // s["heads"]
        self.embedding = torch.nn.Embedding(s["vocab"], s["hidden"])
        self.blocks = torch.nn.ModuleList(Block(s, context) for _ in range(s["layers"]))
        self.norm = torch.nn.RMSNorm(s["hidden"], 1e-5)
        self.head = torch.nn.Linear(s["hidden"], s["vocab"], bias=False)
        if s["tied"]:
            self.head.weight = self.embedding.weight
        freqs = 500000.0 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
        angles = torch.arange(context, dtype=torch.float64)[:, None] * freqs
        self.register_buffer("cos", torch.cos(angles).float())
        self.register_buffer("sin", torch.sin(angles).float())
        self.register_buffer("causal", torch.ones(context, context, dtype=torch.bool).tril())

    def forward(self, tokens, at):
        x = self.embedding(tokens)
        turn, mask = (self.cos[at], self.sin[at]), self.causal[at][None, None]
        for block in self.blocks:
            x = block(x, at, turn, mask)
        return self.head(self.norm(x[:, -1:]))


def step(model, token, at):
    """The next token and its place."""
    return model(token, at).argmax(-1), at + 1


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def generate(run, token, at, count, device):
    """Seconds of count steps, by the host and by the device."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)] if device.type == "cuda" else None
    wait(device)
    start = time.perf_counter()
    if events:
        events[0].record()
    for _ in range(count):
        if device.type == "cuda":
            torch.compiler.cudagraph_mark_step_begin()
        token, at = run(token, at)
        token, at = token.clone(), at.clone()  # a graph of the device would write over them
    if events:
        events[1].record()
    wait(device)
    wall = time.perf_counter() - start
    return wall, events[0].elapsed_time(events[1]) / 1e3 if events else wall, token


def weight_bytes(model):
    """Bytes that a step reads: all weights, of an embedding that is not the head one row."""
    read = {id(p): p.numel() * p.element_size() for p in model.parameters()}
    if model.head.weight is not model.embedding.weight:
        del read[id(model.embedding.weight)]
    return sum(read.values())


def measure(a, device):
    torch.manual_seed(1)
    torch.set_default_dtype(torch.bfloat16)
    s, start = SHAPES[a.shape], time.perf_counter()
    with torch.device(device):
        model = Decoder(s, a.prompt + a.tokens + 8).eval()
        prompt = torch.randint(s["vocab"], (1, a.prompt))
        places = torch.arange(a.prompt)
    run = lambda token, at: step(model, token, at)  # noqa: E731
    if a.mode != "eager":
        torch._inductor.config.coordinate_descent_tuning = True
        run = torch.compile(run, fullgraph=True, dynamic=False, mode={"compile": "reduce-overhead", "autotune": "max-autotune"}[a.mode])
    walls, devices = [], []
    first = model(prompt, places).argmax(-1)
    at = torch.full((1,), a.prompt, device=device)
    generate(run, first, at, 8, device)  # compiles, and captures graphs
    ready = time.perf_counter() - start
    for _ in range(a.repeats):
        wall, by_events, last = generate(run, first, at, a.tokens, device)
        walls.append(wall / a.tokens)
        devices.append(by_events / a.tokens)
    step_s = statistics.median(walls)
    return {
        "shape": a.shape, "mode": a.mode, "prompt": a.prompt, "tokens": a.tokens, "last": last.item(),
        "tokens_per_s": 1 / step_s, "step_ms": step_s * 1e3, "device_step_ms": statistics.median(devices) * 1e3,
        "step_ms_all": [w * 1e3 for w in walls], "weight_bytes": weight_bytes(model), "ready_s": ready,
        "torch": torch.__version__, "cuda": torch.version.cuda,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "processor",
    }


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--shape", choices=SHAPES, default="llama-3.2-1b")
    p.add_argument("--mode", choices=("eager", "compile", "autotune"), default="eager")
    p.add_argument("--tokens", type=int, default=256)
    p.add_argument("--prompt", type=int, default=128)
    p.add_argument("--repeats", type=int, default=5)
    p.add_argument("--device", default="cuda")
    a = p.parse_args()
    with torch.inference_mode():
        print(json.dumps(measure(a, torch.device(a.device))))


if __name__ == "__main__":
    main()

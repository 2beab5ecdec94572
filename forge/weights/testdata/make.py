"""Writes quants.json: random blocks of each quantised type and the values that the
Python package gguf decodes them to. Needs gguf and numpy."""
import base64, json
import numpy as np
from gguf import GGMLQuantizationType as T, quants

rng = np.random.default_rng(7)
out = []
for t in (T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0, T.Q4_K, T.Q5_K, T.Q6_K):
    block, size = __import__("gguf").GGML_QUANT_SIZES[t]
    raw = rng.integers(0, 256, (2, size), dtype=np.uint8)
    halves = {T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0], T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208]}[t]
    for row in raw:
        for at in halves:
            row[at:at + 2] = np.frombuffer(np.float16(rng.normal() / 8).tobytes(), dtype=np.uint8)
    values = quants.dequantize(raw, t)
    out.append({"type": t.name, "number": int(t), "data": base64.b64encode(raw.tobytes()).decode(),
                "values": [float(np.float32(v)) for v in values.reshape(-1)]})
json.dump(out, open("quants.json", "w"), indent=0)

"""Answers questions about a decoder, one JSON object a line, until its input ends.

    python peer.py llama.cpp model.gguf THREADS default|exact
    python peer.py transformers FOLDER THREADS

llama.cpp's defaults are a cache in f16 and flash attention, which rounds to f16 on
the way; exact has a cache in f32 and none of that.

The first line of the output says what answers: {"peer": ..., "version": ..., "settings": ...}.
Then each line of the input has one answer:

    {"op": "tokens", "text": T}              {"tokens": [...]}
    {"op": "greedy", "tokens": [...], "n": N}  {"tokens": [...], "margins": [...]}, by how much the best logit exceeds the second
    {"op": "loss", "tokens": [...]}          {"loss": [...]}, minus the natural logarithm of the probability of each token but the first
    {"op": "decode", "tokens": [...], "n": N}  {"seconds": [...]}, of each of N greedy steps after the prompt, which is not timed

All arrays of a peer are those of its library; nothing here computes.
"""
import json
import math
import os
import sys
import time


def choice(logits):
    """The likeliest token and its margin."""
    import numpy as np

    first, second = np.argsort(logits)[:-3:-1]
    return int(first), float(logits[first] - logits[second])


def loss(logits, token):
    import numpy as np

    x = logits.astype(np.float64)
    top = x.max()
    return float(top + math.log(np.exp(x - top).sum()) - x[token])


class Llama:
    """llama.cpp through its C interface, which the package xllamacpp exports."""

    context = 2048

    def __init__(self, path, threads, mode):
        import ctypes as C
        from importlib.metadata import version

        import numpy as np
        import xllamacpp.xllamacpp

        self.C, self.np, self.version = C, np, version("xllamacpp")
        lib = self.lib = C.CDLL(xllamacpp.xllamacpp.__file__)

        class ModelParams(C.Structure):
            _fields_ = [(n, C.c_void_p) for n in ("devices", "overrides")] + [(n, C.c_int32) for n in ("gpu_layers", "split_mode", "load_mode", "lazy_mode", "main_gpu")] \
                + [(n, C.c_void_p) for n in ("tensor_split", "progress", "progress_data", "kv_overrides")] \
                + [(n, C.c_bool) for n in ("vocab_only", "check_tensors", "extra_bufts", "no_host", "no_alloc", "load_mtp")]

        class ContextParams(C.Structure):
            _fields_ = [(n, C.c_uint32) for n in ("ctx", "batch", "ubatch", "seq_max", "rs_seq", "outputs_max", "outputs_max_per_seq")] \
                + [(n, C.c_int32) for n in ("threads", "threads_batch", "ctx_type", "rope_scaling", "pooling", "attention", "flash")] \
                + [(n, C.c_float) for n in ("rope_base", "rope_scale", "yarn_ext", "yarn_attn", "yarn_fast", "yarn_slow")] + [("yarn_orig", C.c_uint32), ("defrag", C.c_float)] \
                + [(n, C.c_void_p) for n in ("eval", "eval_data")] + [("type_k", C.c_int32), ("type_v", C.c_int32), ("moe_cache", C.c_size_t)] \
                + [(n, C.c_void_p) for n in ("abort", "abort_data")] + [(n, C.c_bool) for n in ("embeddings", "offload", "no_perf", "op_offload", "swa_full", "unified")] \
                + [("samplers", C.c_void_p), ("n_samplers", C.c_size_t), ("other", C.c_void_p)]

        class Batch(C.Structure):
            _fields_ = [("n", C.c_int32)] + [(n, C.c_void_p) for n in ("token", "embd", "pos", "n_seq", "seq", "logits")]

        def declare(name, result, *args):
            f = getattr(lib, name)
            f.argtypes, f.restype = args, result

        p = C.c_void_p
        declare("llama_model_default_params", ModelParams)
        declare("llama_context_default_params", ContextParams)
        declare("llama_model_load_from_file", p, C.c_char_p, ModelParams)
        declare("llama_init_from_model", p, p, ContextParams)
        declare("llama_model_get_vocab", p, p)
        declare("llama_vocab_n_tokens", C.c_int32, p)
        declare("llama_tokenize", C.c_int32, p, C.c_char_p, C.c_int32, C.POINTER(C.c_int32), C.c_int32, C.c_bool, C.c_bool)
        declare("llama_batch_init", Batch, C.c_int32, C.c_int32, C.c_int32)
        declare("llama_decode", C.c_int32, p, Batch)
        declare("llama_get_logits_ith", C.POINTER(C.c_float), p, C.c_int32)
        declare("llama_get_memory", p, p)
        declare("llama_memory_clear", None, p, C.c_bool)
        self.quiet = C.CFUNCTYPE(None, C.c_int, C.c_char_p, C.c_void_p)(lambda level, text, data: None)
        lib.llama_log_set(self.quiet, None)
        declare("llama_print_system_info", C.c_char_p)
        self.settings = {"threads": str(threads), "mode": mode, "system": lib.llama_print_system_info().decode().strip()}
        self.model = lib.llama_model_load_from_file(os.fsencode(path), lib.llama_model_default_params())
        if not self.model:
            sys.exit(f"llama.cpp does not load {path}")
        c = lib.llama_context_default_params()
        c.ctx = c.batch = c.ubatch = self.context
        c.threads = c.threads_batch = threads
        if mode == "exact":
            c.type_k = c.type_v = c.flash = 0  # f32, off
        self.ctx = lib.llama_init_from_model(self.model, c)
        if not self.ctx:
            sys.exit("llama.cpp makes no context")
        self.vocab = lib.llama_model_get_vocab(self.model)
        self.size = lib.llama_vocab_n_tokens(self.vocab)
        self.batch = lib.llama_batch_init(self.context, 0, 1)

    def tokens(self, text):
        b = text.encode()
        ids = (self.C.c_int32 * (len(b) + 8))()
        n = self.lib.llama_tokenize(self.vocab, b, len(b), ids, len(b) + 8, True, True)
        return ids[:n]

    def clear(self):
        self.lib.llama_memory_clear(self.lib.llama_get_memory(self.ctx), True)
        self.at = 0

    def run(self, tokens, every=False):
        """Logits [n, vocab] of the tokens, or [1, vocab] of the last."""
        C, b, n = self.C, self.batch, len(tokens)
        b.n = n
        token, pos, seqs = (C.cast(f, C.POINTER(C.c_int32)) for f in (b.token, b.pos, b.n_seq))
        seq, out = C.cast(b.seq, C.POINTER(C.POINTER(C.c_int32))), C.cast(b.logits, C.POINTER(C.c_int8))
        for i, t in enumerate(tokens):
            token[i], pos[i], seqs[i], seq[i][0], out[i] = t, self.at + i, 1, 0, every or i == n - 1
        if self.lib.llama_decode(self.ctx, b):
            sys.exit("llama_decode fails")
        self.at += n
        return [self.np.ctypeslib.as_array(self.lib.llama_get_logits_ith(self.ctx, i), (self.size,)) for i in (range(n) if every else [n - 1])]



class Transformers:
    def __init__(self, folder, threads):
        import torch
        import transformers

        torch.set_num_threads(threads)
        self.torch, self.version = torch, f"{transformers.__version__} with torch {torch.__version__}"
        self.settings = {"threads": str(threads), "attention": "sdpa"}
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="auto", attn_implementation="sdpa").eval()

    def clear(self):
        self.cache = None

    def run(self, tokens, every=False):
        with self.torch.inference_mode():
            ids = self.torch.tensor([list(tokens)])
            out = self.model(ids, past_key_values=self.cache, use_cache=True, logits_to_keep=0 if every else 1)
            self.cache = out.past_key_values
            return list(out.logits[0].float().numpy())


def answer(peer, ask):
    op, tokens = ask["op"], ask.get("tokens", [])
    if op == "tokens":
        return {"tokens": peer.tokens(ask["text"])}
    peer.clear()
    if op == "loss":
        rows = peer.run(tokens, every=True)
        return {"loss": [loss(row, t) for row, t in zip(rows, tokens[1:])]}
    (logits,) = peer.run(tokens)
    if op == "greedy":
        out, margins = [], []
        for _ in range(ask["n"]):
            token, margin = choice(logits)
            out.append(token), margins.append(margin)
            (logits,) = peer.run([token])
        return {"tokens": out, "margins": margins}
    if op == "decode":
        seconds, token = [], int(logits.argmax())
        for _ in range(ask["n"]):
            start = time.perf_counter()
            (logits,) = peer.run([token])
            token = int(logits.argmax())
            seconds.append(time.perf_counter() - start)
        return {"seconds": seconds}
    raise ValueError(f"there is no operation {op}")


def main():
    kind, path, threads = sys.argv[1:4]
    peer = Llama(path, int(threads), sys.argv[4]) if kind == "llama.cpp" else Transformers(path, int(threads))
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    say = lambda x: print(json.dumps(x), file=out, flush=True)
    say({"peer": kind, "version": peer.version, "settings": peer.settings})
    for line in sys.stdin:
        say(answer(peer, json.loads(line)))


if __name__ == "__main__":
    main()

"""Ids and pieces that llama.cpp gives for the texts of tiny.py, written to llama.json.

    pip install -r requirements.txt && python llama.py
"""
import ctypes as C
import json
import os
import sys
import tempfile

import xllamacpp.xllamacpp  # one library with all of llama.cpp

lib = C.CDLL(xllamacpp.xllamacpp.__file__)


class Params(C.Structure):
    """struct llama_model_params."""

    _fields_ = ([(n, C.c_void_p) for n in ("devices", "overrides")] + [(n, C.c_int32) for n in ("gpu_layers", "split_mode", "load_mode", "lazy_mode", "main_gpu")]
                + [(n, C.c_void_p) for n in ("tensor_split", "progress", "progress_data", "kv_overrides")]
                + [(n, C.c_bool) for n in ("vocab_only", "check_tensors", "extra_bufts", "no_host", "no_alloc", "load_mtp")])


lib.llama_model_default_params.restype = Params
lib.llama_model_load_from_file.argtypes, lib.llama_model_load_from_file.restype = [C.c_char_p, Params], C.c_void_p
lib.llama_model_get_vocab.argtypes, lib.llama_model_get_vocab.restype = [C.c_void_p], C.c_void_p
lib.llama_tokenize.argtypes = [C.c_void_p, C.c_char_p, C.c_int32, C.POINTER(C.c_int32), C.c_int32, C.c_bool, C.c_bool]
lib.llama_token_to_piece.argtypes = [C.c_void_p, C.c_int32, C.c_char_p, C.c_int32, C.c_int32, C.c_bool]
quiet = C.CFUNCTYPE(None, C.c_int, C.c_char_p, C.c_void_p)(lambda level, text, data: None)


class Vocabulary:
    def __init__(self, path):
        lib.llama_log_set(quiet, None)
        params = lib.llama_model_default_params()
        params.vocab_only = True
        self.model = lib.llama_model_load_from_file(os.fsencode(path), params)
        if not self.model:
            sys.exit(f"llama.cpp does not load {path}")
        self.vocab = lib.llama_model_get_vocab(self.model)

    def encode(self, text, template=False, special=True):
        b = text.encode()
        ids = (C.c_int32 * (len(b) + 8))()
        n = lib.llama_tokenize(self.vocab, b, len(b), ids, len(b) + 8, template, special)
        assert n >= 0
        return ids[:n]

    def piece(self, i):
        """The bytes of a token, as Latin-1."""
        buf = C.create_string_buffer(1024)
        n = lib.llama_token_to_piece(self.vocab, i, buf, len(buf), 0, True)
        return buf.raw[:n].decode("latin-1")


def write_gguf(path, tokenizer, model, pre, space):
    """A GGUF file without tensors; see metaOf in gguf_test.go."""
    import gguf

    d = json.load(open(tokenizer, encoding="utf-8"))
    vocab = d["model"]["vocab"] | {a["content"]: a["id"] for a in d["added_tokens"]}
    tokens = sorted(vocab, key=vocab.get)
    merges = [a + b for a, b in d["model"]["merges"]]
    special = {a["content"]: a["special"] for a in d["added_tokens"]}
    rank = {}
    for i, token in enumerate(merges):
        rank.setdefault(token, i)
    kind = lambda t: 6 if t.startswith("<0x") else 1 if t not in special else 3 if special[t] else 4
    w = gguf.GGUFWriter(path, "llama")
    for key, value in [("context_length", 8), ("embedding_length", 8), ("block_count", 1), ("attention.head_count", 1), ("feed_forward_length", 8)]:
        w.add_uint32("llama." + key, value)
    w.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    w.add_tokenizer_model(model)
    w.add_tokenizer_pre(pre)
    w.add_token_list(tokens)
    w.add_token_types([kind(t) for t in tokens])
    if model == "llama":
        w.add_token_scores([float(-rank.get(t, 100000)) for t in tokens])
    else:
        w.add_token_merges([a + " " + b for a, b in d["model"]["merges"]])
    if not space:
        w.add_add_space_prefix(False)
    w.add_unk_token_id(0), w.add_bos_token_id(1), w.add_eos_token_id(2)
    w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()
    return len(tokens)


FILES = [("gpt2", "gpt2", pre, True) for pre in ("gpt-2", "smollm", "llama-bpe", "qwen2", "default")] + [("llama2", "llama", "default", True), ("llama2", "llama", "default", False)]


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    texts = [c[0] for c in json.load(open(os.path.join(here, "goldens.json")))["gpt2"]]
    out = []
    with tempfile.TemporaryDirectory() as tmp:
        for tokenizer, model, pre, space in FILES:
            path = os.path.join(tmp, "t.gguf")
            n = write_gguf(path, os.path.join(here, tokenizer + ".json"), model, pre, space)
            v = Vocabulary(path)
            cases = [[t, v.encode(t), v.encode(t, template=True), v.encode(t, special=False)] for t in texts]
            out.append({"tokenizer": tokenizer, "model": model, "pre": pre, "space": space, "pieces": [v.piece(i) for i in range(n)], "cases": cases})
    with open(os.path.join(here, "llama.json"), "w") as f:
        f.write("[" + ",\n".join(json.dumps(o, separators=(",", ":")).replace('],["', '],\n["') for o in out) + "]\n")


if __name__ == "__main__":
    main()

"""Writes small random decoders as transformers saves them, with what it computes.

    python checkpoints.py OUT          the committed fixtures, in ../testdata/checkpoints
    python checkpoints.py OUT --wide   larger ones in float32, for peers_test.go

Each is a folder OUT/NAME with config.json and safetensors, or a file OUT/NAME.gguf,
beside OUT/NAME.expected.safetensors: "prompt" I64[P], "prefill" F32[P,V] the logits
of its tokens, "tokens" I64[64] the greedy continuation, and "decode" F32[D,V] the
logits after the first D of these, one token at a time over a cache.

The GGUF files are written here, in the layout that llama.cpp's converter gives
them, and read back by transformers' own GGUF reader, whose logits must be those of
the model: so the order of rows for rotary positions is checked by a third party.
"""

import argparse
import json
import pathlib
import warnings

import gguf
import torch
import transformers
from safetensors.torch import save_file

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
torch.set_num_threads(1)

STEPS = 64
LLAMA3 = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32}
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 32}
SHARP = {**YARN, "truncate": False, "attention_factor": 1.3, "beta_fast": 16, "beta_slow": 2}
LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}
DEFAULT = {"rope_type": "default", "rope_theta": 5000.0}


def sizes(wide):
    if wide:
        return dict(vocab_size=509, hidden_size=48, intermediate_size=118, num_hidden_layers=4, num_attention_heads=12,
                    num_key_value_heads=4, head_dim=16, max_position_embeddings=128)
    return dict(vocab_size=41, hidden_size=16, intermediate_size=22, num_hidden_layers=2, num_attention_heads=4,
                num_key_value_heads=2, head_dim=6, max_position_embeddings=96)


def gated(kind, wide, **more):
    return getattr(transformers, kind + "Config")(**{**sizes(wide), "rope_parameters": DEFAULT, "tie_word_embeddings": False, **more})


def gpt2(wide, **more):
    s = sizes(wide)
    return transformers.GPT2Config(vocab_size=s["vocab_size"], n_embd=s["hidden_size"], n_layer=s["num_hidden_layers"],
                                   n_head=4, n_positions=s["max_position_embeddings"],
                                   **{"n_inner": 2 * s["hidden_size"], **more})


def cases(wide):
    """Configurations, each with the type that its weights are stored in and the number of shards."""
    store = torch.float32 if wide else torch.bfloat16
    yield "llama3", gated("Llama", wide, rope_parameters=LLAMA3), store, 2
    yield "smollm", gated("Llama", wide, rope_parameters=LINEAR, tie_word_embeddings=True), store, 1
    yield "yarn", gated("Llama", wide, rope_parameters=YARN, attention_bias=True), store, 1
    yield "mistral", gated("Mistral", wide, sliding_window=80), torch.float32 if wide else torch.float16, 1
    yield "qwen2", gated("Qwen2", wide, tie_word_embeddings=True), store, 1
    yield "gpt2", gpt2(wide), store, 1
    if wide:
        yield "sharp", gated("Llama", wide, rope_parameters=SHARP), store, 1
        yield "dynamic", gated("Llama", wide, rope_parameters=DYNAMIC), store, 1
        yield "multiquery", gated("Llama", wide, num_key_value_heads=1), store, 3
        yield "multihead", gated("Qwen2", wide, num_key_value_heads=12), store, 1
        yield "untied", gpt2(wide, tie_word_embeddings=False, n_inner=None), store, 1


def make(config, store, seed):
    """A model whose weights have values of the stored type and are large enough for varied text."""
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval().float()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 2:
                p.normal_(0, 1.6 / p.shape[-1] ** 0.5)
            elif "norm" in name or "ln_" in name:
                p.normal_(0 if name.endswith("bias") else 1, 0.2)
            else:
                p.normal_(0, 0.2)
            p.copy_(p.to(store).float())
    return model


@torch.no_grad()
def expected(model, prompt, decoded):
    """What the module's documentation lists, and the smallest distance of the best two logits."""
    out = model(torch.tensor([prompt]), use_cache=True)
    prefill, cache, row = out.logits[0], out.past_key_values, out.logits[0, -1]
    tokens, rows, margin = [], [], 1e9
    for _ in range(STEPS):
        best = row.topk(2)
        margin = min(margin, float(best.values[0] - best.values[1]))
        tokens.append(int(best.indices[0]))
        out = model(torch.tensor([tokens[-1:]]), past_key_values=cache, use_cache=True)
        cache, row = out.past_key_values, out.logits[0, -1]
        rows.append(row)
    return {"prompt": torch.tensor(prompt), "prefill": prefill.contiguous(), "tokens": torch.tensor(tokens),
            "decode": torch.stack(rows[:decoded])}, margin


def decisive(config, store, prompt, decoded):
    """The first seed whose greedy text does not hang on the last digits and is not one token over and over."""
    for seed in range(1000):
        model = make(config, store, seed)
        want, margin = expected(model, prompt, decoded)
        if margin > 5e-3 and len(set(want["tokens"].tolist())) > 4:
            return model, want
    raise SystemExit("no seed gives a decisive continuation")


def save(model, folder, store, shards):
    total = sum(p.numel() for p in model.parameters()) * 4
    stored = model.to(store)
    stored.save_pretrained(folder, max_shard_size=total if shards == 1 else total * store.itemsize // 4 // shards + 1)
    (folder / "generation_config.json").unlink(missing_ok=True)
    model.float()


def arrangement(arch):
    """Names of a GGUF file by those of transformers: the format's own table, from its package."""
    return gguf.get_tensor_name_map(getattr(gguf.MODEL_ARCH, arch.upper()), 64)


def interleave(w, heads):
    """Rows of queries and keys in the order of the format: the two halves of a head alternate."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def scaling(out, c):
    """Rotary scaling: by metadata, or for llama3 as a tensor of divisors, one for each pair of channels."""
    rope = c.rope_parameters
    if rope["rope_type"] == "yarn":
        out.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        out.add_rope_scaling_factor(rope["factor"])
        out.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if rope["rope_type"] == "llama3":
        plain = rope["rope_theta"] ** -(torch.arange(0, c.head_dim, 2, dtype=torch.float64) / c.head_dim)
        scaled, _ = transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS["llama3"](c, "cpu")
        out.add_tensor("rope_freqs.weight", (plain / scaled).float().numpy())


def write_gguf(model, path, arch, store):
    c, names = model.config, arrangement(arch)
    out = gguf.GGUFWriter(path, arch)
    out.add_context_length(c.max_position_embeddings)
    out.add_embedding_length(c.hidden_size)
    out.add_block_count(c.num_hidden_layers)
    out.add_head_count(c.num_attention_heads)
    out.add_vocab_size(c.vocab_size)
    if arch == "gpt2":
        out.add_feed_forward_length(c.n_inner)
        out.add_layer_norm_eps(c.layer_norm_epsilon)
    else:
        out.add_feed_forward_length(c.intermediate_size)
        out.add_head_count_kv(c.num_key_value_heads)
        out.add_key_length(c.head_dim)
        out.add_value_length(c.head_dim)
        out.add_rope_dimension_count(c.head_dim)
        out.add_rope_freq_base(c.rope_parameters["rope_theta"])
        out.add_layer_norm_rms_eps(c.rms_norm_eps)
        scaling(out, c)
    for name, w in model.state_dict().items():
        if name == "lm_head.weight" and c.tie_word_embeddings:
            continue
        w = w.detach()
        if arch == "llama" and ("q_proj" in name or "k_proj" in name):
            w = interleave(w, c.num_attention_heads if "q_proj" in name else c.num_key_value_heads)
        if arch == "gpt2" and name.endswith((".c_attn.weight", ".c_proj.weight", ".c_fc.weight")):
            w = w.T
        kind = store if w.dim() == 2 else torch.float32
        out.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), w.to(kind).contiguous().numpy())
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


@torch.no_grad()
def check_gguf(model, path, prompt):
    read = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, config=model.config, dtype=torch.float32).eval()
    ids = torch.tensor([prompt])
    error = float((read(ids).logits - model(ids).logits).abs().max())
    if error > 1e-4:
        raise SystemExit(f"{path.name}: transformers reads other logits, by {error}")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("out", type=pathlib.Path)
    args.add_argument("--wide", action="store_true")
    args = args.parse_args()
    prompt = [5, 3, 11, 2, 40, 7, 7, 19, 30]  # below the smaller vocabulary
    decoded = STEPS if args.wide else 6
    for name, config, store, shards in cases(args.wide):
        model, want = decisive(config, store, prompt, decoded)
        folder = args.out / name
        folder.mkdir(parents=True, exist_ok=True)
        save(model, folder, store, shards)
        save_file(want, args.out / (name + ".expected.safetensors"))
    half = torch.float32 if args.wide else torch.float16
    for arch, config in [("llama", gated("Llama", args.wide, rope_parameters=LLAMA3)), ("qwen2", gated("Qwen2", args.wide, rope_parameters=YARN)), ("gpt2", gpt2(args.wide))]:
        model, want = decisive(config, half, prompt, decoded)
        path = args.out / (arch + ".gguf")
        write_gguf(model, path, arch, half)
        check_gguf(model, path, prompt)
        save_file(want, args.out / (arch + ".gguf.expected.safetensors"))


main()

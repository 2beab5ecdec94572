"""The weights of a GGUF file in another type, as a GGUF file or as a Hugging Face folder.

    python convert.py model.gguf f32|bf16 OUT.gguf
    python convert.py model.gguf f32|bf16 FOLDER

Quantised weights are widened to f32, which is exact but for one rounding of each, and
for bf16 rounded to the nearest. So whoever runs the file has equal numbers, and no
activations are quantised to match the weights.
"""
import json
import os
import sys

import gguf
import numpy as np

NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
LAYER = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
         "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}


def widened(reader):
    """Names and f32 arrays of all tensors."""
    for t in reader.tensors:
        yield t.name, np.asarray(gguf.quants.dequantize(t.data, t.tensor_type), np.float32)


def to_gguf(reader, dtype, path):
    kind, file_type = {"f32": (gguf.GGMLQuantizationType.F32, gguf.LlamaFileType.ALL_F32), "bf16": (gguf.GGMLQuantizationType.BF16, gguf.LlamaFileType.MOSTLY_BF16)}[dtype]
    w = gguf.GGUFWriter(path, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type", "general.quantization_version"):
            continue
        sub = field.types[1] if len(field.types) > 1 else None
        w.add_key_value(name, field.contents(), field.types[0], sub_type=sub)
    w.add_file_type(file_type)
    for name, x in widened(reader):
        matrix = x.ndim > 1  # scales of norms stay f32
        w.add_tensor(name, gguf.quants.quantize(x, kind) if matrix else x, raw_dtype=kind if matrix else None)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def unpaired(x, heads):
    """Rows of queries or keys in the order of Hugging Face, which pairs channels i and i + D/2; GGUF files of Llama pair 2i and 2i+1."""
    return x.reshape(heads, x.shape[0] // heads // 2, 2, -1).swapaxes(1, 2).reshape(x.shape)


def to_folder(reader, dtype, folder):
    import torch
    from safetensors.torch import save_file

    meta = lambda key: reader.fields["llama." + key].contents()
    heads, groups = meta("attention.head_count"), meta("attention.head_count_kv")
    tensors = {}
    for name, x in widened(reader):
        parts = name.split(".")
        if parts[0] == "blk":
            if parts[2] in ("attn_q", "attn_k"):
                x = unpaired(x, heads if parts[2] == "attn_q" else groups)
            name = f"model.layers.{parts[1]}.{LAYER[parts[2]]}.weight"
        else:
            name = NAMES[parts[0]] + ".weight"
        tensors[name] = torch.from_numpy(x.copy()).to(getattr(torch, {"f32": "float32", "bf16": "bfloat16"}[dtype]))
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "vocab_size": tensors["model.embed_tokens.weight"].shape[0],
        "hidden_size": meta("embedding_length"), "num_hidden_layers": meta("block_count"), "num_attention_heads": heads, "num_key_value_heads": groups,
        "intermediate_size": meta("feed_forward_length"), "max_position_embeddings": meta("context_length"), "rms_norm_eps": 1e-5,
        "rope_theta": meta("rope.freq_base"), "tie_word_embeddings": "lm_head.weight" not in tensors,
        "torch_dtype": {"f32": "float32", "bf16": "bfloat16"}[dtype],
    }
    os.makedirs(folder, exist_ok=True)
    save_file(tensors, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f, indent=1)


if __name__ == "__main__":
    source, dtype, out = sys.argv[1:]
    reader = gguf.GGUFReader(source)
    (to_gguf if out.endswith(".gguf") else to_folder)(reader, dtype, out)

package model

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"forgekernel/forge/weights"
)

// altered is a copy of a fixture's folder with a change to its config.json.
func altered(t *testing.T, name, old, new string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(fixtures, name))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.json")
	raw, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(raw, []byte(old)) {
		t.Fatalf("%s has no %s: %v", name, old, err)
	}
	if err := os.WriteFile(path, bytes.Replace(raw, []byte(old), []byte(new), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFolderErrors(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"smollm", `"num_hidden_layers": 2`, `"num_hidden_layers": 3`,
			`there is no weight "model.layers.2.input_layernorm.weight", which is layers.2.attention.norm.weight [16]`},
		{"smollm", `"num_hidden_layers": 2`, `"num_hidden_layers": 1`,
			`weight "model.layers.1.input_layernorm.weight" [16] has no place in a llama decoder of this configuration`},
		{"smollm", `"intermediate_size": 22`, `"intermediate_size": 24`,
			`weight "model.layers.0.mlp.gate_proj.weight" has shape [22,16]; layers.0.ff.gate.weight of this configuration needs [24,16]`},
		{"smollm", `"tie_word_embeddings": true`, `"tie_word_embeddings": false`, `there is no weight "lm_head.weight", which is head.weight [16,41]`},
		{"gpt2", `"n_inner": 32`, `"n_inner": 30`, `weight "transformer.h.0.mlp.c_fc.weight" has shape [16,32]; layers.0.ff.up.weight of this configuration needs [16,30]`},
		{"gpt2", `"n_head": 4`, `"n_head": 3`, "config.json: n_head 3 does not divide n_embd 16"},
		{"gpt2", `"gelu_new"`, `"relu"`, `config.json: activation_function is "relu"; only gelu_new is supported`},
		{"gpt2", `"scale_attn_weights": true`, `"scale_attn_weights": false`, "only the usual scale is supported"},
		{"qwen2", `"Qwen2ForCausalLM"`, `"LlamaForCausalLM"`, `weight "model.layers.0.self_attn.k_proj.bias" [12] has no place in a llama decoder of this configuration`},
		{"qwen2", `"Qwen2ForCausalLM"`, `"Qwen9ForCausalLM"`, `config.json: architecture "Qwen9ForCausalLM" is not supported; these are: LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, GPT2LMHeadModel`},
		{"qwen2", `"Qwen2ForCausalLM"`, `"a", "b"`, `architectures is ["a" "b"]; it must name one`},
		{"qwen2", `"vocab_size": 41`, `"vocab_size": "41"`, "config.json: line 35, vocab_size: text stands where a whole number belongs"},
		{"qwen2", `"vocab_size": 41`, `"vocabulary": 41`, "config.json: configuration: vocab is 0; it must be 1 to 16777216"},
		{"qwen2", `"num_attention_heads": 4`, `"num_attention_heads": 0`, "config.json: num_attention_heads is 0"},
		{"llama3", `"silu"`, `"gelu"`, `config.json: hidden_act is "gelu"; only silu is supported`},
		{"llama3", `"mlp_bias": false`, `"mlp_bias": true`, "feed-forward layers with a bias are not supported"},
		{"llama3", `"llama3"`, `"longrope"`, `config.json: rope type "longrope" is not supported; these are: default, dynamic, linear, llama3, yarn`},
		{"llama3", `"rope_type": "llama3"`, `"rope_type": "llama3", "partial_rotary_factor": 0.5`, "heads that turn in part are not supported"},
		{"llama3", `"low_freq_factor": 1.0`, `"low_freq_factor": 0`, "configuration: rope: low_factor 0 and high_factor 4 must be positive and rise"},
	} {
		m, err := Open(altered(t, c.name, c.old, c.new))
		if err == nil {
			t.Errorf("%s with %s is a model of %+v", c.name, c.new, m.Config)
		} else if !strings.HasSuffix(err.Error(), c.want) && !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s with %s:\ngot  %v\nwant %s", c.name, c.new, err, c.want)
		}
	}
}

// TestOlderForms reads the same thing as older versions of transformers wrote it.
func TestOlderForms(t *testing.T) {
	const size = `"vocab_size":9,"hidden_size":8,"intermediate_size":9,"num_hidden_layers":1,"num_attention_heads":2,"max_position_embeddings":64,"rms_norm_eps":1e-5`
	const yarn = `"factor":4.0,"original_max_position_embeddings":16`
	for _, c := range []struct{ old, new string }{
		{`"rope_theta":5000.0,"rope_scaling":null`, `"rope_parameters":{"rope_theta":5000.0,"rope_type":"default"}`},
		{`"rope_scaling":{"type":"linear","factor":2.0}`, `"rope_parameters":{"rope_theta":10000.0,"rope_type":"linear","factor":2.0}`},
		{`"rope_theta":5000.0,"rope_scaling":{"type":"yarn",` + yarn + `}`, `"rope_parameters":{"rope_theta":5000.0,"rope_type":"yarn",` + yarn + `,"beta_fast":32,"beta_slow":1}`},
		{`"rope_scaling":{"rope_type":"yarn",` + yarn + `,"mscale":1.0,"mscale_all_dim":1.0}`, `"rope_parameters":{"rope_type":"yarn",` + yarn + `,"attention_factor":1}`},
		{`"rope_scaling":{"rope_type":"dynamic","factor":2.0}`, `"rope_parameters":null`},
		{`"num_key_value_heads":null`, `"num_key_value_heads":2,"head_dim":4`},
	} {
		parse := func(rope string) Config {
			c, _, err := parseHF([]byte(`{"architectures":["LlamaForCausalLM"],` + size + `,` + rope + `}`))
			if err != nil {
				t.Fatalf("%s: %v", rope, err)
			}
			return c
		}
		if old, new := parse(c.old), parse(c.new); !reflect.DeepEqual(old, new) {
			t.Errorf("%s is read as\n%+v %+v, and %s as\n%+v %+v", c.old, old, old.Rope, c.new, new, new.Rope)
		}
	}
}

// TestWindow checks that a window ends the context, where it is used.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		want           int
	}{
		{"mistral", `"sliding_window": 80`, `"sliding_window": 80`, 80},
		{"mistral", `"sliding_window": 80`, `"sliding_window": null`, 96},
		{"mistral", `"sliding_window": 80`, `"sliding_window": 4096`, 96},
		{"qwen2", `"use_sliding_window": false`, `"use_sliding_window": false, "sliding_window": 80`, 96},
		{"qwen2", `"use_sliding_window": false`, `"use_sliding_window": true, "sliding_window": 80`, 80},
	} {
		m, err := Open(altered(t, c.name, c.old, c.new))
		if err != nil {
			t.Fatal(err)
		}
		if m.Config.Context != c.want {
			t.Errorf("%s with %s has a context of %d, want %d", c.name, c.new, m.Config.Context, c.want)
		}
	}
}

// TestGGUFErrors changes bytes of a file without moving any.
func TestGGUFErrors(t *testing.T) {
	u32 := func(key string, v uint32) string {
		return key + "\x04\x00\x00\x00" + string(binary.LittleEndian.AppendUint32(nil, v))
	}
	for _, c := range []struct{ old, new, want string }{
		{"architecture\x08\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00llama", "architecture\x08\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00mamba", `architecture "mamba" is not supported; these are: llama, qwen2, gpt2`},
		{"general.architecture", "general.architectura", "general.architecture is missing"},
		{"llama.block_count", "llama.block_kount", "llama.block_count is missing; a number from 0 to 16777216 is needed"},
		{u32("llama.block_count", 2), u32("llama.block_count", 1), `weight "blk.1.attn_k.weight" [12,16] has no place in a llama decoder of this configuration`},
		{u32("llama.attention.head_count", 4), u32("llama.attention.head_count", 0), "llama.attention.head_count is 0"},
		{u32("llama.attention.value_length", 6), u32("llama.attention.value_length", 8), "heads have 6 channels for keys and 8 for values; only equal numbers are supported"},
		{u32("llama.rope.dimension_count", 6), u32("llama.rope.dimension_count", 4), "4 of 6 channels of a head turn; only heads that turn as a whole are supported"},
		{u32("llama.vocab_size", 41), u32("llama.expert_count"[:16], 41), ""}, // a key that nobody reads
		{"layer_norm_rms_epsilon", "layer_norm_rms_epsylon", "llama.attention.layer_norm_rms_epsilon is missing; a float is needed"},
		{"token_embd.weight", "token_embt.weight", "there is no matrix token_embd.weight"},
		{"output_norm.weight", "output_morn.weight", `there is no weight "output_norm.weight", which is norm.weight [16]`},
		{u32("llama.context_length", 96), u32("llama.context_length", 1<<31), "llama.context_length is 2147483648; a number from 0 to 16777216 is needed"},
	} {
		raw, err := os.ReadFile(filepath.Join(fixtures, "llama.gguf"))
		if err != nil || !bytes.Contains(raw, []byte(c.old)) {
			t.Fatalf("the file has no %q: %v", c.old, err)
		}
		_, err = openBytes(t, bytes.Replace(raw, []byte(c.old), []byte(c.new), 1))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), c.want)) {
			t.Errorf("%q:\ngot  %v\nwant %s", c.new, err, c.want)
		}
	}
}

func openBytes(t *testing.T, raw []byte) (*Model, error) {
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := Open(path)
	if err == nil {
		m.Close()
	}
	return m, err
}

// FuzzGGUF checks that a file is refused or is a model of a legal configuration.
func FuzzGGUF(f *testing.F) {
	for _, name := range []string{"llama.gguf", "qwen2.gguf", "gpt2.gguf"} {
		raw, err := os.ReadFile(filepath.Join(fixtures, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(t.TempDir(), "model.gguf")
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		file, err := weights.Open(path)
		if err != nil {
			return
		}
		defer file.Close()
		if c, _, err := parseGGUF(file); err == nil {
			checkSizes(t, c)
		}
	})
}

// FuzzHF checks that a config.json is refused or gives a legal configuration.
func FuzzHF(f *testing.F) {
	found, err := filepath.Glob(filepath.Join(fixtures, "*", "config.json"))
	if err != nil || len(found) == 0 {
		f.Fatal(found, err)
	}
	for _, path := range found {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if c, names, err := parseHF(raw); err == nil && (c.Check() != nil || names == nil) {
			t.Fatalf("%s gives %+v", raw, c)
		}
	})
}

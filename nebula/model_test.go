package nebula

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder is a model in the layout of Hugging Face: a llama of one layer with a
// tokenizer of its own.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	tokens, err := os.ReadFile("token/testdata/smollm.json")
	if err != nil {
		t.Fatal(err)
	}
	config := `{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1,
		"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "rope_theta": 10000, "vocab_size": 420,
		"tie_word_embeddings": true, "hidden_act": "silu", "bos_token_id": 1, "eos_token_id": 2}`
	layer := "model.layers.0."
	weights := safetensors(t, map[string][]int{
		"model.embed_tokens.weight": {420, 8}, "model.norm.weight": {8}, layer + "input_layernorm.weight": {8}, layer + "post_attention_layernorm.weight": {8},
		layer + "self_attn.q_proj.weight": {8, 8}, layer + "self_attn.k_proj.weight": {4, 8}, layer + "self_attn.v_proj.weight": {4, 8},
		layer + "self_attn.o_proj.weight": {8, 8}, layer + "mlp.gate_proj.weight": {8, 8}, layer + "mlp.up_proj.weight": {8, 8}, layer + "mlp.down_proj.weight": {8, 8},
	})
	for name, content := range map[string][]byte{"tokenizer.json": tokens, "config.json": []byte(config), "model.safetensors": weights} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// safetensors is a file of f32 tensors of which element i is (i mod 13 - 6) / 13.
func safetensors(t *testing.T, shapes map[string][]int) []byte {
	t.Helper()
	header := map[string]any{}
	var data []byte
	for name, shape := range shapes {
		n := 1
		for _, d := range shape {
			n *= d
		}
		start := len(data)
		for i := range n {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(i%13-6)/13))
		}
		header[name] = map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int{start, len(data)}}
	}
	raw, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(raw))), raw...), data...)
}

func TestOpen(t *testing.T) {
	dir := folder(t)
	m, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	text := m.Display().Data["text/plain"].(string)
	for _, part := range []string{filepath.Base(dir), "llama", "1 of 8 channels", "420", dir} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
	ids, err := m.Encode("<s>to be")
	if err != nil || ids[0] != 1 || strings.TrimSpace(m.Decode(ids)) != "to be" {
		t.Errorf("%v is %q, %v", ids, m.Decode(ids), err)
	}
	r, err := newRequest(m, nil)
	if err != nil || len(r.StopTokens) != 1 || r.StopTokens[0] != 2 {
		t.Errorf("a text ends with %v, %v", r.StopTokens, err)
	}
	if r, _ = newRequest(m, []RequestOption{StopTokens()}); len(r.StopTokens) > 0 {
		t.Errorf("a text without an end ends with %v", r.StopTokens)
	}
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	j, err := Start(t.Context(), m, TP(2), Backend("interp"), Threads(1), Name("folder"))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	c, err := j.Run(t.Context(), "<s>to be", MaxTokens(9), StopTokens())
	if err != nil || len(c.Tokens) != 9 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := os.Remove(filepath.Join(dir, "tokenizer.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "tokenizer.json") {
		t.Errorf("without a tokenizer: %v", err)
	}
}

func TestPlan(t *testing.T) {
	m := Seeded(TinyDecoder(), 3)
	p := m.Plan(TP(2), PP(2), DType("bf16"), Blocks(10), BlockSize(4))
	text := p.Display().Data["text/plain"].(string)
	if strings.Count(text, "\n") != 7 || !strings.Contains(text, "10 blocks of 4 tokens") || !strings.Contains(text, "bf16") {
		t.Error(text)
	}
	// 2 * 2 layers * 10 blocks * 4 tokens * 1 KV head * 8 channels * 2 bytes
	if !strings.Contains(text, "2.5 KiB") {
		t.Errorf("no cache of 2.5 KiB in:\n%s", text)
	}
	if g := p.Graph(3, 2, 1); !strings.Contains(g.Listing(), "recv") || !strings.Contains(g.Listing(), "all_reduce") {
		t.Error(g.Listing())
	}
	if table := p.Params(0); len(table.Rows) != len(m.Config().Params(p.place("", 0))) {
		t.Errorf("%d parameters", len(table.Rows))
	}
	defer func() {
		if e, ok := recover().(*Error); !ok || e.Message != "there is no rank 4; there are ranks 0 to 3" {
			t.Errorf("%v", e)
		}
	}()
	p.Params(4)
}

func TestCompletion(t *testing.T) {
	c := Completion{Text: "a <b>", Tokens: []int32{1, 2}, Reason: Stopped, Usage: Usage{Prompt: 9, Cached: 4}}
	b := c.Display()
	if text := b.Data["text/plain"]; text != "a <b>\n(2 tokens after 9 (4 from the cache) · end: stop)" {
		t.Error(text)
	}
	if page := b.Data["text/html"].(string); !strings.Contains(page, "a &lt;b&gt;") {
		t.Error(page)
	}
	c.Reason, c.Usage.Full = Length, 11
	if text := c.summary(); !strings.HasSuffix(text, "end: length, with room for 11 tokens in all") {
		t.Error(text)
	}
	c.Text = "\ufffd"
	if c.shown() != "[1 2]" {
		t.Error(c.shown())
	}
	c.Err = ErrClosed
	if text := c.summary(); !strings.HasSuffix(text, ErrClosed.Error()) {
		t.Error(text)
	}
}

// TestNames checks what models are called that are files, folders or snapshots of the hub.
func TestNames(t *testing.T) {
	for path, want := range map[string]string{
		"SmolLM2.gguf":                                       "SmolLM2.gguf",
		"models/tiny/":                                       "tiny",
		"/hub/models--o--n/snapshots/0123abcd":               "o/n",
		"/hub/models--o--n/snapshots/0123abcd/":              "o/n",
		"/hub/models--gpt2/snapshots/0123abcd":               "gpt2",
		"/hub/models--o--n--m/snapshots/0123abcd":            "o/n--m",
		"/hub/models--o--n/snapshots/0123abcd/model-q4.gguf": "model-q4.gguf",
		"/hub/datasets--o--n/snapshots/0123abcd":             "0123abcd",
		"/hub/models--/snapshots/0123abcd":                   "0123abcd",
		"/hub/models--o--n/blobs/0123abcd":                   "0123abcd",
	} {
		if got := (&Model{path: path}).Name(); got != want {
			t.Errorf("%s is called %q, not %q", path, got, want)
		}
	}
}

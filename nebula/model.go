package nebula

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
	"forgekernel/nebula/token"
)

// Config is what determines a decoder, apart from its weights.
type Config = model.Config

// Tokenizer maps text to ids and ids to text.
type Tokenizer = token.Tokenizer

// Model is a decoder and its tokenizer. It is safe for concurrent use. Weights are
// read when a rank needs them, each its own part.
type Model struct {
	decoder *model.Model
	tokens  *token.Tokenizer // nil when there is none
	path    string           // empty when it was made from a seed
	seed    uint64
}

// TinyDecoder is a configuration that runs anywhere at once, for [Seeded]: with 6
// heads on 3 KV heads and 4 layers, TP 1, 2, 3 and 6 and PP 1 to 4 are legal.
func TinyDecoder() Config { return model.TinyDecoder() }

// Open opens a model: a folder as Hugging Face has it, with config.json, safetensors
// and tokenizer.json, or a GGUF file.
func Open(path string) (*Model, error) {
	d, err := model.Open(path)
	if err != nil {
		return nil, err
	}
	t, err := token.Open(path)
	if err != nil {
		d.Close()
		return nil, err
	}
	return &Model{decoder: d, tokens: t, path: path}, nil
}

// Load is [Open] for a cell: it panics with the error.
func Load(path string) *Model {
	m, err := Open(path)
	if err != nil {
		panic(newError("Load", err))
	}
	return m
}

// Seeded makes a model whose weights are a function of a seed, the same on every
// rank of every layout. It panics when there can be no such decoder. Its tokens are
// bytes, where its vocabulary has room for them.
func Seeded(c Config, seed uint64) *Model {
	d, err := model.Seeded(c, seed)
	if err != nil {
		panic(newError("Seeded", err))
	}
	m := &Model{decoder: d, seed: seed}
	if c.Vocab >= 256 {
		m.tokens = token.Bytes()
	}
	return m
}

// Config tells what decoder it is.
func (m *Model) Config() Config { return m.decoder.Config }

// Decoder is the model without its tokenizer.
func (m *Model) Decoder() *model.Model { return m.decoder }

// Tokenizer is the model's own, bytes for a seeded model, or nil for one whose
// vocabulary is smaller than that: its prompts are ids, see [Job.GenerateIDs].
func (m *Model) Tokenizer() *Tokenizer { return m.tokens }

// Ref is by what another process finds the same model.
func (m *Model) Ref() string { return m.decoder.Ref() }

// Name is the base name of the file or folder. A snapshot in the cache of the Hugging
// Face hub, whose own name is that of its revision, has the name that the hub knows:
// "HuggingFaceTB/SmolLM2-135M".
func (m *Model) Name() string {
	if m.path == "" {
		return fmt.Sprintf("%s decoder of seed %d", m.decoder.Config.Family, m.seed)
	}
	if name, ok := hubName(m.path); ok {
		return name
	}
	return filepath.Base(filepath.Clean(m.path))
}

// hubName reads the name of a model from the folder of a snapshot, which is
// models--owner--name/snapshots/revision.
func hubName(path string) (string, bool) {
	path, err := filepath.Abs(path) // it may be the working folder
	if err != nil {
		return "", false
	}
	snapshots := filepath.Dir(path)
	name, ok := strings.CutPrefix(filepath.Base(filepath.Dir(snapshots)), "models--")
	if !ok || name == "" || filepath.Base(snapshots) != "snapshots" {
		return "", false
	}
	return strings.Replace(name, "--", "/", 1), true
}

// Encode gives the ids of a prompt, with what the model's template puts around it.
// Special tokens in the text are those.
func (m *Model) Encode(text string) ([]int32, error) {
	if m.tokens == nil {
		return nil, fmt.Errorf("%s has no tokenizer: GenerateIDs takes the ids of tokens", m.Name())
	}
	return m.tokens.Encode(text, true)
}

// Decode gives the text of ids, without special tokens.
func (m *Model) Decode(ids []int32) string {
	if m.tokens == nil {
		return ""
	}
	return m.tokens.Decode(ids, false)
}

// Close forgets the weights and closes their file. Jobs that compute in this process
// need it open.
func (m *Model) Close() error { return m.decoder.Close() }

// Display shows what the model is.
func (m *Model) Display() display.Bundle {
	c := m.decoder.Config
	t := display.Table{Title: m.Name(), Columns: []display.Column{{Align: display.AlignRight}, {}}}
	add := func(label, format string, args ...any) {
		t.Rows = append(t.Rows, []any{label, fmt.Sprintf(format, args...)})
	}
	add("family", "%s, %s parameters", c.Family, countOf(c.Parameters()))
	add("layers", "%d of %d channels, %d in the feed-forward part", c.Layers, c.Hidden, c.FF)
	add("heads", "%d of %d channels, on %d KV heads", c.Heads, c.HeadDim, c.KVHeads)
	add("context", "%d tokens", c.Context)
	one := shard.Single()
	add("weights", "%s in f32, %s in bf16", display.FormatBytes(c.WeightBytes(one, tensor.F32)), display.FormatBytes(c.WeightBytes(one, tensor.BF16)))
	add("cache", "%s a token in f32, %s in bf16", display.FormatBytes(c.CacheBytes(one, 1, 1, tensor.F32)), display.FormatBytes(c.CacheBytes(one, 1, 1, tensor.BF16)))
	add("tokens", "%s", m.vocabulary())
	if m.path != "" {
		add("file", "%s, %s", m.path, display.FormatBytes(sizeOf(m.path)))
	}
	return t.Display()
}

func (m *Model) vocabulary() string {
	n := m.decoder.Config.Vocab
	switch {
	case m.path != "":
		return fmt.Sprintf("%d", n)
	case m.tokens != nil:
		return fmt.Sprintf("%d, of which 256 are bytes", n)
	}
	return fmt.Sprintf("%d, and no text for them", n)
}

// countOf writes a number of parameters as people say it: "135 M".
func countOf(n int64) string {
	switch x := float64(n); {
	case x >= 1e9:
		return fmt.Sprintf("%.3g G", x/1e9)
	case x >= 1e6:
		return fmt.Sprintf("%.3g M", x/1e6)
	case x >= 1e3:
		return fmt.Sprintf("%.3g k", x/1e3)
	}
	return fmt.Sprint(n)
}

// sizeOf is the size of a file, or of the files in a folder.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	if !info.IsDir() {
		return info.Size()
	}
	entries, _ := os.ReadDir(path)
	var n int64
	for _, e := range entries {
		if i, err := os.Stat(filepath.Join(path, e.Name())); err == nil && i.Mode().IsRegular() {
			n += i.Size()
		}
	}
	return n
}

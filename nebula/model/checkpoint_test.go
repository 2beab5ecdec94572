package model

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/tensor"
	"forgekernel/forge/weights"
	"forgekernel/nebula/shard"
)

// The fixtures of testdata are small random decoders of every architecture, as
// transformers saves them, with its results; peers/checkpoints.py writes them.

// fixtures is their folder.
const fixtures = "testdata/checkpoints"

// expected is what transformers computed for a checkpoint.
type expected struct {
	prompt, tokens  []int32
	prefill, decode *tensor.Tensor
}

// checkpoints are the checkpoints of a folder, each beside its results.
func checkpoints(t *testing.T, dir string) []string {
	t.Helper()
	const end = ".expected.safetensors"
	found, err := filepath.Glob(filepath.Join(dir, "*"+end))
	if err != nil || len(found) < 9 {
		t.Fatalf("%s has %d checkpoints with results: %v", dir, len(found), err)
	}
	for i, f := range found {
		found[i] = strings.TrimSuffix(f, end)
	}
	return found
}

func readExpected(t *testing.T, path string) expected {
	t.Helper()
	f, err := weights.Open(path + ".expected.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	load := func(name string, dtype tensor.DType) *tensor.Tensor {
		w, err := f.Weight(name)
		if err != nil {
			t.Fatal(err)
		}
		return must(w.Load(dtype))
	}
	return expected{
		load("prompt", tensor.I32).Int32(), load("tokens", tensor.I32).Int32(),
		load("prefill", tensor.F32), load("decode", tensor.F32),
	}
}

// transformersBound is for logits of the size of 1 to 10, in float32 on both
// sides.
const transformersBound = 1e-4

// checkCheckpoint compares prefill, decode over a cache and the whole greedy
// continuation.
func checkCheckpoint(t *testing.T, path string, l shard.Layout) {
	t.Helper()
	m, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := l.Check(m.Config.Dims()); err != nil {
		return
	}
	want := readExpected(t, path)
	d := newDecoder(t, m, l, tensor.F32, 1, Paged{Blocks: 24, BlockSize: 4, Width: 20})
	logits := d.step(All, []int{0}, want.prompt)
	wantClose(t, "prefill", logits.Reshape(len(want.prompt), -1), want.prefill, transformersBound)
	next, vocab := argmax(lastOf(logits, 0, len(want.prompt)-1)), m.Config.Vocab
	var tokens []int32
	for i := range want.tokens {
		tokens = append(tokens, next)
		logits = d.step(Last, []int{len(want.prompt) + i}, tokens[i:])
		if i < want.decode.Dim(0) {
			wantClose(t, fmt.Sprintf("decode step %d", i), logits.Reshape(-1), must(want.decode.Window(i*vocab, vocab)), transformersBound)
		}
		next = argmax(logits)
	}
	if !slices.Equal(tokens, want.tokens) {
		t.Errorf("%v: the greedy continuation is\n%v, that of transformers\n%v", l, tokens, want.tokens)
	}
}

func argmax(t *tensor.Tensor) int32 {
	best := 0
	for i, v := range t.Float32() {
		if v > t.Float32()[best] {
			best = i
		}
	}
	return int32(best)
}

func TestCheckpoints(t *testing.T) {
	for _, path := range checkpoints(t, fixtures) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			for _, l := range []shard.Layout{{TP: 1, PP: 1}, {TP: 2, PP: 2}} {
				checkCheckpoint(t, path, l)
			}
		})
	}
}

// TestTransformers writes larger models with the transformers that is installed.
func TestTransformers(t *testing.T) {
	python := os.Getenv("FORGE_PEERS_PYTHON")
	if python == "" {
		t.Skip("FORGE_PEERS_PYTHON names no Python with transformers; make nebula-peers installs one")
	}
	dir := t.TempDir()
	if out, err := exec.Command(python, "peers/checkpoints.py", dir, "--wide").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, path := range checkpoints(t, dir) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			for _, l := range []shard.Layout{{TP: 1, PP: 1}, {TP: 3, PP: 2}} {
				checkCheckpoint(t, path, l)
			}
		})
	}
}

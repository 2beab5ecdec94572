package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/portable"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/model"
)

// tolerance is how far logits may be from the reference, relative to the largest of
// their row.
var tolerance = map[tensor.DType]float64{tensor.F32: 1e-4, tensor.BF16: 5e-2}

const (
	// distinct is how many prompts of a batch differ in the gate; the others repeat
	// them, on blocks of their own.
	distinct = 4
	// interpretable is the most parameters of a model whose reference is interpreted.
	interpretable = 1 << 22
)

// prompts are those of the largest batch: pseudo-random tokens behind a common
// beginning, the same for all captures.
func prompts(o Settings, vocab int) [][]int32 {
	rng := rand.New(rand.NewPCG(0x6e6562756c61, uint64(vocab)))
	common := make([]int32, o.Prefix)
	for i := range common {
		common[i] = int32(rng.IntN(vocab))
	}
	list := make([][]int32, o.Largest())
	for i := range list {
		list[i] = append(list[i], common...)
		for len(list[i]) < o.Prompt {
			list[i] = append(list[i], int32(rng.IntN(vocab)))
		}
	}
	return list
}

// gate compares the job with the reference, for each size of batch.
func (r *run) gate(ctx context.Context) error {
	g := &r.c.Gate
	g.Tolerance = tolerance[r.subject.DType]
	want, err := r.references(ctx, g)
	if err != nil {
		return err
	}
	for _, size := range r.o.Batches {
		check := engine.Gate{Tokens: r.o.New, Tolerance: g.Tolerance}
		var of []engine.Continuation
		for i := range size {
			k := i % len(want)
			check.Prompts, of = append(check.Prompts, r.prompts[k]), append(of, want[k])
		}
		report, err := check.Compare(ctx, r.subject.Engine, of)
		g.Prompts += size
		g.Prefill, g.Decode = max(g.Prefill, report.Prefill), max(g.Decode, report.Decode)
		g.Tokens, g.Ties = g.Tokens+report.Tokens, g.Ties+report.Ties
		if err != nil && (ctx.Err() != nil || r.subject.Engine.Status().Health != engine.Healthy) {
			return err // nobody knows what is right
		}
		if err != nil {
			g.Error = fmt.Sprintf("batch of %d: %v", size, err)
			return nil
		}
	}
	if g.Tokens == 0 {
		g.Error = "all continuations ended at once, at near ties: nothing was compared"
	}
	return nil
}

// references continues prompts in a single process.
func (r *run) references(ctx context.Context, g *Gate) ([]engine.Continuation, error) {
	list := r.prompts[:min(distinct, len(r.prompts))]
	meter := display.Progress(ctx, "computing the reference", len(list))
	defer meter.Done()
	b := referenceBackend(r.subject.Model.Config)
	g.Reference = b.Name()
	defer r.subject.Model.Release()
	ref, err := engine.NewReference(ctx, r.subject.Model, r.o.Prompt+r.o.New, b)
	if err != nil {
		return nil, err
	}
	var want []engine.Continuation
	for _, prompt := range list {
		c, err := ref.Greedy(ctx, prompt, r.o.New)
		if err != nil {
			return nil, err
		}
		want = append(want, c)
		meter.Add(1)
	}
	return want, nil
}

// referenceBackend is the interpreter, or for a large model code that passes the same
// suite, on all cores.
func referenceBackend(c model.Config) backend.Backend {
	if c.Parameters() <= interpretable {
		return interp.New()
	}
	if _, err := cpu.FindCompiler(); err != nil {
		b := portable.New()
		b.Workers = runtime.GOMAXPROCS(0)
		return b
	}
	b := cpu.New()
	b.Threads = runtime.GOMAXPROCS(0)
	return b
}

// fingerprint is the SHA-256 of what a model is made of: its files, or its seed and
// configuration.
func fingerprint(m *model.Model) (string, error) {
	h := sha256.New()
	info, err := os.Stat(m.Ref())
	if err != nil { // it was seeded
		io.WriteString(h, m.Ref())
		return hex.EncodeToString(h.Sum(nil)), nil
	}
	files := []string{m.Ref()}
	if info.IsDir() {
		files = nil
		for _, pattern := range []string{"config.json", "*.safetensors"} {
			found, err := filepath.Glob(filepath.Join(m.Ref(), pattern)) // sorted
			if err != nil {
				return "", err
			}
			files = append(files, found...)
		}
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		n, err := io.Copy(h, f)
		f.Close()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, " %s %d", filepath.Base(path), n)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

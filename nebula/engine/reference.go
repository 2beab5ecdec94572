package engine

import (
	"context"
	"fmt"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/interp"
	rewrite "forgekernel/forge/pass"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

// Reference is what an engine has to agree with: a model in one process, without
// blocks, batches, chunks, ranks or rewrites, in f32. One request at a time.
type Reference struct {
	model    *model.Model
	backend  backend.Backend
	capacity int
	decode   backend.Executable
}

// NewReference compiles the reference for requests of up to capacity tokens. A nil
// backend is the interpreter; for a large model take another, which passes the same
// conformance suite.
func NewReference(ctx context.Context, m *model.Model, capacity int, b backend.Backend) (*Reference, error) {
	if b == nil {
		b = interp.New()
	}
	r := &Reference{model: m, backend: b, capacity: capacity}
	var err error
	r.decode, err = r.compile(ctx, 1)
	return r, err
}

func (r *Reference) compile(ctx context.Context, tokens int) (backend.Executable, error) {
	g, err := r.model.Graph(model.Form{
		Place: shard.Place{Layout: shard.Layout{TP: 1, PP: 1}}, DType: tensor.F32, Rows: 1, Tokens: tokens,
		Cache: model.Contiguous{Capacity: r.capacity}, Logits: model.Last,
	})
	if err != nil {
		return nil, err
	}
	if _, interpreted := r.backend.(*interp.Interp); !interpreted {
		rewritten, err := rewrite.Run(g, rewrite.Options{})
		if err != nil {
			return nil, err
		}
		g = rewritten.Graph
	}
	return r.backend.Compile(ctx, g)
}

// Continuation is what greedy decoding gives for a prompt.
type Continuation struct {
	Tokens []int32
	// Logits has those from which each token was taken: the first after the prompt.
	Logits [][]float32
}

// Greedy continues a prompt by n tokens, each the likeliest.
func (r *Reference) Greedy(ctx context.Context, prompt []int32, n int) (Continuation, error) {
	var c Continuation
	if len(prompt) < 1 || n < 1 || len(prompt)+n-1 > r.capacity {
		return c, fmt.Errorf("a prompt of %d tokens continued by %d does not fit %d positions", len(prompt), n, r.capacity)
	}
	prefill, err := r.compile(ctx, len(prompt))
	if err != nil {
		return c, err
	}
	pools, err := r.pools(prefill)
	if err != nil {
		return c, err
	}
	next, exe := prompt, prefill
	for at := 0; len(c.Tokens) < n; exe = r.decode {
		logits, err := r.run(ctx, exe, next, at, pools)
		if err != nil {
			return c, err
		}
		at += len(next)
		next = []int32{Argmax(logits)}
		c.Logits, c.Tokens = append(c.Logits, logits), append(c.Tokens, next[0])
	}
	return c, nil
}

// pools are the caches of one request, empty.
func (r *Reference) pools(exe backend.Executable) ([]*tensor.Tensor, error) {
	var list []*tensor.Tensor
	for _, v := range exe.Graph().Inputs[4:] { // behind tokens, pos, length and last
		t, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

func (r *Reference) run(ctx context.Context, exe backend.Executable, tokens []int32, at int, pools []*tensor.Tensor) ([]float32, error) {
	n := len(tokens)
	var inputs []*tensor.Tensor
	for _, v := range []struct {
		shape []int
		data  []int32
	}{{[]int{1, n}, tokens}, {[]int{1}, []int32{int32(at)}}, {[]int{1}, []int32{int32(at + n)}}, {[]int{1}, []int32{int32(n - 1)}}} {
		t, err := tensor.From(v.shape, v.data)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, t)
	}
	logits, err := tensor.Zeros(tensor.F32, 1, r.model.Config.Vocab)
	if err != nil {
		return nil, err
	}
	err = backend.RunInto(ctx, exe, append([]*tensor.Tensor{logits}, pools...), append(inputs, pools...))
	return logits.Float32(), err
}

// Argmax is the index of the largest number, the first of equals.
func Argmax(x []float32) int32 {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return int32(best)
}

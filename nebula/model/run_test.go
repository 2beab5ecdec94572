package model

import (
	"context"
	"errors"
	"sync"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/pass"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/shard"
)

// decoder runs a model as an engine would: all ranks of a layout, each with its
// own cache, and programs made when a shape first comes.
type decoder struct {
	t       testing.TB
	m       *Model
	layout  shard.Layout
	form    Form // Place, Tokens and Logits vary
	passes  bool // programs go through the compiler's passes
	pools   [][]*tensor.Tensor
	tables  *tensor.Tensor
	tp, pp  [][]collective.Group // by stage and TP rank, by TP rank and stage
	compile map[Form]backend.Executable
}

// paged and contiguous are caches for so many rows of up to 32 positions.
func paged(rows int) Paged   { return Paged{Blocks: 8*rows + 3, BlockSize: 4, Width: 8} }
func contiguous() Contiguous { return Contiguous{Capacity: 32} }

func newDecoder(t testing.TB, m *Model, l shard.Layout, dtype tensor.DType, rows int, c Cache) *decoder {
	t.Helper()
	d := &decoder{t: t, m: m, layout: l, form: Form{DType: dtype, Rows: rows, Cache: c}, compile: make(map[Form]backend.Executable)}
	for range l.PP {
		d.tp = append(d.tp, collective.Local(l.TP, collective.Options{}))
	}
	for range l.TP {
		d.pp = append(d.pp, collective.Local(l.PP, collective.Options{}))
	}
	for _, p := range l.Places() {
		first, last := p.Layers(m.Config.Layers)
		var pools []*tensor.Tensor
		for range 2 * (last - first) {
			f := d.form
			f.Place = p
			pools = append(pools, must(tensor.Full(dtype, 1e4, f.CacheShape(m.Config)...))) // not to be read before it is written
		}
		d.pools = append(d.pools, pools)
	}
	if p, ok := c.(Paged); ok {
		ids := make([]int32, rows*p.Width)
		for i := range ids {
			ids[i] = int32((i*7 + 2) % len(ids)) // scattered: no test has a multiple of 7
		}
		d.tables = must(tensor.From([]int{rows, p.Width}, ids))
	}
	return d
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (d *decoder) program(f Form) backend.Executable {
	if x := d.compile[f]; x != nil {
		return x
	}
	g, err := d.m.Graph(f)
	if err != nil {
		d.t.Fatal(err)
	}
	if d.passes {
		r, err := pass.Run(g, pass.Options{})
		if err != nil {
			d.t.Fatal(err)
		}
		g = r.Graph
	}
	x, err := interp.New().Compile(d.t.Context(), g)
	if err != nil {
		d.t.Fatal(err)
	}
	d.compile[f] = x
	return x
}

// step runs rows of tokens from the given positions on and returns the logits:
// [rows, V] of each row's last token, [rows, T, V] of all, or nil.
func (d *decoder) step(logits Logits, pos []int, rows ...[]int32) *tensor.Tensor {
	d.t.Helper()
	f := d.form
	f.Logits = logits
	for _, r := range rows {
		f.Tokens = max(f.Tokens, len(r))
	}
	in := stepInputs(f, pos, rows)
	in["table"] = d.tables
	outs, errs := d.run(f, in)
	if err := errors.Join(errs...); err != nil {
		d.t.Fatalf("%v: %v", d.layout, err)
	}
	if logits == None {
		return nil
	}
	last := len(outs) - d.layout.TP
	for _, o := range outs[last+1:] {
		if !tensor.Identical(o, outs[last]) {
			d.t.Fatalf("%v: ranks of the last stage have different logits", d.layout)
		}
	}
	return outs[last]
}

func stepInputs(f Form, pos []int, rows [][]int32) map[string]*tensor.Tensor {
	tokens := make([]int32, f.Rows*f.Tokens)
	at, length, last := make([]int32, f.Rows), make([]int32, f.Rows), make([]int32, f.Rows)
	for b, r := range rows {
		copy(tokens[b*f.Tokens:], r)
		at[b], length[b] = int32(pos[b]), int32(pos[b]+len(r))
		last[b] = int32(b*f.Tokens + max(0, len(r)-1))
	}
	n := []int{f.Rows}
	return map[string]*tensor.Tensor{
		"tokens": must(tensor.From([]int{f.Rows, f.Tokens}, tokens)),
		"pos":    must(tensor.From(n, at)), "length": must(tensor.From(n, length)), "last": must(tensor.From(n, last)),
	}
}

// run runs the program of every rank and returns the first output of each. A rank
// that fails takes the others along.
func (d *decoder) run(f Form, named map[string]*tensor.Tensor) ([]*tensor.Tensor, []error) {
	outs, errs := make([]*tensor.Tensor, d.layout.Ranks()), make([]error, d.layout.Ranks())
	var group sync.WaitGroup
	for i, p := range d.layout.Places() {
		f := f
		f.Place = p
		x := d.program(f)
		group.Go(func() {
			tp, pp := d.tp[p.Stage()][p.TPRank()], d.pp[p.TPRank()][p.Stage()]
			ctx := backend.WithGroup(backend.WithGroup(d.t.Context(), "tp", tp), "pp", pp)
			if outs[i], errs[i] = d.runRank(ctx, x, d.pools[i], named); errs[i] != nil {
				tp.Abort(errs[i])
				pp.Abort(errs[i])
			}
		})
	}
	group.Wait()
	return outs, errs
}

func (d *decoder) runRank(ctx context.Context, x backend.Executable, pools []*tensor.Tensor, named map[string]*tensor.Tensor) (*tensor.Tensor, error) {
	g := x.Graph()
	var inputs []*tensor.Tensor
	for _, v := range g.Inputs[:len(g.Inputs)-len(pools)] {
		inputs = append(inputs, named[v.Name])
	}
	inputs = append(inputs, pools...)
	var outputs []*tensor.Tensor
	for _, v := range g.Outputs[:len(g.Outputs)-len(pools)] {
		outputs = append(outputs, must(tensor.Zeros(v.Spec.DType, v.Spec.Shape...)))
	}
	err := backend.RunInto(ctx, x, append(outputs, pools...), inputs)
	if len(outputs) == 0 {
		return nil, err
	}
	return outputs[0], err
}

// wide is the reference: logits of all tokens of rows that start at position 0,
// in float64.
func wide(t testing.TB, m *Model, dtype tensor.DType, rows ...[]int32) *tensor.Tensor {
	t.Helper()
	f := Form{Place: shard.Single(), DType: dtype, Rows: len(rows), Cache: Contiguous{Capacity: m.Config.Context}, Logits: All}
	for _, r := range rows {
		f.Tokens = max(f.Tokens, len(r))
	}
	g, err := m.Graph(f)
	if err != nil {
		t.Fatal(err)
	}
	x, err := interp.Reference().Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	named := stepInputs(f, make([]int, len(rows)), rows)
	outs, err := x.Run(t.Context(), fillInputs(g, named)...)
	if err != nil {
		t.Fatal(err)
	}
	return outs[0]
}

// fillInputs puts named tensors in order and zeros for caches.
func fillInputs(g *ir.Graph, named map[string]*tensor.Tensor) []*tensor.Tensor {
	var inputs []*tensor.Tensor
	for _, v := range g.Inputs {
		in := named[v.Name]
		if in == nil {
			in = must(tensor.Zeros(v.Spec.DType, v.Spec.Shape...))
		}
		inputs = append(inputs, in)
	}
	return inputs
}

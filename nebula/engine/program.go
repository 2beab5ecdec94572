package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	rewrite "forgekernel/forge/pass"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/model"
)

// program is what executes passes of one bucket on one rank, with its arguments.
// The pools of the cache are both arguments and results, so that nothing of it is
// copied; where a device holds them the program is bound to them.
type program struct {
	bucket
	name    string
	exe     backend.Executable
	bound   backend.Bound // nil when the pools are of the host
	took    time.Duration // to compile, with others that were prepared at once
	inputs  []*tensor.Tensor
	outputs []*tensor.Tensor
	// Arguments by name; nil where the rank's part of the model has no use for them.
	tokens, pos, length, table, last []int32
	width                            int
	head                             bool   // outputs[0] is logits
	leads                            *leads // nil where all logits come to the host
	ahead                            *ahead // nil where runs are begun when they are asked for
}

// form is what the model is asked for.
func (r *rank) form(b bucket) model.Form {
	f := model.Form{
		Place: r.place, DType: r.sizes.dtype, Rows: b.rows, Tokens: b.tokens,
		Cache: model.Paged{Blocks: r.sizes.blocks, BlockSize: r.sizes.blockSize, Width: r.sizes.width()},
	}
	if b.logits {
		f.Logits, f.Leads = model.Last, r.leads()
	}
	return f
}

// together is a backend that takes less time for several graphs than for one by one.
type together interface {
	CompileAll(ctx context.Context, graphs ...*ir.Graph) ([]backend.Executable, error)
}

// compile makes the programs of buckets.
func (r *rank) compile(ctx context.Context, list []bucket) ([]*program, error) {
	start := time.Now()
	graphs := make([]*ir.Graph, len(list))
	for i, b := range list {
		g, err := r.model.Graph(r.form(b))
		if err != nil {
			return nil, fmt.Errorf("program %v: %w", b, err)
		}
		rewritten, err := rewrite.Run(g, rewrite.Options{})
		if err != nil {
			return nil, fmt.Errorf("program %v: %w", b, err)
		}
		graphs[i] = rewritten.Graph
	}
	exes, err := r.compileAll(ctx, graphs)
	if err != nil {
		return nil, fmt.Errorf("programs %v: %w", list, err)
	}
	programs := make([]*program, len(list))
	for i, b := range list {
		p := &program{bucket: b, name: b.String(), exe: exes[i], width: r.sizes.width(), took: time.Since(start)}
		if err := p.bind(ctx, r); err != nil {
			return nil, fmt.Errorf("program %v: %w", b, err)
		}
		programs[i] = p
	}
	return programs, nil
}

func (r *rank) compileAll(ctx context.Context, graphs []*ir.Graph) ([]backend.Executable, error) {
	if b, ok := r.backend.(together); ok {
		return b.CompileAll(ctx, graphs...)
	}
	list := make([]backend.Executable, len(graphs))
	for i, g := range graphs {
		var err error
		if list[i], err = r.backend.Compile(ctx, g); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// bind makes the arguments of a program: batches by name, then the cache.
func (p *program) bind(ctx context.Context, r *rank) error {
	g, pools := p.exe.Graph(), r.pools
	batch := map[string]*[]int32{"tokens": &p.tokens, "pos": &p.pos, "length": &p.length, "table": &p.table, "last": &p.last}
	for _, v := range g.Inputs {
		into, known := batch[v.Name]
		if !known {
			break
		}
		t, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
		if err != nil {
			return err
		}
		*into = t.Int32()
		p.inputs = append(p.inputs, t)
	}
	heads := len(g.Outputs) - pools.n
	var kept []backend.Held
	switch p.head = heads > 0; heads {
	case 1:
		p.outputs, kept = append(p.outputs, nil), append(kept, nil)
	default:
		if heads < 1 {
			break
		}
		var err error
		if p.leads, err = openLeads(ctx, r.backend, g.Outputs[:heads]); err != nil {
			return err
		}
		p.outputs = append(append(p.outputs, nil), p.leads.outputs()...)
		kept = append(append(kept, p.leads.logits), make([]backend.Held, heads-1)...)
	}
	args, results := len(p.inputs), len(p.outputs)
	if args+pools.n != len(g.Inputs) || results+pools.n != len(g.Outputs) {
		return fmt.Errorf("the model's graph has %d inputs and %d outputs; it should have %d and %d", len(g.Inputs), len(g.Outputs), args+pools.n, results+pools.n)
	}
	if pools.held == nil {
		p.inputs, p.outputs = append(p.inputs, pools.host...), append(p.outputs, pools.host...)
		return nil
	}
	p.inputs, p.outputs = append(p.inputs, make([]*tensor.Tensor, pools.n)...), append(p.outputs, make([]*tensor.Tensor, pools.n)...)
	x, ok := p.exe.(backend.Bindable)
	if !ok {
		return fmt.Errorf("%T cannot be bound to the memory of a device", p.exe)
	}
	inputs, outputs := append(make([]backend.Held, args), pools.held...), append(kept, pools.held...)
	var err error
	if p.bound, err = x.Bind(ctx, inputs, outputs); err != nil {
		return err
	}
	p.ahead, err = openAhead(ctx, p, r.sizes, inputs, outputs)
	return err
}

// run executes the program on its arguments.
func (p *program) run(ctx context.Context) error {
	if p.bound != nil {
		return p.bound.Run(ctx, p.outputs, p.inputs)
	}
	return backend.RunInto(ctx, p.exe, p.outputs, p.inputs)
}

// close gives back what the program has of a device.
func (p *program) close() error {
	if p.bound == nil {
		return nil
	}
	return errors.Join(p.bound.Close(), p.ahead.close(), p.leads.close(), p.exe.(backend.Bindable).Close())
}

// fill sets the arguments to some rows of a step. The rest is padding: rows without
// tokens, which neither write to the cache nor read it.
func (p *program) fill(rows []Row, of []int) {
	for slot := range p.rows {
		var r Row
		if slot < len(of) {
			r = rows[of[slot]]
		}
		n := len(r.Tokens)
		if p.tokens != nil {
			clear(p.tokens[slot*p.bucket.tokens+copy(p.tokens[slot*p.bucket.tokens:], r.Tokens) : (slot+1)*p.bucket.tokens])
		}
		p.pos[slot], p.length[slot] = int32(r.Pos), int32(r.Pos+n)
		clear(p.table[slot*p.width+copy(p.table[slot*p.width:], r.Blocks) : (slot+1)*p.width])
		if p.last != nil {
			p.last[slot] = int32(slot*p.bucket.tokens + max(0, n-1))
		}
	}
}

// newLogits is room for logits.
func (p *program) newLogits() (*tensor.Tensor, error) {
	return tensor.Zeros(tensor.F32, p.exe.Graph().Outputs[0].Spec.Shape...)
}

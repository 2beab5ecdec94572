package engine

import (
	"context"
	"slices"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
)

// ahead runs a decode before it is asked for: behind a step of greedy requests alone, the
// next step most likely has the same rows, each with the token that the device has just
// found, one position further. The device begins it before the host knows the token, and
// waits for no host from one token to the next.
//
// What was expected is compared with what is asked for, which must be the very next pass,
// in all that the run has read. If it is another one the run's results are dropped. Its
// keys and values went to places behind the tokens of its requests, in blocks that they
// had: whoever gets such a place, or continues there, writes it again before anybody reads
// it, and later than the run did. So requests may stop, be cancelled or make room as if
// there had been no run.
type ahead struct {
	chain    backend.Chain
	sizes    sizes
	inputs   []*tensor.Tensor // of the run ahead; nil for what is fed or held
	pos      []int32          // its arguments
	length   []int32
	table    []int32
	requests []uint64 // its rows
	running  bool     // it is under way
}

// nextOutput is the index of the result that is the next run's tokens.
const nextOutput = 3

// openAhead makes the chain of a program; nil where results are not fed, as those of a last
// stage to the first, or single kernels are recorded. Ranks that share layers find the
// same tokens, bit by bit, and so foresee and drop the same runs: their devices wait for
// one another in the order of these.
func openAhead(ctx context.Context, p *program, s sizes, inputs, outputs []backend.Held) (*ahead, error) {
	x, ok := p.exe.(backend.Chainable)
	if !ok || p.leads == nil || p.leads.next == nil || s.layout.PP > 1 || s.kernels == 1 {
		return nil, nil
	}
	a := &ahead{sizes: s, inputs: make([]*tensor.Tensor, len(p.inputs))}
	var last []int32
	into := map[string]*[]int32{"pos": &a.pos, "length": &a.length, "table": &a.table, "last": &last}
	fed := backend.Feed{Output: nextOutput}
	for i, v := range x.Graph().Inputs {
		ints, known := into[v.Name]
		if v.Name == "tokens" {
			fed.Input = i
		}
		if !known {
			continue
		}
		t, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
		if err != nil {
			return nil, err
		}
		a.inputs[i], *ints = t, t.Int32()
	}
	for i := range last {
		last[i] = int32(i)
	}
	var err error
	a.chain, err = x.Chain(ctx, inputs, outputs, []backend.Feed{fed})
	return a, err
}

// run executes the arguments of a pass with rows of these requests, and begins what is
// expected behind it where that can be foreseen.
func (a *ahead) run(ctx context.Context, p *program, requests []uint64, greedy bool) error {
	if a.running && !a.expected(p, requests) {
		if err := a.drop(ctx); err != nil {
			return err
		}
	}
	if !a.running {
		if err := a.chain.Start(ctx, p.inputs); err != nil {
			return err
		}
	}
	a.running = false // it is this pass now
	if greedy && a.foresee(p, requests) {
		if err := a.chain.Start(ctx, a.inputs); err != nil {
			return err
		}
		a.running = true
	}
	return a.chain.Wait(ctx, p.outputs)
}

// drop ends the run ahead.
func (a *ahead) drop(ctx context.Context) error {
	if a == nil || !a.running {
		return nil
	}
	a.running = false
	return a.chain.Wait(ctx, nil)
}

// expected reports whether the arguments of a pass are those of the run ahead. Rows of
// padding have any token.
func (a *ahead) expected(p *program, requests []uint64) bool {
	if !slices.Equal(requests, a.requests) || !slices.Equal(p.pos, a.pos) || !slices.Equal(p.length, a.length) || !slices.Equal(p.table, a.table) {
		return false
	}
	return slices.Equal(p.tokens[:len(requests)], p.leads.next.Int32()[:len(requests)])
}

// foresee makes the arguments of the pass behind one, if its rows have places for another
// token that are known.
func (a *ahead) foresee(p *program, requests []uint64) bool {
	copy(a.pos, p.pos)
	copy(a.length, p.length)
	copy(a.table, p.table)
	a.requests = append(a.requests[:0], requests...)
	for i := range requests {
		next := int(p.length[i])
		if next >= a.sizes.context || next%a.sizes.blockSize == 0 {
			return false
		}
		a.pos[i], a.length[i] = int32(next), int32(next+1)
	}
	return true
}

func (a *ahead) close() error {
	if a == nil {
		return nil
	}
	return a.chain.Close()
}

package engine

import (
	"context"
	"fmt"
	"math"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/sample"
)

// leads are the results of a program that leaves logits on the device: the two largest of
// each row and their tokens, which come with each run, and the logits, which come for those
// who ask. A greedy choice needs no more than the leads, which are some bytes in place of
// half a megabyte.
type leads struct {
	logits          backend.Held
	numbers, tokens *tensor.Tensor // f32 and i64 [rows, 2]; of a vocabulary of one token [rows, 1]
	next            *tensor.Tensor // the likeliest as the next run's tokens, i32 [rows, 1]; nil but in decodes
	found           []sample.Lead  // by row
	sent            *tensor.Tensor // logits on their way to rank 0; nil until it asks for some
}

// leads reports whether programs of the ranks of the last stage have leads: devices hold
// their results. All ranks have backends of one kind.
func (r *rank) leads() bool {
	_, resident := r.backend.(backend.Resident)
	return resident
}

// openLeads takes room for logits, largest logits and tokens.
func openLeads(ctx context.Context, b backend.Backend, outputs []*ir.Value) (*leads, error) {
	device, ok := b.(backend.Resident)
	if !ok {
		return nil, fmt.Errorf("%s holds no results", b.Name())
	}
	l := &leads{found: make([]sample.Lead, outputs[0].Spec.Shape[0])}
	var err error
	if l.numbers, err = tensor.Zeros(outputs[1].Spec.DType, outputs[1].Spec.Shape...); err != nil {
		return nil, err
	}
	if l.tokens, err = tensor.Zeros(outputs[2].Spec.DType, outputs[2].Spec.Shape...); err != nil {
		return nil, err
	}
	if len(outputs) > 3 {
		if l.next, err = tensor.Zeros(outputs[3].Spec.DType, outputs[3].Spec.Shape...); err != nil {
			return nil, err
		}
	}
	l.logits, err = device.Hold(ctx, outputs[0].Spec)
	return l, err
}

// outputs are the results that come to the host with each run.
func (l *leads) outputs() []*tensor.Tensor {
	list := []*tensor.Tensor{l.numbers, l.tokens}
	if l.next != nil {
		list = append(list, l.next)
	}
	return list
}

// read are the leads of the latest run, valid until the next.
func (l *leads) read() []sample.Lead {
	numbers, tokens, width := l.numbers.Float32(), l.tokens.Int64(), l.numbers.Dim(1)
	for i := range l.found {
		at := i * width
		l.found[i] = sample.Lead{Token: int32(tokens[at]), First: numbers[at], Second: float32(math.Inf(-1))}
		if width > 1 {
			l.found[i].Second = numbers[at+1]
		}
	}
	return l.found
}

func (l *leads) close() error {
	if l == nil {
		return nil
	}
	return l.logits.Close()
}

// leadWords is how many words a lead has on its way to rank 0: the two numbers as bits,
// and the token.
const leadWords = 3

// encodeLeads makes a message of leads: i32 [rows, 3].
func encodeLeads(list []sample.Lead) (*tensor.Tensor, error) {
	t, err := tensor.Zeros(tensor.I32, len(list), leadWords)
	if err != nil {
		return nil, err
	}
	for i, l := range list {
		copy(t.Int32()[leadWords*i:], []int32{int32(math.Float32bits(l.First)), int32(math.Float32bits(l.Second)), l.Token})
	}
	return t, nil
}

// receiveLeads takes the leads of so many rows from the last stage.
func receiveLeads(ctx context.Context, from collective.Group, rows int) ([]sample.Lead, error) {
	t, err := tensor.Zeros(tensor.I32, rows, leadWords)
	if err != nil {
		return nil, err
	}
	if err := from.Recv(ctx, 1, t); err != nil {
		return nil, err
	}
	list := make([]sample.Lead, rows)
	for i := range list {
		w := t.Int32()[leadWords*i:]
		list[i] = sample.Lead{First: math.Float32frombits(uint32(w[0])), Second: math.Float32frombits(uint32(w[1])), Token: w[2]}
	}
	return list, nil
}

// wantsAll reports whether some row of a pass wants more of its logits than their lead.
func (w *work) wantsAll(p *pass) bool {
	for _, i := range p.of {
		if w.rows[i].Logits && !w.rows[i].Lead {
			return true
		}
	}
	return false
}

// greedy reports whether all rows of a pass want the lead of their logits and no more.
func (w *work) greedy(p *pass) bool {
	for _, i := range p.of {
		if !w.rows[i].Logits || !w.rows[i].Lead {
			return false
		}
	}
	return true
}

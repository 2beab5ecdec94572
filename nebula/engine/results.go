package engine

import (
	"sync"

	"forgekernel/forge/tensor"
	"forgekernel/nebula/sample"
)

// results is the memory of results, which goes from callers that have no more use for
// it to later steps: the logits of a large vocabulary are megabytes, which would have to
// be set to zero each time.
type results struct {
	vocab int

	mu      sync.Mutex
	logits  map[int][]*tensor.Tensor // by rows
	records []*record
}

// record is what one result refers to.
type record struct {
	of      *results
	rows    [][]float32
	leads   []sample.Lead
	tensors []*tensor.Tensor
}

func newResults(vocab int) *results {
	return &results{vocab: vocab, logits: make(map[int][]*tensor.Tensor)}
}

// record is one for so many rows.
func (r *results) record(rows int) *record {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out *record
	if n := len(r.records); n > 0 {
		out, r.records = r.records[n-1], r.records[:n-1]
	} else {
		out = &record{of: r}
	}
	out.rows, out.leads = grown(out.rows, rows)[:rows], grown(out.leads, rows)[:rows]
	clear(out.rows)
	return out
}

// room is a tensor for the logits of so many rows, with any contents.
func (r *results) room(rows int) (*tensor.Tensor, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.logits[rows]
	if n := len(list); n > 0 {
		r.logits[rows] = list[:n-1]
		return list[n-1], nil
	}
	return tensor.Zeros(tensor.F32, rows, r.vocab)
}

// Reuse gives the memory of the logits back, for later results; nobody may look at them
// any more. A result that is not given back is memory like any other.
func (r *Result) Reuse() {
	m := r.record
	if m == nil {
		return
	}
	r.record, r.Logits, r.Leads = nil, nil, nil
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	for _, t := range m.tensors {
		m.of.logits[t.Dim(0)] = append(m.of.logits[t.Dim(0)], t)
	}
	clear(m.tensors)
	m.tensors = m.tensors[:0]
	m.of.records = append(m.of.records, m)
}

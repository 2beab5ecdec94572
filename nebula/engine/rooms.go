package engine

import (
	"sync"

	"forgekernel/forge/tensor"
)

// rooms are tensors for logits that callers have given back, by their number of rows. A
// large vocabulary takes half a megabyte a row, which costs more to have zeroed anew for
// each step than to fill.
type rooms struct {
	mu   sync.Mutex
	free map[int][]*tensor.Tensor
}

// take gives a tensor of logits.
func (r *rooms) take(rows, vocab int) (*tensor.Tensor, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if list := r.free[rows]; len(list) > 0 {
		r.free[rows] = list[:len(list)-1]
		return list[len(list)-1], nil
	}
	return tensor.Zeros(tensor.F32, rows, vocab)
}

func (r *rooms) put(list []*tensor.Tensor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.free == nil {
		r.free = make(map[int][]*tensor.Tensor)
	}
	for _, t := range list {
		r.free[t.Dim(0)] = append(r.free[t.Dim(0)], t)
	}
}

// Release gives the memory of the logits back to the engine, for later steps. It may be
// called once, when nobody reads them any more, or never.
func (r *Result) Release() {
	if r.home != nil {
		r.home.put(r.rooms)
	}
	r.Logits, r.rooms, r.home = nil, nil, nil
}

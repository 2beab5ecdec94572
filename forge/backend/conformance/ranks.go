package conformance

import (
	"context"
	"sync"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
)

// hub joins ranks that are goroutines of one process.
type hub struct {
	mu      sync.Mutex
	arrived int
	done    chan struct{} // closed when all ranks have arrived
	posted  []*tensor.Tensor
	mail    [][]chan *tensor.Tensor // from, to
}

func newHub(size int) *hub {
	h := &hub{done: make(chan struct{}), posted: make([]*tensor.Tensor, size), mail: make([][]chan *tensor.Tensor, size)}
	for i := range h.mail {
		h.mail[i] = make([]chan *tensor.Tensor, size)
		for j := range h.mail[i] {
			h.mail[i][j] = make(chan *tensor.Tensor, 1)
		}
	}
	return h
}

// meet waits for all ranks.
func (h *hub) meet(ctx context.Context) error {
	h.mu.Lock()
	done := h.done
	if h.arrived++; h.arrived == len(h.posted) {
		h.arrived, h.done = 0, make(chan struct{})
		close(done)
	}
	h.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// rank is one member of a hub: a [backend.Collective].
type rank struct {
	*hub
	i int
}

func (r rank) Rank() int { return r.i }
func (r rank) Size() int { return len(r.posted) }

// exchange shows every rank the tensors of all.
func (r rank) exchange(ctx context.Context, t *tensor.Tensor, read func(all []*tensor.Tensor) error) error {
	r.posted[r.i] = t.Clone()
	if err := r.meet(ctx); err != nil {
		return err
	}
	if err := read(r.posted); err != nil {
		return err
	}
	return r.meet(ctx)
}

func (r rank) AllReduce(ctx context.Context, how backend.Reduction, t *tensor.Tensor) error {
	return r.exchange(ctx, t, func(all []*tensor.Tensor) error { return combine(how, t, 0, all) })
}

func (r rank) ReduceScatter(ctx context.Context, how backend.Reduction, dst, src *tensor.Tensor) error {
	return r.exchange(ctx, src, func(all []*tensor.Tensor) error { return combine(how, dst, r.i*dst.Len(), all) })
}

// combine folds the elements of all tensors from element first on.
func combine(how backend.Reduction, dst *tensor.Tensor, first int, all []*tensor.Tensor) error {
	for i := range dst.Len() {
		v := all[0].Elem(first + i)
		for _, t := range all[1:] {
			if how == backend.Max {
				v = max(v, t.Elem(first+i))
			} else {
				v += t.Elem(first + i)
			}
		}
		dst.SetElem(i, v)
	}
	return nil
}

func (r rank) AllGather(ctx context.Context, dst, src *tensor.Tensor) error {
	return r.exchange(ctx, src, func(all []*tensor.Tensor) error {
		for i, t := range all {
			for k := range t.Len() {
				dst.SetElem(i*t.Len()+k, t.Elem(k))
			}
		}
		return nil
	})
}

func (r rank) Broadcast(ctx context.Context, root int, t *tensor.Tensor) error {
	return r.exchange(ctx, t, func(all []*tensor.Tensor) error { return tensor.Copy(t, all[root]) })
}

func (r rank) Send(ctx context.Context, peer int, t *tensor.Tensor) error {
	select {
	case r.mail[r.i][peer] <- t.Clone():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r rank) Recv(ctx context.Context, peer int, t *tensor.Tensor) error {
	select {
	case m := <-r.mail[peer][r.i]:
		return tensor.Copy(t, m)
	case <-ctx.Done():
		return ctx.Err()
	}
}

package model

import (
	"context"
	"sync"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
)

// exchange is a group of ranks in one process, for tests: every call is a
// rendezvous of all ranks, of which the last to come does the work.
type exchange struct {
	size  int
	mu    sync.Mutex
	cond  *sync.Cond
	round int
	parts []*tensor.Tensor
	mail  [][]chan *tensor.Tensor // from, to
	err   error
}

// rank is one rank's side of an exchange.
type rank struct {
	*exchange
	i int
}

func newExchange(size int) *exchange {
	x := &exchange{size: size, mail: make([][]chan *tensor.Tensor, size)}
	x.cond = sync.NewCond(&x.mu)
	for i := range x.mail {
		for range size {
			x.mail[i] = append(x.mail[i], make(chan *tensor.Tensor, 8))
		}
	}
	return x
}

// meet brings all ranks together; work gets their tensors in order of the ranks.
func (r rank) meet(t *tensor.Tensor, work func(parts []*tensor.Tensor) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.parts == nil {
		r.parts = make([]*tensor.Tensor, r.size)
	}
	r.parts[r.i] = t
	for _, p := range r.parts {
		if p == nil {
			for round := r.round; round == r.round; {
				r.cond.Wait()
			}
			return r.err
		}
	}
	r.err = work(r.parts)
	r.parts = nil
	r.round++
	r.cond.Broadcast()
	return r.err
}

func (r rank) Rank() int { return r.i }
func (r rank) Size() int { return r.size }

func (r rank) AllReduce(_ context.Context, _ backend.Reduction, t *tensor.Tensor) error {
	return r.meet(t, func(parts []*tensor.Tensor) error {
		sum := parts[0].Float32()
		for _, p := range parts[1:] {
			for i, v := range p.Float32() {
				sum[i] += v
			}
		}
		for _, p := range parts[1:] {
			copy(p.Float32(), sum)
		}
		return nil
	})
}

func (r rank) AllGather(_ context.Context, dst, src *tensor.Tensor) error {
	// The tensors that meet are the destinations, with each rank's part in place.
	if err := fill(dst, r.i, src); err != nil {
		return err
	}
	return r.meet(dst, func(parts []*tensor.Tensor) error {
		for from := range parts {
			for _, to := range parts {
				n := src.Len()
				copy(to.Float32()[from*n:][:n], parts[from].Float32()[from*n:][:n])
			}
		}
		return nil
	})
}

func fill(dst *tensor.Tensor, part int, src *tensor.Tensor) error {
	w, err := dst.Window(part*src.Len(), src.Len())
	if err != nil {
		return err
	}
	return tensor.Copy(w, src.Reshape(-1))
}

func (r rank) Send(_ context.Context, peer int, t *tensor.Tensor) error {
	r.mail[r.i][peer] <- t.Clone()
	return nil
}

func (r rank) Recv(ctx context.Context, peer int, t *tensor.Tensor) error {
	select {
	case got := <-r.mail[peer][r.i]:
		return tensor.Copy(t, got)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// The programs of decoders do not use these.
func (r rank) ReduceScatter(context.Context, backend.Reduction, *tensor.Tensor, *tensor.Tensor) error {
	panic("no decoder scatters")
}
func (r rank) Broadcast(context.Context, int, *tensor.Tensor) error { panic("no decoder broadcasts") }

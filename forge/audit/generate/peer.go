package generate

import (
	"context"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
)

// peerGroup is the group of the operators that talk to a second rank.
const peerGroup = "pair"

// WithPeer returns a context under which programs can run: their group of two ranks
// consists of this one and of one that runs the same program on the same inputs
// and gets the same, so that a result depends on nothing else. What it sends is
// the same each time.
func WithPeer(ctx context.Context) context.Context {
	return backend.WithGroup(ctx, peerGroup, twin{})
}

// twin is rank 0 of such a group. It has no state.
type twin struct{}

func (twin) Rank() int { return 0 }
func (twin) Size() int { return 2 }

func (twin) AllReduce(_ context.Context, r backend.Reduction, t *tensor.Tensor) error {
	if r == backend.Max {
		return nil
	}
	for i := range t.Len() {
		t.SetElem(i, 2*t.Elem(i))
	}
	return nil
}

func (g twin) ReduceScatter(ctx context.Context, r backend.Reduction, dst, src *tensor.Tensor) error {
	for i := range dst.Len() {
		dst.SetElem(i, src.Elem(i))
	}
	return g.AllReduce(ctx, r, dst)
}

func (twin) AllGather(_ context.Context, dst, src *tensor.Tensor) error {
	for i := range dst.Len() {
		dst.SetElem(i, src.Elem(i%src.Len()))
	}
	return nil
}

func (twin) Broadcast(context.Context, int, *tensor.Tensor) error { return nil }

func (twin) Send(context.Context, int, *tensor.Tensor) error { return nil }

func (twin) Recv(_ context.Context, _ int, t *tensor.Tensor) error {
	for i := range t.Len() {
		t.SetElem(i, float64(i%9-4))
	}
	return nil
}

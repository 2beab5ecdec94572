package op

import (
	"context"
	"sync"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
)

// hub joins the ranks of a test, which are goroutines.
type hub struct {
	mu      sync.Mutex
	all     *sync.Cond
	arrived int
	round   int
	posted  []*tensor.Tensor
	mail    [][]chan *tensor.Tensor // from, to
}

func newHub(size int) *hub {
	h := &hub{posted: make([]*tensor.Tensor, size), mail: make([][]chan *tensor.Tensor, size)}
	h.all = sync.NewCond(&h.mu)
	for i := range h.mail {
		h.mail[i] = make([]chan *tensor.Tensor, size)
		for j := range h.mail[i] {
			h.mail[i][j] = make(chan *tensor.Tensor, 4)
		}
	}
	return h
}

// meet waits for all ranks.
func (h *hub) meet() {
	h.mu.Lock()
	defer h.mu.Unlock()
	round := h.round
	if h.arrived++; h.arrived == len(h.posted) {
		h.arrived = 0
		h.round++
		h.all.Broadcast()
	}
	for round == h.round {
		h.all.Wait()
	}
}

// rank is one member of a hub.
type rank struct {
	*hub
	i int
}

func (r rank) Rank() int { return r.i }
func (r rank) Size() int { return len(r.posted) }

// exchange shows every rank the tensors of all.
func (r rank) exchange(t *tensor.Tensor, read func(all []*tensor.Tensor)) error {
	r.posted[r.i] = t.Clone()
	r.meet()
	read(r.posted)
	r.meet()
	return nil
}

func (r rank) AllReduce(_ context.Context, how backend.Reduction, t *tensor.Tensor) error {
	return r.exchange(t, func(all []*tensor.Tensor) { combine(how, t, 0, all) })
}

func (r rank) ReduceScatter(_ context.Context, how backend.Reduction, dst, src *tensor.Tensor) error {
	return r.exchange(src, func(all []*tensor.Tensor) { combine(how, dst, r.i*dst.Len(), all) })
}

// combine folds all tensors from element first on.
func combine(how backend.Reduction, dst *tensor.Tensor, first int, all []*tensor.Tensor) {
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
}

func (r rank) AllGather(_ context.Context, dst, src *tensor.Tensor) error {
	return r.exchange(src, func(all []*tensor.Tensor) {
		for i, t := range all {
			for k := range t.Len() {
				dst.SetElem(i*t.Len()+k, t.Elem(k))
			}
		}
	})
}

func (r rank) Broadcast(_ context.Context, root int, t *tensor.Tensor) error {
	return r.exchange(t, func(all []*tensor.Tensor) { _ = tensor.Copy(t, all[root]) })
}

func (r rank) Send(_ context.Context, peer int, t *tensor.Tensor) error {
	r.mail[r.i][peer] <- t.Clone()
	return nil
}

func (r rank) Recv(ctx context.Context, peer int, t *tensor.Tensor) error {
	select {
	case m := <-r.mail[peer][r.i]:
		return tensor.Copy(t, m)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// onRanks runs a program of one node on every rank, in all of which %x is
// [2,4] with the elements 100*rank + 0 to 7.
func onRanks(t *testing.T, size int, result, node string) []*tensor.Tensor {
	t.Helper()
	h, outs, errs := newHub(size), make([]*tensor.Tensor, size), make([]error, size)
	var wg sync.WaitGroup
	for i := range size {
		x := from(t, []int{2, 4}, make([]float32, 8)...)
		for k := range x.Len() {
			x.SetElem(k, float64(100*i+k))
		}
		ctx := backend.WithGroup(t.Context(), "tp", rank{h, i})
		wg.Go(func() { outs[i], errs[i] = runNode(ctx, "%x: f32[2,4]", result, node, x) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("rank %d: %v", i, err)
		}
	}
	return outs
}

func TestCollectives(t *testing.T) {
	for _, c := range []struct {
		node   string
		result string
		want   [2][]float64
	}{
		{`all_reduce %x {group = "tp", size = 2}`, "f32[2,4]", [2][]float64{
			{100, 102, 104, 106, 108, 110, 112, 114}, {100, 102, 104, 106, 108, 110, 112, 114},
		}},
		{`all_reduce %x {group = "tp", size = 2, reduce = "max"}`, "f32[2,4]", [2][]float64{
			{100, 101, 102, 103, 104, 105, 106, 107}, {100, 101, 102, 103, 104, 105, 106, 107},
		}},
		{`reduce_scatter %x {group = "tp", size = 2}`, "f32[1,4]", [2][]float64{{100, 102, 104, 106}, {108, 110, 112, 114}}},
		{`reduce_scatter %x {group = "tp", size = 2, axis = 1}`, "f32[2,2]", [2][]float64{{100, 102, 108, 110}, {104, 106, 112, 114}}},
		{`all_gather %x {group = "tp", size = 2}`, "f32[4,4]", [2][]float64{
			{0, 1, 2, 3, 4, 5, 6, 7, 100, 101, 102, 103, 104, 105, 106, 107}, {0, 1, 2, 3, 4, 5, 6, 7, 100, 101, 102, 103, 104, 105, 106, 107},
		}},
		{`all_gather %x {group = "tp", size = 2, axis = -1}`, "f32[2,8]", [2][]float64{
			{0, 1, 2, 3, 100, 101, 102, 103, 4, 5, 6, 7, 104, 105, 106, 107}, {0, 1, 2, 3, 100, 101, 102, 103, 4, 5, 6, 7, 104, 105, 106, 107},
		}},
		{`broadcast %x {group = "tp", size = 2, root = 1}`, "f32[2,4]", [2][]float64{
			{100, 101, 102, 103, 104, 105, 106, 107}, {100, 101, 102, 103, 104, 105, 106, 107},
		}},
	} {
		t.Run(c.node, func(t *testing.T) {
			for i, out := range onRanks(t, 2, c.result, c.node) {
				wantElems(t, out, c.want[i]...)
			}
		})
	}
}

func TestSendRecv(t *testing.T) {
	h, x := newHub(2), random(t, 1, 2, 3)
	ctx := func(i int) context.Context { return backend.WithGroup(t.Context(), "world", rank{h, i}) }
	sent, err := runNode(ctx(0), "%x: f32[2,3]", "i64[]", "send %x {peer = 1, size = 2}", x)
	if err != nil {
		t.Fatal(err)
	}
	wantElems(t, sent, 6)
	got, err := runNode(ctx(1), "", "f32[2,3]", "recv {peer = 0, size = 2, shape = [2, 3]}")
	if err != nil {
		t.Fatal(err)
	}
	if !tensor.Identical(got, x) {
		t.Error("received something else")
	}
	_, err = runNode(ctx(1), "", "f32[2,3]", "recv {peer = 1, size = 2, shape = [2, 3]}")
	if want := "attribute peer is 1, the rank of this process itself"; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

// TestOneRank runs the operators without any group.
func TestOneRank(t *testing.T) {
	x := random(t, 1, 2, 4)
	for _, name := range []string{"all_reduce", "reduce_scatter", "all_gather", "broadcast"} {
		out, err := runNode(t.Context(), "%x: f32[2,4]", "f32[2,4]", name+" %x {size = 1}", x)
		if err != nil {
			t.Fatal(err)
		}
		if !tensor.Identical(out, x) {
			t.Errorf("%s on one rank is not the identity", name)
		}
	}
}

func TestGroupErrors(t *testing.T) {
	x := random(t, 1, 2, 4)
	in3 := backend.WithGroup(t.Context(), "tp", rank{newHub(3), 0})
	for _, c := range []struct {
		ctx                  context.Context
		inputs, result, node string
		want                 string
	}{
		{t.Context(), "%x: f32[2,4]", "f32[2,4]", "all_reduce %x {size = 2}", `the program runs on 2 ranks of group "world", which this run does not have`},
		{t.Context(), "%x: f32[2,4]", "i64[]", "send %x {size = 2, peer = 1}", `the program runs on 2 ranks of group "world", which this run does not have`},
		{in3, "%x: f32[2,4]", "f32[4,4]", `all_gather %x {group = "tp", size = 2}`, `the program was compiled for 2 ranks of group "tp", which has 3`},
	} {
		if _, err := runNode(c.ctx, c.inputs, c.result, c.node, x); err == nil || err.Error() != c.want {
			t.Errorf("%s: got error %v, want %s", c.node, err, c.want)
		}
	}
}

package engine

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync/atomic"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/model"
	"forgekernel/nebula/trace"
)

// within gives programs their groups and, if single kernels are recorded, an observer.
func (r *rank) within(ctx context.Context) context.Context {
	for name, group := range map[string]collective.Group{"tp": r.groups.tp, "pp": r.groups.pp} {
		switch {
		case group == nil:
		case r.rec == nil || exchanging(group): // devices do not tell the host of their calls
			ctx = backend.WithGroup(ctx, name, group)
		default:
			ctx = backend.WithGroup(ctx, name, newTraced(group, r.rec, &r.at))
		}
	}
	if r.rec != nil && r.sizes.kernels == 1 {
		ctx = backend.WithObserver(ctx, r.observe)
	}
	return ctx
}

// exchanging reports whether devices exchange the tensors of a group.
func exchanging(g collective.Group) bool {
	_, ok := g.(cuda.Exchanging)
	return ok
}

// observe records a node of a program. Calls of groups are recorded as such, where the host
// makes them.
func (r *rank) observe(n *ir.Node, start, end time.Time) {
	transfer := n.Op.Class == ir.Transfer
	if _, device := r.backend.(*cuda.Backend); transfer && !device {
		return
	}
	region, name := model.Region{}, n.Op.Name
	if len(n.Pos) > 0 {
		if found, ok := model.RegionOf(n.Pos[0]); ok {
			region, name = found, n.Pos[0].Source
		}
	}
	kind := kindOf(region)
	if transfer {
		kind = transferKind(n.Op.Name)
	}
	from := r.rec.At(start)
	r.rec.Put(trace.Region{Kind: kind, Name: name, Step: r.at.Load(), Start: from, End: from + end.Sub(start)})
}

// transferKind is the kind of an operator between ranks.
func transferKind(op string) trace.Kind {
	switch op {
	case "send":
		return trace.Send
	case "recv":
		return trace.Recv
	}
	return trace.Collective
}

// kindOf sums up a region of a decoder.
func kindOf(r model.Region) trace.Kind {
	switch r.Name {
	case "attention":
		return trace.Attention
	case "attention qkv", "attention output":
		return trace.Projection
	case "kv append":
		return trace.Append
	}
	if r.Work() == "ff" {
		return trace.FF
	}
	return trace.Compute
}

// traced records the calls of a group. Those of all ranks get equal flow numbers,
// which follow from the group and the number of the call.
type traced struct {
	collective.Group
	rec   *trace.Recorder
	step  *atomic.Uint64 // which executes
	names [recvCall + 1]string
	id    uint64 // of the group
	calls uint64
	// Messages to and from each rank, which are numbered for themselves.
	sent, received []uint64
}

// The calls of a group that are recorded.
const (
	reduceCall = iota
	scatterCall
	gatherCall
	broadcastCall
	sendCall
	recvCall
)

func newTraced(g collective.Group, rec *trace.Recorder, step *atomic.Uint64) *traced {
	h := fnv.New64a()
	fmt.Fprint(h, g.Name())
	t := &traced{Group: g, rec: rec, step: step, id: h.Sum64(), sent: make([]uint64, g.Size()), received: make([]uint64, g.Size())}
	for i, name := range []string{"all_reduce", "reduce_scatter", "all_gather", "broadcast", "send", "recv"} {
		t.names[i] = name + " " + g.Name()
	}
	return t
}

// flow is the number of a call, or of a message between two ranks.
func (t *traced) flow(number, from, to uint64) uint64 {
	x := t.id + number*0x9e3779b97f4a7c15 + from<<20 + to
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	return (x ^ x>>32) | 1
}

func (t *traced) collective(call int, start time.Duration) {
	t.calls++
	t.rec.Add(trace.Region{Kind: trace.Collective, Name: t.names[call], Step: t.step.Load(), Start: start, Flow: t.flow(t.calls, 0, 0)})
}

// AllReduce implements [backend.Collective], as do the other methods.
func (t *traced) AllReduce(ctx context.Context, r backend.Reduction, x *tensor.Tensor) error {
	defer t.collective(reduceCall, t.rec.Now())
	return t.Group.AllReduce(ctx, r, x)
}

func (t *traced) ReduceScatter(ctx context.Context, r backend.Reduction, dst, src *tensor.Tensor) error {
	defer t.collective(scatterCall, t.rec.Now())
	return t.Group.ReduceScatter(ctx, r, dst, src)
}

func (t *traced) AllGather(ctx context.Context, dst, src *tensor.Tensor) error {
	defer t.collective(gatherCall, t.rec.Now())
	return t.Group.AllGather(ctx, dst, src)
}

func (t *traced) Broadcast(ctx context.Context, root int, x *tensor.Tensor) error {
	defer t.collective(broadcastCall, t.rec.Now())
	return t.Group.Broadcast(ctx, root, x)
}

func (t *traced) Send(ctx context.Context, peer int, x *tensor.Tensor) error {
	start := t.rec.Now()
	err := t.Group.Send(ctx, peer, x)
	t.sent[peer]++
	t.rec.Add(trace.Region{Kind: trace.Send, Name: t.names[sendCall], Step: t.step.Load(), Start: start,
		Flow: t.flow(t.sent[peer], uint64(t.Rank()+1), uint64(peer+1))})
	return err
}

func (t *traced) Recv(ctx context.Context, peer int, x *tensor.Tensor) error {
	start := t.rec.Now()
	err := t.Group.Recv(ctx, peer, x)
	t.received[peer]++
	t.rec.Add(trace.Region{Kind: trace.Recv, Name: t.names[recvCall], Step: t.step.Load(), Start: start,
		Flow: t.flow(t.received[peer], uint64(peer+1), uint64(t.Rank()+1))})
	return err
}

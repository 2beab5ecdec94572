package backend

import (
	"context"
	"fmt"
	"sync"

	"forgekernel/forge/tensor"
)

// Collective is a group of ranks, seen from one of them. All ranks of a group
// make the same calls in the same order, with tensors of the same types and
// shapes; a rank that does not gives an error on every rank, not a wait without
// end. A call blocks until this rank's part is done or ctx ends. The tensors of
// a call that failed have undefined contents.
type Collective interface {
	// Rank is the index of this rank, from 0 to Size-1.
	Rank() int
	// Size is the number of ranks.
	Size() int
	// AllReduce combines the tensors of all ranks element by element and leaves
	// the same result on each, in t. Ranks are combined in ascending order, so
	// that a result does not depend on timing.
	AllReduce(ctx context.Context, r Reduction, t *tensor.Tensor) error
	// ReduceScatter combines as AllReduce does and leaves part i of the result on
	// rank i. Parts are of the size of dst and lie one after another in src.
	ReduceScatter(ctx context.Context, r Reduction, dst, src *tensor.Tensor) error
	// AllGather puts the tensors of all ranks into dst, one after another.
	AllGather(ctx context.Context, dst, src *tensor.Tensor) error
	// Broadcast copies t of rank root to all ranks.
	Broadcast(ctx context.Context, root int, t *tensor.Tensor) error
	// Send gives t to rank peer, which receives it. Messages between two ranks
	// arrive in the order in which they are sent.
	Send(ctx context.Context, peer int, t *tensor.Tensor) error
	// Recv fills t with what rank peer sends.
	Recv(ctx context.Context, peer int, t *tensor.Tensor) error
}

// Reduction is how elements of several ranks become one.
type Reduction uint8

// Reductions. Max of NaN and anything is NaN.
const (
	Sum Reduction = iota
	Max
)

// String is "sum" or "max".
func (r Reduction) String() string {
	if r == Max {
		return "max"
	}
	return "sum"
}

// groupName is the key of a group in a context.
type groupName string

// groupKeys are the keys of all names, so that a run which looks for a group takes no
// memory. There are few names.
var groupKeys = struct {
	sync.RWMutex
	of map[string]any
}{of: make(map[string]any)}

func groupKey(name string) any {
	groupKeys.RLock()
	key, ok := groupKeys.of[name]
	groupKeys.RUnlock()
	if !ok {
		key = groupName(name)
		groupKeys.Lock()
		groupKeys.of[name] = key
		groupKeys.Unlock()
	}
	return key
}

// WithGroup returns a context under which programs find the group of that name.
func WithGroup(ctx context.Context, name string, c Collective) context.Context {
	return context.WithValue(ctx, groupKey(name), c)
}

// Group returns the group of that name for a program that was compiled for size
// ranks. Without such a group a program for one rank runs alone and gets nil.
func Group(ctx context.Context, name string, size int) (Collective, error) {
	c, ok := ctx.Value(groupKey(name)).(Collective)
	switch {
	case !ok && size == 1:
		return nil, nil
	case !ok:
		return nil, fmt.Errorf("the program runs on %d ranks of group %q, which this run does not have", size, name)
	case c.Size() != size:
		return nil, fmt.Errorf("the program was compiled for %d ranks of group %q, which has %d", size, name, c.Size())
	}
	return c, nil
}

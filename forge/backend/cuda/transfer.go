package cuda

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu/source"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/cuda/nccl"
	"forgekernel/forge/backend/cuda/peer"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// Exchanging is a group whose ranks have devices that exchange tensors by themselves.
// Programs with transfers ask for one when they are captured: the groups of their
// context have to be such groups.
type Exchanging interface {
	backend.Collective
	// NCCL is the communicator of the group's ranks, in their order.
	NCCL() *nccl.Comm
	// Peer is memory by which the ranks add small tensors in one kernel; nil, with the
	// reason, where they do not.
	Peer() (*peer.Memory, string)
}

func init() { templates = append(templates, transfers) }

// transfers makes calls of NCCL of the operators between ranks, which are steps of the
// graph as kernels are. Ranks are combined in ascending order: where NCCL's own
// reductions do not give those bits, the tensors of all ranks are gathered and folded.
func transfers(p *program, n *ir.Node) ([]choice, string) {
	if n.Op.Class != ir.Transfer {
		return nil, ""
	}
	e := &exchange{program: p, node: n, name: n.Str("group"), size: n.Int("size"), pieces: []piece{}}
	if err := e.build(); err != nil {
		return nil, err.Error()
	}
	return []choice{{name: n.Op.Name + ", NCCL", reason: e.reason(), pieces: e.pieces, scratch: e.scratch}}, ""
}

// exchange is a transfer in the making.
type exchange struct {
	*program
	node    *ir.Node
	name    string // of the group
	size    int
	pieces  []piece
	scratch int64 // bytes
	notes   []string
}

func (e *exchange) reason() string {
	return strings.Join(append([]string{fmt.Sprintf("between %d ranks of group %s", e.size, e.name)}, e.notes...), "; ")
}

func (e *exchange) build() error {
	n := e.node
	out := e.Place(n.Out[0])
	if n.Op.Name == "recv" {
		return e.recv(out)
	}
	x := n.In[0]
	from, err := e.dense(x)
	if err != nil || x.Spec.Elements() == 0 && n.Op.Name != "send" {
		return err
	}
	if e.size == 1 { // the identity
		return e.copy(out, from, []int{x.Spec.Elements()}, []int{1}, x.Spec.DType)
	}
	switch n.Op.Name {
	case "all_reduce":
		return e.allReduce(out, from)
	case "reduce_scatter":
		return e.reduceScatter(out, from)
	case "all_gather":
		return e.allGather(out, from)
	case "broadcast":
		return e.broadcast(out, from)
	case "send":
		return e.send(out, from)
	}
	return fmt.Errorf("%s has no equal in NCCL", n.Op.Name)
}

// take gives some bytes of scratch memory.
func (e *exchange) take(elements int, d tensor.DType) planned.Place {
	const align = 256
	at := scratch(e.scratch)
	e.scratch += (int64(elements)*int64(d.Size()) + align - 1) / align * align
	return at
}

// dense is where the elements of a value follow one another: where they are, or a copy.
func (e *exchange) dense(v *ir.Value) (planned.Place, error) {
	at, strides := e.Place(v), e.Strides(v)
	if v.Spec.Elements() == 0 || slices.Equal(strides, tensor.Strides(v.Spec.Shape)) {
		return at, nil
	}
	to := e.take(v.Spec.Elements(), v.Spec.DType)
	return to, e.copy(to, at, v.Spec.Shape, strides, v.Spec.DType)
}

// copy adds a kernel that makes a dense copy of elements which lie strides apart.
func (e *exchange) copy(to, from planned.Place, shape, strides []int, d tensor.DType) error {
	v := &ir.Value{Spec: ir.Spec{DType: d, Shape: shape}}
	pieces, err := e.print(loop.Copy(v, strides), []planned.Place{to, from})
	e.pieces = append(e.pieces, pieces...)
	return err
}

// operation puts work of a communicator into a stream.
type operation func(ctx context.Context, c *nccl.Comm, s *driver.Stream, at []uint64) error

// call adds an operation of the group.
func (e *exchange) call(do operation, args ...planned.Place) {
	name, size := e.name, e.size
	e.pieces = append(e.pieces, piece{args: args, call: func(ctx context.Context, s *driver.Stream, at []uint64) error {
		x, err := exchanging(ctx, name, size)
		if err != nil {
			return err
		}
		return do(ctx, x.NCCL(), s, at)
	}})
}

// exchanging is the group of that name of a run or a compilation.
func exchanging(ctx context.Context, name string, size int) (Exchanging, error) {
	g, err := backend.Group(ctx, name, size)
	if err != nil {
		return nil, err
	}
	x, ok := g.(Exchanging)
	if !ok {
		return nil, fmt.Errorf("the ranks of group %q have no devices that exchange tensors", name)
	}
	return x, nil
}

func (e *exchange) how() backend.Reduction {
	if e.node.Str("reduce") == "max" {
		return backend.Max
	}
	return backend.Sum
}

func (e *exchange) allReduce(out, from planned.Place) error {
	how, d, n := e.how(), e.node.Out[0].Spec.DType, e.node.Out[0].Spec.Elements()
	if e.unit.mailed != nil && n <= peer.MaxElements {
		if why := e.unit.mailed(e.name, e.size); why != "" {
			e.notes = append(e.notes, "not in one kernel: "+why)
		}
	}
	if !nccl.InOrder(how, d, e.size) {
		e.fold(out, from, n)
		return nil
	}
	e.call(func(ctx context.Context, c *nccl.Comm, s *driver.Stream, at []uint64) error {
		return c.AllReduce(ctx, s, how, d, at[0], at[1], n)
	}, out, from)
	return nil
}

// reduceScatter first puts the parts of the ranks one after another.
func (e *exchange) reduceScatter(out, from planned.Place) error {
	x, d, n := e.node.In[0], e.node.Out[0].Spec.DType, e.node.Out[0].Spec.Elements()
	outer, rest := e.split(x.Spec.Shape)
	if outer > 1 {
		to := e.take(x.Spec.Elements(), d)
		if err := e.copy(to, from, []int{e.size, outer, rest}, []int{rest, e.size * rest, 1}, d); err != nil {
			return err
		}
		from = to
	}
	how := e.how()
	if !nccl.InOrder(how, d, e.size) {
		whole := e.take(x.Spec.Elements(), d)
		e.fold(whole, from, x.Spec.Elements())
		e.call(func(_ context.Context, c *nccl.Comm, s *driver.Stream, at []uint64) error {
			part := int64(n) * int64(d.Size())
			return s.Copy(&driver.Memory{Address: at[0], Bytes: part}, 0, &driver.Memory{Address: at[1], Bytes: part * int64(c.Size)}, part*int64(c.Rank), int(part))
		}, out, whole)
		return nil
	}
	e.call(func(ctx context.Context, c *nccl.Comm, s *driver.Stream, at []uint64) error {
		return c.ReduceScatter(ctx, s, how, d, at[0], at[1], n)
	}, out, from)
	return nil
}

// split is the sizes before the divided dimension of the whole tensor, and from it on of
// one part.
func (e *exchange) split(whole []int) (outer, rest int) {
	axis := e.node.Int("axis")
	return product(whole[:axis]), product(whole[axis:]) / e.size
}

// allGather receives the parts one after another, and then interleaves them.
func (e *exchange) allGather(out, from planned.Place) error {
	spec, n := e.node.Out[0].Spec, e.node.In[0].Spec.Elements()
	outer, rest := e.split(spec.Shape)
	parts := out
	if outer > 1 {
		parts = e.take(spec.Elements(), spec.DType)
	}
	e.gather(parts, from, spec.DType, n)
	if outer == 1 {
		return nil
	}
	return e.copy(out, parts, []int{outer, e.size, rest}, []int{rest, outer * rest, 1}, spec.DType)
}

func (e *exchange) gather(to, from planned.Place, d tensor.DType, n int) {
	e.call(func(ctx context.Context, c *nccl.Comm, s *driver.Stream, at []uint64) error {
		return c.AllGather(ctx, s, d, at[0], at[1], n)
	}, to, from)
}

// fold gathers n floats of each rank and combines them by a kernel.
func (e *exchange) fold(out, from planned.Place, n int) {
	d := e.node.In[0].Spec.DType
	all := e.take(e.size*n, d)
	e.gather(all, from, d, n)
	t, combine := tensor.F32, loop.Sum // half precision is added in f32 and rounded at the end
	if d == tensor.F64 {
		t = d
	}
	if e.how() == backend.Max {
		combine = loop.Max
	}
	op := source.Function(&loop.Expr{Op: combine.Combine(), Args: []*loop.Expr{{Type: t}}})
	elem := forms[d].elem
	text := fmt.Sprintf(`extern "C" __global__ void __launch_bounds__(%[1]d) %[2]s(%[3]s *y, const %[3]s *x, int *fault, int step) {
  for (i64 u = (i64)blockIdx.x * %[1]d + threadIdx.x; u < %[4]dll; u += (i64)gridDim.x * %[1]d) {
    auto s = load_%[5]v(x + u);
    for (int rank = 1; rank < %[6]d; rank++) s = %[7]s(s, load_%[5]v(x + rank * %[4]dll + u));
    store_%[5]v(y + u, s);
  }
}
`, blockThreads, placeholder, elem, n, d, e.size, op)
	e.pieces = append(e.pieces, piece{text: text, launch: flat(blocksFor(n, blockThreads), blockThreads), args: []planned.Place{out, all}})
	e.notes = append(e.notes, "gathered, and folded in the order of the ranks")
}

func (e *exchange) broadcast(out, from planned.Place) error {
	d, n, root := e.node.Out[0].Spec.DType, e.node.Out[0].Spec.Elements(), e.node.Int("root")
	e.call(func(ctx context.Context, c *nccl.Comm, s *driver.Stream, at []uint64) error {
		return c.Broadcast(ctx, s, root, d, at[0], at[1], n)
	}, out, from)
	return nil
}

func (e *exchange) send(out, from planned.Place) error {
	spec, n, peer := e.node.In[0].Spec, e.node.In[0].Spec.Elements(), e.node.Int("peer")
	if n > 0 {
		e.call(func(ctx context.Context, c *nccl.Comm, s *driver.Stream, at []uint64) error {
			if err := another(c, peer); err != nil {
				return err
			}
			return c.Send(ctx, s, peer, spec.DType, at[0], n)
		}, from)
	}
	e.pieces = append(e.pieces, piece{
		text:   fmt.Sprintf("extern \"C\" __global__ void %s(i64 *count, int *fault, int step) { *count = %dll; }\n", placeholder, n),
		launch: flat(1, 1), args: []planned.Place{out},
	})
	return nil
}

func (e *exchange) recv(out planned.Place) error {
	spec, n, peer := e.node.Out[0].Spec, e.node.Out[0].Spec.Elements(), e.node.Int("peer")
	if n > 0 {
		e.call(func(ctx context.Context, c *nccl.Comm, s *driver.Stream, at []uint64) error {
			if err := another(c, peer); err != nil {
				return err
			}
			return c.Recv(ctx, s, peer, spec.DType, at[0], n)
		}, out)
	}
	return nil
}

func another(c *nccl.Comm, peer int) error {
	if peer == c.Rank {
		return fmt.Errorf("attribute peer is %d, the rank of this process itself", peer)
	}
	return nil
}

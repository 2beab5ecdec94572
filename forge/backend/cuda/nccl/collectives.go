package nccl

import (
	"context"
	"fmt"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/tensor"
)

// Of ncclDataType_t. Truth values are bytes 0 and 1.
const (
	typeUint8    = 1
	typeInt32    = 2
	typeInt64    = 4
	typeFloat16  = 6
	typeFloat32  = 7
	typeFloat64  = 8
	typeBfloat16 = 9
)

// Of ncclRedOp_t.
const (
	opSum = 0
	opMax = 2
)

// typeOf is what NCCL calls an element type.
func typeOf(d tensor.DType) (uintptr, error) {
	switch d {
	case tensor.Bool:
		return typeUint8, nil
	case tensor.I32:
		return typeInt32, nil
	case tensor.I64:
		return typeInt64, nil
	case tensor.F16:
		return typeFloat16, nil
	case tensor.F32:
		return typeFloat32, nil
	case tensor.F64:
		return typeFloat64, nil
	case tensor.BF16:
		return typeBfloat16, nil
	}
	return 0, fmt.Errorf("NCCL has no elements of %v", d)
}

// opOf is what NCCL calls a reduction. Of truth values, both mean "or".
func opOf(how backend.Reduction, d tensor.DType) uintptr {
	if how == backend.Max || d == tensor.Bool {
		return opMax
	}
	return opSum
}

// InOrder reports whether NCCL's reduction over some ranks gives the bits that combining
// them in ascending order gives: sums of floats depend on the order when there are more
// than two, and NCCL's maximum of floats passes over NaN.
func InOrder(how backend.Reduction, d tensor.DType, size int) bool {
	return !d.IsFloat() || how == backend.Sum && size <= 2
}

// The operations put work into a stream, within Do. Addresses are of the device, and
// counts of elements. Places may be equal but may not overlap otherwise.

// AllReduce combines n elements of all ranks and leaves the same result on each.
func (c *Comm) AllReduce(ctx context.Context, s *driver.Stream, how backend.Reduction, d tensor.DType, to, from uint64, n int) error {
	t, err := typeOf(d)
	if err != nil {
		return err
	}
	return c.put(ctx, "ncclAllReduce", uintptr(from), uintptr(to), uintptr(n), t, opOf(how, d), s.Handle())
}

// ReduceScatter combines as AllReduce does and leaves part i of the result on rank i; a
// part has n elements.
func (c *Comm) ReduceScatter(ctx context.Context, s *driver.Stream, how backend.Reduction, d tensor.DType, to, from uint64, n int) error {
	t, err := typeOf(d)
	if err != nil {
		return err
	}
	return c.put(ctx, "ncclReduceScatter", uintptr(from), uintptr(to), uintptr(n), t, opOf(how, d), s.Handle())
}

// AllGather puts the n elements of each rank one after another.
func (c *Comm) AllGather(ctx context.Context, s *driver.Stream, d tensor.DType, to, from uint64, n int) error {
	t, err := typeOf(d)
	if err != nil {
		return err
	}
	return c.put(ctx, "ncclAllGather", uintptr(from), uintptr(to), uintptr(n), t, s.Handle())
}

// Broadcast copies n elements of rank root to all ranks.
func (c *Comm) Broadcast(ctx context.Context, s *driver.Stream, root int, d tensor.DType, to, from uint64, n int) error {
	t, err := typeOf(d)
	if err == nil {
		err = c.peer(root)
	}
	if err != nil {
		return err
	}
	return c.put(ctx, "ncclBroadcast", uintptr(from), uintptr(to), uintptr(n), t, uintptr(root), s.Handle())
}

// Send gives n elements to a rank, which receives them.
func (c *Comm) Send(ctx context.Context, s *driver.Stream, peer int, d tensor.DType, from uint64, n int) error {
	return c.pass(ctx, "ncclSend", s, peer, d, from, n)
}

// Recv takes n elements that a rank sends.
func (c *Comm) Recv(ctx context.Context, s *driver.Stream, peer int, d tensor.DType, to uint64, n int) error {
	return c.pass(ctx, "ncclRecv", s, peer, d, to, n)
}

func (c *Comm) pass(ctx context.Context, name string, s *driver.Stream, peer int, d tensor.DType, at uint64, n int) error {
	t, err := typeOf(d)
	if err == nil {
		err = c.peer(peer)
	}
	if err != nil {
		return err
	}
	return c.put(ctx, name, uintptr(at), uintptr(n), t, uintptr(peer), s.Handle())
}

func (c *Comm) peer(rank int) error {
	if rank < 0 || rank >= c.Size {
		return fmt.Errorf("there is no rank %d in a group of %d", rank, c.Size)
	}
	return nil
}

package nccl

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/tensor"
)

// devices are the GPUs, without so many of which a test is skipped.
func devices(t testing.TB, least int) driver.Devices {
	t.Helper()
	l, err := driver.Open()
	var missing *library.Missing
	if errors.As(err, &missing) {
		t.Skip("there is no GPU: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	list, err := l.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < least {
		t.Skipf("there are %d GPUs, and %d are needed", len(list), least)
	}
	return list
}

func openDevice(t testing.TB) *driver.Context {
	t.Helper()
	c, err := devices(t, 1)[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// rig is a rank with memory to work in: n bytes that come from the host, and as many
// times size for results.
type rig struct {
	*Comm
	device   *driver.Context
	stream   *driver.Stream
	from, to *driver.Memory
}

func newRig(ctx context.Context, device *driver.Context, comm *Comm, n int) (*rig, error) {
	r := &rig{Comm: comm, device: device}
	return r, device.Do(ctx, func() (err error) {
		if r.stream, err = device.NewStream(); err != nil {
			return err
		}
		if r.from, err = r.stream.Alloc(int64(n)); err != nil {
			return err
		}
		if r.to, err = r.stream.Alloc(int64(n * comm.Size)); err != nil {
			return err
		}
		return r.stream.Synchronize()
	})
}

// run uploads, puts work into the stream, directly or as a graph that is launched so
// many times, and downloads.
func (r *rig) run(ctx context.Context, in []byte, out int, launches int, work func() error) ([]byte, error) {
	got := make([]byte, out)
	return got, r.device.Do(ctx, func() error {
		if err := errors.Join(r.stream.Upload(r.from, 0, in), r.stream.Upload(r.to, 0, bytes.Repeat([]byte{0xaa}, int(r.to.Bytes)))); err != nil {
			return err
		}
		if launches == 0 {
			if err := work(); err != nil {
				return err
			}
		} else {
			g, err := r.stream.Capture(work)
			if err != nil {
				return err
			}
			for range launches {
				if err := g.Launch(r.stream); err != nil {
					return err
				}
			}
			if err := errors.Join(r.stream.Synchronize(), g.Close()); err != nil {
				return err
			}
		}
		return errors.Join(r.stream.Download(got, r.to, 0), r.stream.Synchronize())
	})
}

// values are n elements of a type that depend on a rank, small enough that sums are
// exact.
func values(d tensor.DType, rank, n int) (*tensor.Tensor, error) {
	t, err := tensor.Zeros(d, n)
	if err != nil {
		return nil, err
	}
	for i := range n {
		x := float64((i*(rank+3))%23 - 7*rank)
		if d == tensor.Bool {
			x = float64((i + rank) % 3 / 2)
		}
		t.SetElem(i, x)
	}
	return t, nil
}

// operation is one kind of exchange: what it puts into the stream, and what has to come
// out on a rank, by what each rank has put in.
type operation struct {
	name string
	work func(ctx context.Context, r *rig, d tensor.DType, n int) error
	want func(in []*tensor.Tensor, rank int) *tensor.Tensor
}

func reduced(in []*tensor.Tensor, how backend.Reduction) *tensor.Tensor {
	out := in[0].Clone()
	for _, t := range in[1:] {
		for i := range out.Len() {
			if how == backend.Max || out.DType() == tensor.Bool {
				out.SetElem(i, max(out.Elem(i), t.Elem(i)))
			} else {
				out.SetElem(i, out.Elem(i)+t.Elem(i))
			}
		}
	}
	return out
}

var operations = []operation{
	{"all_reduce sum", func(ctx context.Context, r *rig, d tensor.DType, n int) error {
		return r.AllReduce(ctx, r.stream, backend.Sum, d, r.to.Address, r.from.Address, n)
	}, func(in []*tensor.Tensor, _ int) *tensor.Tensor { return reduced(in, backend.Sum) }},
	{"all_reduce max", func(ctx context.Context, r *rig, d tensor.DType, n int) error {
		return r.AllReduce(ctx, r.stream, backend.Max, d, r.to.Address, r.from.Address, n)
	}, func(in []*tensor.Tensor, _ int) *tensor.Tensor { return reduced(in, backend.Max) }},
	{"reduce_scatter sum", func(ctx context.Context, r *rig, d tensor.DType, n int) error {
		return r.ReduceScatter(ctx, r.stream, backend.Sum, d, r.to.Address, r.from.Address, n/r.Size)
	}, func(in []*tensor.Tensor, rank int) *tensor.Tensor {
		sum, part := reduced(in, backend.Sum), in[0].Len()/len(in)
		out, _ := tensor.Zeros(sum.DType(), part)
		for i := range part {
			out.SetElem(i, sum.Elem(rank*part+i))
		}
		return out
	}},
	{"all_gather", func(ctx context.Context, r *rig, d tensor.DType, n int) error {
		return r.AllGather(ctx, r.stream, d, r.to.Address, r.from.Address, n)
	}, func(in []*tensor.Tensor, _ int) *tensor.Tensor {
		out, _ := tensor.Zeros(in[0].DType(), len(in)*in[0].Len())
		for i := range out.Len() {
			out.SetElem(i, in[i/in[0].Len()].Elem(i%in[0].Len()))
		}
		return out
	}},
	{"broadcast of the last rank", func(ctx context.Context, r *rig, d tensor.DType, n int) error {
		return r.Broadcast(ctx, r.stream, r.Size-1, d, r.to.Address, r.from.Address, n)
	}, func(in []*tensor.Tensor, _ int) *tensor.Tensor { return in[len(in)-1] }},
}

// passing sends from rank 0 to rank 1 and what came back to rank 0.
var passing = operation{"send and recv", func(ctx context.Context, r *rig, d tensor.DType, n int) error {
	if r.Rank == 0 {
		return errors.Join(r.Send(ctx, r.stream, 1, d, r.from.Address, n), r.Recv(ctx, r.stream, 1, d, r.to.Address, n))
	}
	return errors.Join(r.Recv(ctx, r.stream, 0, d, r.to.Address, n), r.Send(ctx, r.stream, 0, d, r.to.Address, n))
}, func(in []*tensor.Tensor, _ int) *tensor.Tensor { return in[0] }}

var dtypes = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.F64, tensor.I32, tensor.I64, tensor.Bool}

// check runs an operation on elements of all types, in a stream and in a graph.
func (r *rig) check(ctx context.Context, op operation, n int) error {
	for _, d := range dtypes {
		in := make([]*tensor.Tensor, r.Size)
		for i := range in {
			var err error
			if in[i], err = values(d, i, n); err != nil {
				return err
			}
		}
		want := op.want(in, r.Rank).Encode()
		for _, launches := range []int{0, 1, 3} {
			got, err := r.run(ctx, in[r.Rank].Encode(), len(want), launches, func() error { return op.work(ctx, r, d, n) })
			if err != nil {
				return fmt.Errorf("%s of %v[%d], %d launches: %w", op.name, d, n, launches, err)
			}
			if !bytes.Equal(got, want) {
				i := 0
				for got[i] == want[i] {
					i++
				}
				return fmt.Errorf("%s of %v[%d], %d launches: byte %d is %#x, want %#x", op.name, d, n, launches, i, got[i], want[i])
			}
		}
	}
	return nil
}

const elements = 1000

// TestOne is a group of one rank, in which results are the inputs.
func TestOne(t *testing.T) {
	l := nccl(t)
	device := openDevice(t)
	id, err := l.NewID()
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	comm, err := l.Join(t.Context(), device, id, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("joined within %v", time.Since(begun))
	r, err := newRig(t.Context(), device, comm, 8*elements)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range operations {
		if err := r.check(t.Context(), op, elements); err != nil {
			t.Error(err)
		}
	}
	if err := comm.Check(); err != nil {
		t.Error(err)
	}
	if err := comm.Close(t.Context()); err != nil {
		t.Error(err)
	}
	err = device.Do(t.Context(), func() error {
		return comm.AllReduce(t.Context(), r.stream, backend.Sum, tensor.F32, r.to.Address, r.from.Address, 1)
	})
	if !errors.Is(err, ErrClosed) || comm.Close(t.Context()) != nil {
		t.Errorf("after the end: %v", err)
	}
}

// TestAlone sees that a rank which waits for one that never comes gives up in time, and
// that the device goes on.
func TestAlone(t *testing.T) {
	l := nccl(t)
	device := openDevice(t)
	id, err := l.NewID()
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, enough)
	defer cancel()
	begun := time.Now()
	_, err = l.Join(ctx, device, id, 0, 2)
	if !errors.Is(err, enough) {
		t.Errorf("it ends with %v", err)
	}
	t.Logf("after %v: %v", time.Since(begun).Round(time.Millisecond), err)
	word := make([]byte, 4)
	err = device.Do(t.Context(), func() error {
		s, err := device.NewStream()
		if err != nil {
			return err
		}
		m, err := s.Alloc(4)
		if err != nil {
			return err
		}
		binary.NativeEndian.PutUint32(word, 42)
		return errors.Join(s.Upload(m, 0, word), s.Download(word, m, 0), s.Synchronize(), s.Free(m), s.Close())
	})
	if err != nil || binary.NativeEndian.Uint32(word) != 42 {
		t.Errorf("the device afterwards: %v", err)
	}
}

package cuda

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// Limits are what a device did at most when it was asked to do nothing else.
type Limits struct {
	Copy  float64 // byte/s read and written by copies within the device
	Rates []Rate  // of matrix multiplication
}

// Rate is the work of the quickest product of large matrices of one type.
type Rate struct {
	DType tensor.DType
	FLOPs float64 // per second
	By    string  // the kernel, one of cuBLASLt where the host has it
}

// Of is the rate of a type: that of float32 for types that are not known.
func (l Limits) Of(d tensor.DType) Rate {
	for _, r := range l.Rates {
		if r.DType == d {
			return r
		}
	}
	return l.Rates[0]
}

// How limits are measured. The quickest run counts, as the one that nothing disturbed.
const (
	limitRuns   = 12
	limitMatrix = 4096 // rows and columns
)

// Limits measures the device, which takes a second and 2 GiB of its memory.
func (b *Backend) Limits(ctx context.Context) (l Limits, err error) {
	if l.Copy, err = b.Context.CopyRate(ctx); err != nil {
		return l, fmt.Errorf("the rate of copies: %w", err)
	}
	types := []tensor.DType{tensor.F32, tensor.F16}
	if b.Context.Device.Capability >= 80 {
		types = append(types, tensor.BF16)
	}
	for _, d := range types {
		r, err := b.productRate(ctx, d)
		if err != nil {
			return l, fmt.Errorf("the rate of products of %v: %w", d, err)
		}
		l.Rates = append(l.Rates, r)
	}
	return l, nil
}

// productRate measures the product of two large matrices: our kernel, and the library's
// first where there is one.
func (b *Backend) productRate(ctx context.Context, d tensor.DType) (best Rate, err error) {
	const n = limitMatrix
	g, err := ir.Parse(op.Registry, fmt.Sprintf("graph limit(%%a: %v[%d,%d], %%b: %v[%d,%d]) {\n%%c: %v[%d,%d] = matmul %%a, %%b\nreturn %%c\n}", d, n, n, d, n, n, d, n, n))
	if err != nil {
		return best, err
	}
	best.DType = d
	for _, library := range []bool{false, true} {
		one, offered := *b, false
		one.Triton = nil
		one.Select = func(_ *ir.Node, list []Candidate) (int, string) {
			for i, c := range list {
				if strings.HasPrefix(c.Name, libraryPrefix) == library {
					offered = true
					return i, ""
				}
			}
			return 0, ""
		}
		exe, err := one.Compile(ctx, g)
		if err != nil {
			return best, err
		}
		if !offered {
			continue
		}
		took, err := b.quickest(ctx, exe.(*Executable))
		if err != nil {
			return best, err
		}
		if rate := 2 * n * n * n / took.Seconds(); rate > best.FLOPs {
			best.FLOPs, best.By = rate, exe.Kernels()[0].Kernel
		}
	}
	return best, nil
}

// quickest is the time of the quickest run on tensors that stay on the device.
func (b *Backend) quickest(ctx context.Context, x *Executable) (best time.Duration, err error) {
	g := x.Graph()
	var held []backend.Held
	defer func() {
		for _, h := range held {
			err = errors.Join(err, h.Close())
		}
	}()
	for i, v := range append(append([]*ir.Value{}, g.Inputs...), g.Outputs...) {
		h, err := b.Hold(ctx, v.Spec)
		if err != nil {
			return 0, err
		}
		held = append(held, h)
		if i >= len(g.Inputs) {
			continue
		}
		// Zeros would need less power, and so run at a clock that work does not have.
		t, err := tensor.Randn(uint64(i+1), v.Spec.Shape...)
		if err == nil {
			t, err = t.Convert(v.Spec.DType)
		}
		if err == nil {
			err = h.Upload(ctx, t)
		}
		if err != nil {
			return 0, err
		}
	}
	n := len(g.Inputs)
	bound, err := x.Bind(ctx, held[:n], held[n:])
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, bound.Close()) }()
	for range limitRuns {
		took, err := bound.(*Bound).Time(ctx, make([]*tensor.Tensor, len(held)-n), make([]*tensor.Tensor, n))
		if err != nil {
			return 0, err
		}
		if best == 0 || took < best {
			best = took
		}
	}
	return best, nil
}

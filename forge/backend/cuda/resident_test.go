package cuda

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// TestResident is about tensors that stay on the device.
func TestResident(t *testing.T) { conformance.RunResident(t, device(t)) }

// TestShared sees that programs share the copies of their constants, which go with the
// last of them.
func TestShared(t *testing.T) {
	b := device(t)
	w, err := tensor.Randn(1, 512, 512)
	if err != nil {
		t.Fatal(err)
	}
	raw := planned.Bytes(w)
	key := storage{planned.Address(raw), len(raw)}
	uses := func() int {
		b.memory.mu.Lock()
		defer b.memory.mu.Unlock()
		if k := b.memory.constants[key]; k != nil {
			return k.uses
		}
		return 0
	}
	var programs []*Executable
	for rows := 1; rows <= 3; rows++ {
		exe, err := b.Compile(t.Context(), weighted(t, w, rows))
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, exe.(*Executable))
		if n := uses(); n != rows {
			t.Errorf("%d programs use the constant, want %d", n, rows)
		}
	}
	constants, bytes := b.Shared()
	t.Logf("%d constants of %d bytes", constants, bytes)
	for i, x := range programs {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		if n := uses(); n != len(programs)-1-i {
			t.Errorf("%d programs use the constant, want %d", n, len(programs)-1-i)
		}
	}
	runtime.KeepAlive(programs)
}

// weighted is a product with a constant.
func weighted(t testing.TB, w *tensor.Tensor, rows int) *ir.Graph {
	t.Helper()
	b := ir.NewBuilder(op.Registry, fmt.Sprintf("weighted%d", rows))
	x, err := b.Input("x", ir.F32(rows, w.Dim(0)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.SharedConst(w)
	if err != nil {
		t.Fatal(err)
	}
	y, err := b.Apply("matmul", nil, x, c)
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Finish(y)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestCancel sees that runs end with their context while the device is busy, and that
// the device is fit for others.
func TestCancel(t *testing.T) {
	b := device(t)
	w, err := tensor.Randn(1, 6144, 6144)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := b.Compile(t.Context(), weighted(t, w, 6144))
	if err != nil {
		t.Fatal(err)
	}
	x := exe.(*Executable)
	held := make([]*Held, 2)
	for i := range held {
		h, err := b.Hold(t.Context(), ir.F32(6144, 6144))
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		held[i] = h.(*Held)
	}
	bound, err := x.Bind(t.Context(), []backend.Held{held[0]}, []backend.Held{held[1]})
	if err != nil {
		t.Fatal(err)
	}
	defer bound.Close()
	nothing := []*tensor.Tensor{nil}
	start := time.Now()
	if err := bound.Run(t.Context(), nothing, nothing); err != nil {
		t.Fatal(err)
	}
	whole, none := time.Since(start), errors.New("no time")
	for i := range 4 {
		ctx, cancel := context.WithTimeoutCause(t.Context(), whole/4, none)
		start := time.Now()
		err := bound.Run(ctx, nothing, nothing)
		t.Logf("run %d of %v was ended %v after it should", i, whole, time.Since(start)-whole/4)
		cancel()
		if !errors.Is(err, none) {
			t.Errorf("error %v, want %v", err, none)
		}
	}
	if err := bound.Run(t.Context(), nothing, nothing); err != nil {
		t.Errorf("after the end of others: %v", err)
	}
}

// TestConcurrent runs one program from many goroutines, each with inputs of its own.
func TestConcurrent(t *testing.T) {
	b := device(t)
	w, err := tensor.Randn(1, 64, 64)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := b.Compile(t.Context(), weighted(t, w, 8))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for seed := range uint64(16) {
		all.Go(func() {
			x, err := tensor.Randn(seed, 8, 64)
			if err != nil {
				t.Error(err)
				return
			}
			var first *tensor.Tensor
			for range 50 {
				out, err := exe.Run(t.Context(), x)
				if err != nil {
					t.Error(err)
					return
				}
				if first == nil {
					first = out[0]
				} else if !tensor.Identical(first, out[0]) {
					t.Errorf("seed %d: results differ from run to run", seed)
					return
				}
			}
		})
	}
	all.Wait()
}

// Package conformance is the one test suite of all backends: every operator,
// element type and shape class against the float64 reference, with error
// bounds derived from the arithmetic, and the contract of an executable.
package conformance

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"forgekernel/forge/audit/bound"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// Run tests a backend. It fails for an operator that the suite has no case
// for, so that a new operator cannot go untested.
func Run(t *testing.T, b backend.Backend) {
	t.Run("operators", func(t *testing.T) {
		for _, o := range op.Registry.All() {
			if o.Class == ir.Transfer {
				continue // needs several ranks
			}
			t.Run(o.Name, func(t *testing.T) { RunOperator(t, b, o) })
		}
	})
	RunContract(t, b)
}

// RunContract is the part of [Run] that does not depend on operators: what runs at
// the same time, whose memory is whose, cancellation, and transfers.
func RunContract(t *testing.T, b backend.Backend) {
	t.Run("transfers", func(t *testing.T) { testTransfers(t, b) })
	RunExecutable(t, b)
}

// RunExecutable is what [RunContract] asks of one process alone.
func RunExecutable(t *testing.T, b backend.Backend) {
	t.Run("executable", func(t *testing.T) { testExecutable(t, b) })
}

// RunOperator is the part of [Run] for one operator, in the given element types or
// in all.
func RunOperator(t *testing.T, b backend.Backend, o *ir.Op, types ...tensor.DType) {
	n := 0
	for c := range casesOf(o) {
		if len(types) == 0 || slices.Contains(types, c.dtype) {
			c.run(t, b)
			n++
		}
	}
	if n == 0 {
		t.Errorf("the suite has no case for %s", o.Name)
	}
}

// Flushing is a backend whose device takes numbers below the smallest normal one of f32 for
// 0. It is not asked for them.
type Flushing interface{ Flushes() bool }

// run compares one node on ordinary and on adversarial data.
func (c *opCase) run(t *testing.T, b backend.Backend) {
	t.Helper()
	g, err := c.graph()
	if err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	check := bound.Check
	f, flushing := b.(Flushing)
	if flushing = flushing && f.Flushes(); flushing {
		check = bound.CheckFlushed
	}
	for _, adversarial := range []bool{false, true} {
		inputs, err := c.data(adversarial)
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		if flushing {
			flush(inputs)
		}
		got, want := execute(t, b, g, inputs), execute(t, interp.Reference(), g, inputs)
		for k, v := range g.Outputs {
			if err := check(v, inputs, got[k], want[k]); err != nil {
				t.Fatalf("%v, adversarial data %v, result %d: %v", c, adversarial, k, err)
			}
		}
	}
}

func execute(t *testing.T, b backend.Backend, g *ir.Graph, inputs []*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	exe, err := b.Compile(t.Context(), g)
	if err != nil {
		t.Fatalf("%s: %v in\n%s", b.Name(), err, g)
	}
	out, err := exe.Run(t.Context(), inputs...)
	if err != nil {
		t.Fatalf("%s: %v in\n%s", b.Name(), err, g)
	}
	return out
}

// program is used to test what does not depend on the operator.
const program = `graph contract(%x: f32[37,41], %w: f32[41,29], %b: f32[29]) {
  %0: f32[37,29] = matmul %x, %w
  %1: f32[37,29] = add %0, %b
  %2: f32[37,29] = tanh %1
  %3: f32[29,37] = transpose %2
  %4: f32[1073] = reshape %2 {shape = [-1]}
  %5: f32[29] = sum %2 {axes = [0]}
  %6: f32[10,29], %7: f32[27,29] = split %2 {axis = 0, sizes = [10, 27]}
  %8: f32[37,3] = narrow %2 {axis = 1, length = 3, start = 0, step = 9}
  return %3, %4, %2, %5, %b, %6, %7, %8
}`

func testExecutable(t *testing.T, b backend.Backend) {
	g, err := ir.Parse(op.Registry, program)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := b.Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	inputs := func(seed uint64) []*tensor.Tensor {
		var list []*tensor.Tensor
		for i, v := range g.Inputs {
			x, err := tensor.Rand(seed*10+uint64(i), v.Spec.Shape...)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, x)
		}
		return list
	}
	run := func(seed uint64) []*tensor.Tensor {
		out, err := exe.Run(t.Context(), inputs(seed)...)
		if err != nil {
			t.Error(err)
		}
		return out
	}
	t.Run("re-entrant", func(t *testing.T) { testReentrant(t, run) })
	t.Run("memory", func(t *testing.T) { testMemory(t, exe, inputs(1)) })
	t.Run("into", func(t *testing.T) { testInto(t, exe, inputs) })
	t.Run("cache", func(t *testing.T) { testCache(t, b) })
	t.Run("kernels", func(t *testing.T) { testKernels(t, exe) })
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped by the test")
		cancel(stopped)
		if _, err := exe.Run(ctx, inputs(1)...); !errors.Is(err, stopped) {
			t.Errorf("a cancelled run returned %v, not the cause", err)
		}
	})
	t.Run("inputs", func(t *testing.T) {
		in := inputs(1)
		if _, err := exe.Run(t.Context(), in[:2]...); err == nil {
			t.Error("a missing input was accepted")
		}
		in[0], in[1] = in[1], in[0]
		if _, err := exe.Run(t.Context(), in...); err == nil {
			t.Error("inputs of wrong shapes were accepted")
		}
	})
}

// testKernels checks that the backend says once of each node, but for constants,
// what runs it and why.
func testKernels(t *testing.T, exe backend.Executable) {
	told := make(map[string]bool)
	for _, k := range exe.Kernels() {
		if told[k.Value] || k.Reason == "" {
			t.Errorf("kernel %+v has no reason, or the second word on its node", k)
		}
		told[k.Value] = true
	}
	for _, n := range exe.Graph().Nodes {
		if runs := n.Op.Class != ir.Constant; told[n.Out[0].String()] != runs {
			t.Errorf("%v = %s: is it told what runs it? %v", n.Out[0], n.Op.Name, !runs)
		}
		delete(told, n.Out[0].String())
	}
	for value := range told {
		t.Errorf("there is no node %s", value)
	}
}

// testReentrant runs one executable on several goroutines at once and compares
// with runs one after another.
func testReentrant(t *testing.T, run func(seed uint64) []*tensor.Tensor) {
	const runs = 8
	var want, got [runs][]*tensor.Tensor
	for i := range want {
		want[i] = run(uint64(i))
	}
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i] = run(uint64(i)) })
	}
	wg.Wait()
	for i := range want {
		for j := range want[i] {
			if len(got[i]) != len(want[i]) || !tensor.Identical(got[i][j], want[i][j]) {
				t.Fatalf("output %d of run %d depends on what runs at the same time", j, i)
			}
		}
	}
}

// testMemory checks who owns which memory.
func testMemory(t *testing.T, exe backend.Executable, in []*tensor.Tensor) {
	var before []*tensor.Tensor
	for _, x := range in {
		before = append(before, x.Clone())
	}
	first, err := exe.Run(t.Context(), in...)
	if err != nil {
		t.Fatal(err)
	}
	var copies []*tensor.Tensor
	for _, x := range first {
		copies = append(copies, x.Clone())
	}
	other := make([]*tensor.Tensor, len(in))
	for i, x := range in {
		if other[i], err = tensor.Rand(99, x.Shape()...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := exe.Run(t.Context(), other...); err != nil {
		t.Fatal(err)
	}
	for i := range first {
		if !tensor.Identical(first[i], copies[i]) {
			t.Errorf("a later run overwrote output %d", i)
		}
		for k := range first[i].Len() {
			first[i].SetElem(k, -77)
		}
		for j := i + 1; j < len(first); j++ {
			if !tensor.Identical(first[j], copies[j]) {
				t.Errorf("outputs %d and %d share memory", i, j)
			}
		}
	}
	for i := range in {
		if !tensor.Identical(in[i], before[i]) {
			t.Errorf("input %d was changed", i)
		}
	}
}

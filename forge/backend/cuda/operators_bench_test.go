package cuda

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// chained is a program in which one node reads the result of the one before, so that a run
// takes as many times the time of one; $x and $y are its operand and its result.
type chained struct {
	name, inputs, spec, node string
	bytes, flops             float64 // of one node
}

// chain is how many nodes there are.
const chain = 10

func (c chained) source() string {
	var b strings.Builder
	fmt.Fprintf(&b, "graph chain(%%x0: %s%s) {\n", c.spec, c.inputs)
	for i := range chain {
		node := strings.NewReplacer("$x", fmt.Sprintf("%%x%d", i)).Replace(c.node)
		fmt.Fprintf(&b, "  %%x%d: %s = %s\n", i+1, c.spec, node)
	}
	fmt.Fprintf(&b, "  return %%x%d\n}", chain)
	return b.String()
}

// chains are operators in sizes of decoders and beyond caches.
func chains() []chained {
	var list []chained
	for _, d := range []tensor.DType{tensor.F32, tensor.BF16} {
		size := float64(d.Size())
		for _, shape := range [][2]int{{1, 4096}, {4096, 4096}} {
			spec := fmt.Sprintf("%v[%d,%d]", d, shape[0], shape[1])
			line := fmt.Sprintf("%v[%d]", d, shape[1])
			bytes := 2 * size * float64(shape[0]*shape[1])
			list = append(list,
				chained{"rms_norm " + spec, ", %w: " + line, spec, "rms_norm $x, %w {axis = 1}", bytes, 0},
				chained{"layer_norm " + spec, ", %w: " + line + ", %b: " + line, spec, "layer_norm $x, %w, %b {axis = 1}", bytes, 0},
				chained{"softmax " + spec, "", spec, "softmax $x {axis = 1}", bytes, 0},
				chained{"gelu " + spec, "", spec, "gelu $x", bytes, 0},
				chained{"mul_row " + spec, ", %w: " + line, spec, "mul $x, %w", bytes, 0},
			)
		}
	}
	return list
}

// convolutionChains are programs of [chain] convolutions of 3 by 3 with constant weights.
func convolutionChains(b *testing.B, each func(name string, g *ir.Graph, bytes, flops float64)) {
	for _, d := range []tensor.DType{tensor.F32, tensor.F16} {
		for _, c := range []struct{ n, channels, side, groups int }{{1, 64, 56, 1}, {8, 64, 56, 1}, {8, 256, 14, 1}, {8, 64, 56, 64}} {
			made := ir.NewBuilder(op.Registry, "chain")
			x, err := made.Input("x", ir.Spec{DType: d, Shape: []int{c.n, c.channels, c.side, c.side}})
			if err != nil {
				b.Fatal(err)
			}
			for i := range chain {
				w, err := tensor.Randn(uint64(i+1), c.channels, c.channels/c.groups, 3, 3)
				if err == nil {
					for i := range w.Len() { // so that results stay as large as operands
						w.SetElem(i, w.Elem(i)/math.Sqrt(float64(9*c.channels/c.groups)))
					}
					w, err = w.Convert(d)
				}
				if err != nil {
					b.Fatal(err)
				}
				weights, err := made.Const(w)
				if err != nil {
					b.Fatal(err)
				}
				if x, err = made.Apply("conv2d", ir.Attrs{"padding": []int64{1, 1}, "groups": int64(c.groups)}, x, weights); err != nil {
					b.Fatal(err)
				}
			}
			g, err := made.Finish(x)
			if err != nil {
				b.Fatal(err)
			}
			elements := float64(x.Spec.Elements())
			each(fmt.Sprintf("conv2d %v groups %d", x.Spec, c.groups), g, 2*float64(d.Size())*elements, 18*elements*float64(c.channels/c.groups))
		}
	}
}

// timedOnDevice is the least time of a run of a program whose tensors stay on the device.
func timedOnDevice(t testing.TB, d *Backend, g *ir.Graph, in []*tensor.Tensor) time.Duration {
	t.Helper()
	ctx := t.Context()
	exe, err := d.Compile(ctx, g)
	if err != nil {
		t.Fatal(err)
	}
	hold := func(v *ir.Value) backend.Held {
		h, err := d.Hold(ctx, v.Spec)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	var inputs, outputs []backend.Held
	for i, v := range exe.Graph().Inputs {
		h := hold(v)
		if err := h.Upload(ctx, in[i]); err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, h)
	}
	for _, v := range exe.Graph().Outputs {
		outputs = append(outputs, hold(v))
	}
	bound, err := exe.(*Executable).Bind(ctx, inputs, outputs)
	if err != nil {
		t.Fatal(err)
	}
	best := time.Duration(math.MaxInt64)
	for range 12 {
		took, err := bound.(backend.Timed).Time(ctx, make([]*tensor.Tensor, len(outputs)), make([]*tensor.Tensor, len(inputs)))
		if err != nil {
			t.Fatal(err)
		}
		best = min(best, took)
	}
	if err := bound.Close(); err != nil {
		t.Fatal(err)
	}
	for _, h := range append(inputs, outputs...) {
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := exe.(*Executable).Close(); err != nil {
		t.Fatal(err)
	}
	return best
}

// BenchmarkOperators is the time on the device of one node among others.
func BenchmarkOperators(b *testing.B) {
	d := device(b)
	run := func(name string, g *ir.Graph, bytes, flops float64) {
		b.Run(name, func(b *testing.B) {
			var in []*tensor.Tensor
			for i, v := range g.Inputs {
				x, err := tensor.Rand(uint64(i+1), v.Spec.Shape...)
				if err != nil {
					b.Fatal(err)
				}
				if x, err = x.Convert(v.Spec.DType); err != nil {
					b.Fatal(err)
				}
				in = append(in, x)
			}
			took := float64(timedOnDevice(b, d, g, in).Nanoseconds()) / chain
			b.ReportMetric(took/1e3, "device-µs")
			b.ReportMetric(bytes/took, "GB/s")
			b.ReportMetric(flops/took/1e3, "TFLOP/s")
		})
	}
	for _, c := range chains() {
		run(c.name, parse(b, c.source()), c.bytes, c.flops)
	}
	convolutionChains(b, run)
}

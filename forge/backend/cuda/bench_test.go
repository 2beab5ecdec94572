package cuda

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/pass"
	"forgekernel/forge/suite"
	"forgekernel/forge/tensor"
)

// eachModel compiles the models of the suite.
func eachModel(b *testing.B, f func(b *testing.B, x *Executable, in, out []*tensor.Tensor)) {
	d := device(b)
	d.Overlap = os.Getenv("FORGE_OVERLAP") != ""
	d.Direct, _ = strconv.Atoi(os.Getenv("FORGE_DIRECT"))
	for _, name := range suite.Names() {
		b.Run(strings.ReplaceAll(name, "/", "-"), func(b *testing.B) {
			g, err := suite.Build(name)
			if err != nil {
				b.Fatal(err)
			}
			r, err := pass.Run(g, pass.Options{})
			if err != nil {
				b.Fatal(err)
			}
			in, err := suite.Inputs(r.Graph, 1)
			if err != nil {
				b.Fatal(err)
			}
			exe, err := d.Compile(b.Context(), r.Graph)
			if err != nil {
				b.Skip(err)
			}
			out, err := exe.Run(b.Context(), in...)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			f(b, exe.(*Executable), in, out)
		})
	}
}

// BenchmarkRun is one call of a model, copies to and from the host included.
func BenchmarkRun(b *testing.B) {
	eachModel(b, func(b *testing.B, x *Executable, in, out []*tensor.Tensor) {
		for b.Loop() {
			if err := x.RunInto(b.Context(), out, in); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkBound is one call of a model whose inputs and outputs stay on the device.
func BenchmarkBound(b *testing.B) {
	d := device(b)
	eachModel(b, func(b *testing.B, x *Executable, in, out []*tensor.Tensor) {
		holdAll := func(list []*tensor.Tensor) []backend.Held {
			held := make([]backend.Held, len(list))
			for i, t := range list {
				h, err := d.Hold(b.Context(), ir.SpecOf(t))
				if err != nil {
					b.Fatal(err)
				}
				if err := h.Upload(b.Context(), t); err != nil {
					b.Fatal(err)
				}
				held[i] = h
			}
			return held
		}
		bound, err := x.Bind(b.Context(), holdAll(in), holdAll(out))
		if err != nil {
			b.Fatal(err)
		}
		defer bound.Close()
		noIn, noOut := make([]*tensor.Tensor, len(in)), make([]*tensor.Tensor, len(out))
		for b.Loop() {
			if err := bound.Run(b.Context(), noOut, noIn); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkUpload brings a tensor of the host to the device, by way of pinned memory.
func BenchmarkUpload(b *testing.B) {
	d := device(b)
	for _, elements := range []int{1 << 10, 1 << 20, 64 << 20, 256 << 20} {
		b.Run(fmt.Sprint(strings.ReplaceAll(display.FormatBytes(int64(4*elements)), " ", "")), func(b *testing.B) {
			x, err := tensor.Zeros(tensor.F32, elements)
			if err != nil {
				b.Fatal(err)
			}
			for i := range x.Float32() {
				x.Float32()[i] = float32(i)
			}
			h, err := d.Hold(b.Context(), ir.SpecOf(x))
			if err != nil {
				b.Fatal(err)
			}
			defer h.Close()
			b.SetBytes(int64(x.Bytes()))
			for b.Loop() {
				if err := h.Upload(b.Context(), x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package wgsl_test

import (
	"strings"
	"testing"

	"forgekernel/forge/backend/wgsl"
	"forgekernel/forge/ir"
	"forgekernel/forge/suite"
	"forgekernel/forge/tensor"
)

// TestProducts has products for each tile, with and without vectors of four, against
// float64.
func TestProducts(t *testing.T) {
	for _, c := range []struct{ graph, reads, tile string }{
		{"%x: f32[64,32], %w: f32[32,64]) {\n  %y: f32[64,64] = matmul %x, %w", "vec4f vec4f", "tiles of 64 x 64"},
		{"%x: f32[70,33], %w: f32[33,67]) {\n  %y: f32[70,67] = matmul %x, %w", "f32 f32", "tiles of 64 x 64"},
		{"%x: f32[3,65,36], %w: f32[36,72], %b: f32[72]) {\n  %y: f32[3,65,72] = linear %x, %w, %b {act = \"gelu\"}", "vec4f vec4f f32", "tiles of 64 x 64"},
		{"%x: f32[2,65,40], %w: f32[2,40,66]) {\n  %y: f32[2,65,66] = matmul %x, %w", "vec4f f32", "tiles of 64 x 64"},
		{"%x: f32[70,40], %w: f16[40,72], %b: f32[72]) {\n  %y: f32[70,72] = linear %x, %w, %b", "vec4f vec2u f32", "tiles of 64 x 64"},
		{"%x: bf16[70,40], %w: bf16[40,72], %b: bf16[72]) {\n  %y: bf16[70,72] = linear %x, %w, %b", "vec2u vec2u u32", "tiles of 64 x 64"},
		{"%x: f32[40,40]) {\n  %y: f32[40,40] = matmul %x, %x", "vec4f", "tiles of"},
		{"%x: f32[1,300], %w: f32[300,600], %b: f32[600]) {\n  %y: f32[1,600] = linear %x, %w, %b", "vec4f vec4f f32", "tiles of 1 x 256"},
		{"%x: f32[3,300], %w: f32[300,80]) {\n  %y: f32[3,80] = matmul %x, %w", "vec4f vec4f", "tiles of 4 x 64"},
		{"%x: f32[130,5], %w: f32[5,130]) {\n  %y: f32[130,130] = matmul %x, %w", "f32 f32", "tiles of 32 x 32"},
		{"%x: f32[12,17,6], %w: f32[12,6,40]) {\n  %y: f32[12,17,40] = matmul %x, %w", "f32 vec4f", "tiles of 32 x 32"},
	} {
		g := parse(t, "graph g("+c.graph+"\n  return %y\n}")
		t.Run(g.Nodes[0].Line(), func(t *testing.T) {
			b := &wgsl.Backend{Device: wgsl.NewSimulator()}
			exe, err := b.Compile(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			source := exe.(*wgsl.Executable).Plan().Modules[0].Source
			var reads []string
			for _, line := range strings.Split(source, "\n") {
				if _, text, is := strings.Cut(line, "var<storage, read> "); is {
					_, elem, _ := strings.Cut(strings.TrimSuffix(text, ">;"), ": array<")
					reads = append(reads, elem)
				}
			}
			if got := strings.Join(reads, " "); got != c.reads {
				t.Errorf("it reads arrays of %s, want %s", got, c.reads)
			}
			if why := exe.Kernels()[0].Reason; !strings.Contains(why, c.tile) {
				t.Errorf("it has %s, want %s", why, c.tile)
			}
			in, err := suite.Inputs(g, 1)
			if err != nil {
				t.Fatal(err)
			}
			got, err := exe.Run(t.Context(), in...)
			if err != nil {
				t.Fatal(err)
			}
			known := map[*ir.Value]*tensor.Tensor{g.Outputs[0]: got[0]}
			for i, v := range g.Inputs {
				known[v] = in[i]
			}
			if err := checkNode(t, g.Nodes[0], known); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTransposed reads both matrices of a large product across their rows.
func TestTransposed(t *testing.T) {
	g := parse(t, `graph g(%x: f32[36,68], %w: f32[72,36]) {
  %a: f32[68,36] = transpose %x
  %b: f32[36,72] = transpose %w
  %y: f32[68,72] = matmul %a, %b
  return %a, %b, %y
}`)
	in, err := suite.Inputs(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := run(t, &wgsl.Backend{Device: wgsl.NewSimulator()}, g, in)
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[*ir.Value]*tensor.Tensor)
	for i, v := range g.Outputs {
		known[v] = got[i]
	}
	if err := checkNode(t, g.Nodes[2], known); err != nil {
		t.Error(err)
	}
}

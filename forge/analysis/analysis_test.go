package analysis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/analysis"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

func parse(t testing.TB, src string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(op.Registry, src)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// mlp has a matmul of 2·8·64·128 FLOPs, a view, a fused node, and a cheap branch
// beside them.
const mlp = `graph mlp(%x: f32[8,64], %w: f32[64,128], %b: f32[128]) {
  %k: f32[] = const {value = f32[] 2.0}
  %m: f32[8,128] = matmul %x, %w @ "m.fs":2:9
  %f: f32[8,128] = fused %m, %b (%p: f32[], %q: f32[]) {
    %0: f32[] = add %p, %q
    %1: f32[] = relu %0
    return %1
  } @ "m.fs":3:9, @ "m.fs":3:5
  %v: f32[1024] = reshape %f {shape = [1024]}
  %s: f32[8,64] = mul %x, %x
  %t: f32[8,64] = add %s, %k
  %r: f32[] = sum %v {axes = [0]}
  return %r, %t
}
`

func TestAnalysis(t *testing.T) {
	a := analysis.Of(parse(t, mlp))
	const f32 = 4
	var got []string
	for _, n := range a.Nodes {
		got = append(got, fmt.Sprintf("%s %s %s%v %d %d %d %v %v", n.Value, n.Op, n.DType, n.Shape, n.FLOPs, n.Bytes, n.Depth, n.View, n.Critical))
	}
	want := []string{
		fmt.Sprintf("%%m matmul f32[8 128] %d %d 1 false true", 2*8*64*128, f32*(8*64+64*128+8*128)),
		fmt.Sprintf("%%f fused f32[8 128] %d %d 2 false true", 2*8*128, f32*(8*128+128+8*128)),
		"%v reshape f32[1024] 0 0 2 true true",
		fmt.Sprintf("%%s mul f32[8 64] %d %d 1 false false", 8*64, f32*(8*64+8*64)),
		fmt.Sprintf("%%t add f32[8 64] %d %d 2 false false", 8*64, f32*(8*64+1+8*64)),
		fmt.Sprintf("%%r sum f32[] %d %d 3 false true", a.Nodes[5].FLOPs, f32*(1024+1)),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	flops, bytes := int64(0), int64(0)
	for _, n := range a.Nodes {
		flops += n.FLOPs
		bytes += n.Bytes
	}
	if total := (analysis.Totals{Kernels: 5, Views: 1, Constants: 1, FLOPs: flops, Bytes: bytes, Depth: 3}); a.Totals != total {
		t.Errorf("totals %+v, want %+v", a.Totals, total)
	}
	if !slices.Equal(a.Critical.Values, []string{"%m", "%f", "%v", "%r"}) || a.Critical.FLOPs != flops-2*8*64 {
		t.Errorf("critical path %+v", a.Critical)
	}
	if !slices.Equal(a.Top, []string{"%m", "%f", "%r", "%t", "%s"}) && !slices.Equal(a.Top, []string{"%m", "%f", "%r", "%s", "%t"}) {
		t.Errorf("top %v", a.Top)
	}
	f, ok := a.Node("%f")
	if !ok || !slices.Equal(f.Body, []string{"add", "relu"}) || !slices.Equal(f.Places, []string{"m.fs:3:9", "m.fs:3:5"}) {
		t.Errorf("%%f: %v, %+v", ok, f)
	}
	if i := f.Intensity(); i != float64(f.FLOPs)/float64(f.Bytes) {
		t.Errorf("intensity %g", i)
	}
	if _, ok := a.Node("%nothing"); ok {
		t.Error("a node that is not there is found")
	}
}

// Work that is nothing has no intensity, no top and an empty path.
func TestAnalysisOfNothing(t *testing.T) {
	a := analysis.Of(parse(t, "graph f(%x: f32[4]) {\n  return %x\n}\n"))
	if len(a.Nodes) != 0 || len(a.Top) != 0 || len(a.Critical.Values) != 0 || a.Totals != (analysis.Totals{}) || a.Totals.Intensity() != 0 {
		t.Errorf("%+v", a)
	}
	views := analysis.Of(parse(t, "graph f(%x: f32[2,3]) {\n  %y: f32[6] = reshape %x {shape = [6]}\n  return %y\n}\n"))
	if len(views.Top) != 0 || views.Totals.Depth != 0 || views.Totals.Views != 1 || views.Nodes[0].Intensity() != 0 {
		t.Errorf("%+v", views)
	}
}

// Of chains with equal work the longest is critical, and among the top the one
// that moves more comes first.
func TestTies(t *testing.T) {
	a := analysis.Of(parse(t, `graph f(%x: f32[4], %y: f32[4]) {
  %a: f32[4] = relu %x
  %b: f32[4] = add %x, %y
  %v: f32[2,2] = reshape %b {shape = [2,2]}
  return %a, %v
}
`))
	if !slices.Equal(a.Critical.Values, []string{"%b", "%v"}) || !slices.Equal(a.Top, []string{"%b", "%a"}) {
		t.Errorf("critical %v, top %v", a.Critical.Values, a.Top)
	}
}

func TestDelta(t *testing.T) {
	d := analysis.Delta{
		Before: analysis.Extent{Nodes: 4, FLOPs: 100, Bytes: 0, Depth: 3, Planned: 800},
		After:  analysis.Extent{Nodes: 3, FLOPs: 100, Bytes: 8, Depth: 3, Planned: 600},
	}
	var got []string
	for _, f := range d.Figures() {
		got = append(got, fmt.Sprintf("%s %d %d %g %v", f.Name, f.Before, f.After, f.Change(), f.Bytes))
	}
	want := []string{"operations 4 3 -0.25 false", "FLOPs 100 100 0 false", "memory traffic 0 8 0 true", "depth 3 3 0 false", "planned memory 800 600 -0.25 true"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A ladder whose every step reads the two before it has exponentially many
// paths; the analysis is linear.
func TestManyPaths(t *testing.T) {
	var b strings.Builder
	b.WriteString("graph f(%a0: f32[1], %a1: f32[1]) {\n")
	const n = 200
	for i := 2; i < n; i++ {
		fmt.Fprintf(&b, "  %%a%d: f32[1] = add %%a%d, %%a%d\n", i, i-1, i-2)
	}
	fmt.Fprintf(&b, "  return %%a%d\n}\n", n-1)
	a := analysis.Of(parse(t, b.String()))
	if a.Totals.Depth != n-2 || len(a.Critical.Values) != n-2 {
		t.Errorf("depth %d, critical path of %d", a.Totals.Depth, len(a.Critical.Values))
	}
}

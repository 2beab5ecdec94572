package wgsl_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/wgsl"
	"forgekernel/forge/ir"
	"forgekernel/forge/suite"
	"forgekernel/forge/tensor"
)

var update = flag.Bool("update", false, "write the golden files")

// goldens are graphs whose modules stand in testdata.
var goldens = map[string]string{
	"elements": `graph g(%x: f32[4,100], %y: f32[100], %n: i64[4,1]) {
  %s: f32[4,100] = add %x, %y
  %c: f32[4,1] = cast %n {dtype = "f32"}
  %z: f32[4,100] = maximum %s, %c
  return %z
}`,
	"rows": `graph g(%x: f32[4,100]) {
  %y: f32[4,100] = softmax %x {axis = 1}
  return %y
}`,
	"across": `graph g(%x: bf16[30,40]) {
  %y: bf16[40] = max %x {axes = [0]}
  return %y
}`,
	"gather": `graph g(%table: f16[50,8], %index: i64[3]) {
  %y: f16[3,8] = gather %table, %index {axis = 0}
  return %y
}`,
	"product": `graph g(%x: f32[70,32], %w: f32[32,64], %b: f32[64]) {
  %y: f32[70,64] = linear %x, %w, %b {act = "relu"}
  return %y
}`,
	"small_product": `graph g(%x: f32[2,3,5], %y: f32[2,5,7]) {
  %z: f32[2,3,7] = matmul %x, %y
  return %z
}`,
	"convolution": `graph g(%x: f32[1,3,8,8], %w: f32[6,3,3,3]) {
  %y: f32[1,6,4,4] = conv2d %x, %w {padding = [1, 1], stride = [2, 2]}
  return %y
}`,
	"attention": `graph g(%q: f32[1,4,9,16], %k: f32[1,2,9,16], %v: f32[1,2,9,16]) {
  %y: f32[1,4,9,16] = sdpa %q, %k, %v {causal = true}
  return %y
}`,
}

// TestGolden compares the modules of some graphs with files; -update writes them.
func TestGolden(t *testing.T) {
	for name, text := range goldens {
		t.Run(name, func(t *testing.T) {
			l, err := wgsl.List(parse(t, text), wgsl.DefaultTarget)
			if err != nil || len(l.Missing) > 0 {
				t.Fatal(err, l.Missing)
			}
			path := filepath.Join("testdata", name+".wgsl")
			if *update {
				if err := os.WriteFile(path, []byte(l.Code), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if l.Code != string(want) {
				t.Errorf("%s is no longer what is printed; look at the difference, then go test -run TestGolden -update:\n%s", path, l.Code)
			}
		})
	}
}

// TestContract is about executables, whatever they compute.
func TestContract(t *testing.T) {
	conformance.RunExecutable(t, &wgsl.Backend{Device: wgsl.NewSimulator()})
}

// run computes a graph on a backend.
func run(t testing.TB, b backend.Backend, g *ir.Graph, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	t.Helper()
	exe, err := b.Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	return exe.Run(t.Context(), in...)
}

// TestFaults sees that errors of a run read as they do on the interpreter.
func TestFaults(t *testing.T) {
	b := &wgsl.Backend{Device: wgsl.NewSimulator()}
	g := parse(t, `graph pick(%x: f32[7,5], %i: i64[3], %d: i32[3]) {
  %0: f32[3,5] = gather %x, %i {axis = 0}
  %1: i32[3] = div %d, %d
  return %0, %1
}`)
	x, err := tensor.Rand(1, 7, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		places   []int64
		divisors []int32
	}{{[]int64{0, 7, 1}, []int32{1, 2, 3}}, {[]int64{-1, 2, 3}, []int32{1, 2, 3}}, {[]int64{1 << 40, 2, 3}, []int32{1, 2, 3}}, {[]int64{6, 0, 3}, []int32{1, 0, 3}}, {[]int64{6, 0, 3}, []int32{1, 2, 3}}} {
		i, err := tensor.From([]int{3}, c.places)
		if err != nil {
			t.Fatal(err)
		}
		d, err := tensor.From([]int{3}, c.divisors)
		if err != nil {
			t.Fatal(err)
		}
		in := []*tensor.Tensor{x, i, d}
		got, failed := run(t, b, g, in)
		want, wanted := run(t, interp.New(), g, in)
		switch {
		case fmt.Sprint(failed) != fmt.Sprint(wanted):
			t.Errorf("%v: %v, want %v", c, failed, wanted)
		case wanted == nil && !tensor.Identical(got[0], want[0]):
			t.Errorf("%v: another result", c)
		}
	}
}

// TestUnsupported: what has no shader is refused by name, and nothing runs elsewhere.
func TestUnsupported(t *testing.T) {
	for text, want := range map[string]string{
		"graph g(%x: f64[3], %z: f32[3]) {\n  %y: f64[3] = neg %x\n  return %y, %z\n}":                                              "%y = neg: %y is f64: WGSL has no f64",
		"graph g(%x: f64[3]) {\n  %y: f64[3] = exp %x\n  return %y\n}":                                                              "%y = exp: %y is f64: WGSL has no f64",
		"graph g(%x: i32[3]) {\n  %y: f64[3] = cast %x {dtype = \"f64\"}\n  %z: i32[3] = cast %y {dtype = \"i32\"}\n  return %z\n}": "%y = cast: %y is f64: WGSL has no f64; %z = cast: %y is f64",
		"graph g(%x: f32[3]) {\n  %y: f32[3] = all_reduce %x {group = \"tp\", reduce = \"sum\", size = 2}\n  return %y\n}":          "%y = all_reduce: a program for WebGPU has no other ranks",
	} {
		_, err := (&wgsl.Backend{Device: wgsl.NewSimulator()}).Compile(t.Context(), parse(t, text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q in it", text, err, want)
		}
	}
}

// TestSuite compares models of the suite, optimised, with the float64 reference; the
// error may be a few times that of the interpreter.
func TestSuite(t *testing.T) { models(t, wgsl.NewSimulator()) }

// TestDawnSuite is TestSuite on the Dawn of Node.
func TestDawnSuite(t *testing.T) {
	d := dawn(t)
	defer d.Close()
	models(t, d)
}

func models(t *testing.T, d wgsl.Device) {
	for _, name := range suite.Names() {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "gpt2_small_block" {
				t.Skip("its products take long in software")
			}
			g, in := model(t, name)
			got, err := run(t, &wgsl.Backend{Device: d}, g, in)
			if err != nil {
				t.Fatal(err)
			}
			want, err := run(t, interp.Reference(), g, in)
			if err != nil {
				t.Fatal(err)
			}
			other, err := run(t, interp.New(), g, in)
			if err != nil {
				t.Fatal(err)
			}
			e, slow := conformance.Worst(got, want), conformance.Worst(other, want)
			if !(e <= 4*slow+1e-6) {
				t.Errorf("it errs by %.3g, the interpreter by %.3g", e, slow)
			}
			t.Logf("it errs by %.3g, the interpreter by %.3g", e, slow)
		})
	}
}

func model(t testing.TB, name string) (*ir.Graph, []*tensor.Tensor) {
	t.Helper()
	g, in, err := suite.Optimised(name)
	if err != nil {
		t.Fatal(err)
	}
	return g, in
}

// BenchmarkEmission makes the plan of a block of GPT-2 small: 50 ms is the bar.
func BenchmarkEmission(b *testing.B) {
	g, _ := model(b, "gpt2_small_block")
	for b.Loop() {
		if _, err := wgsl.NewProgram(g, wgsl.DefaultTarget); err != nil {
			b.Fatal(err)
		}
	}
}

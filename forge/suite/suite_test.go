package suite

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/pass"
	"forgekernel/forge/plan"
	"forgekernel/forge/replay"
	"forgekernel/forge/tensor"
)

var update = flag.Bool("update", false, "rewrite the records in testdata")

// The graphs are built once for all tests; the largest takes a second.
var built = make(map[string]*ir.Graph)

func build(t *testing.T, name string) *ir.Graph {
	t.Helper()
	if built[name] == nil {
		g, err := Build(name)
		if err != nil {
			t.Fatal(err)
		}
		built[name] = g
	}
	return built[name]
}

func optimise(t *testing.T, g *ir.Graph, without ...string) *ir.Graph {
	t.Helper()
	r, err := pass.Run(g, pass.Options{Disable: without})
	if err != nil {
		t.Fatal(err)
	}
	return r.Graph
}

func mustPlan(t *testing.T, g *ir.Graph, opts plan.Options) *plan.Plan {
	t.Helper()
	p, err := plan.New(g, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Verify(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// Every parameter count was worked out by hand from the model's description.
func TestParameters(t *testing.T) {
	for _, m := range models {
		parameters := int64(0)
		for _, n := range build(t, m.Name).Nodes {
			if n.Op.Class == ir.Constant {
				parameters += int64(n.Out[0].Spec.Elements())
			}
		}
		if parameters != m.Parameters {
			t.Errorf("%s has %d parameters, its entry says %d", m.Name, parameters, m.Parameters)
		}
	}
}

func TestUnknown(t *testing.T) {
	if _, err := Build("resnet"); err == nil || !strings.Contains(err.Error(), "mlp_8_64_128") {
		t.Errorf("an unknown model: %v", err)
	}
}

func TestBuildIsDeterministic(t *testing.T) {
	for _, name := range []string{"mlp_8_64_128", "vision_text_fusion_4x32_16"} {
		again, err := Build(name)
		if err != nil {
			t.Fatal(err)
		}
		if again.String() != build(t, name).String() {
			t.Errorf("two builds of %s differ", name)
		}
		a, err := Inputs(again, 5)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Inputs(again, 5)
		if err != nil {
			t.Fatal(err)
		}
		for i := range a {
			if !tensor.Identical(a[i], b[i]) {
				t.Errorf("two sets of inputs of %s differ", name)
			}
		}
	}
}

// The records in testdata say what the compiler makes of each model. When they
// differ, the test shows which pass altered which lines.
func TestRecords(t *testing.T) {
	records, err := Records()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.RemoveAll("testdata"); err != nil {
			t.Fatal(err)
		}
		if err := replay.WriteDir("testdata", records); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := replay.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	if report := replay.Compare(golden, records); len(report) > 0 {
		t.Errorf("the compiler makes something else of the models (go test -update records it; say why in the commit):\n%v", report)
	}
	if files, err := filepath.Glob("testdata/*"); err != nil || len(files) != len(models) {
		t.Errorf("testdata holds %d files for %d models (%v)", len(files), len(models), err)
	}
}

// The figures that have been published for these models, in KiB: naive, planned
// as written, planned after passes; and nodes as written and after passes. They
// were had without reuse in place and with the addition of a residual as a node of
// its own, and are reproduced exactly. With reuse, gelu
// overwrites the product before it, and the program as written needs no more
// than the fused one.
func TestPublishedFigures(t *testing.T) {
	for _, tt := range []struct {
		model                        string
		naive, written, optimised    int64
		nodesWritten, nodesOptimised int
	}{
		{"mlp_8_64_128", 8, 8, 4, 3, 2},
		{"mlp_32_128_256", 64, 64, 32, 3, 2},
		{"mlp_64_256_512", 256, 256, 128, 3, 2},
		{"residual_8_64_128", 10, 8, 6, 4, 3},
		{"residual_32_128_256", 80, 64, 48, 4, 3},
		{"residual_64_256_512", 320, 256, 192, 4, 3},
	} {
		written := build(t, tt.model)
		optimised := optimise(t, written, "fuse-residual")
		p := mustPlan(t, written, plan.Options{NoReuseInPlace: true})
		q := mustPlan(t, optimised, plan.Options{NoReuseInPlace: true})
		if p.Naive != tt.naive<<10 || p.Planned != tt.written<<10 || q.Planned != tt.optimised<<10 {
			t.Errorf("%s: %d, %d, %d bytes; published are %d, %d, %d KiB", tt.model, p.Naive, p.Planned, q.Planned, tt.naive, tt.written, tt.optimised)
		}
		if n, m := pass.Summarise(written).Nodes, pass.Summarise(optimised).Nodes; n != tt.nodesWritten || m != tt.nodesOptimised {
			t.Errorf("%s: %d and %d nodes; published are %d and %d", tt.model, n, m, tt.nodesWritten, tt.nodesOptimised)
		}
		if p := mustPlan(t, written, plan.Options{}); p.Planned != tt.optimised<<10 {
			t.Errorf("%s: %d bytes as written with reuse in place, want %d KiB", tt.model, p.Planned, tt.optimised)
		}
	}
}

// Plans are within 10 % of the least that their schedule allows, and those of
// the feed-forward layers reach it.
func TestRatios(t *testing.T) {
	for _, name := range Names() {
		limit := 1.10
		if strings.HasPrefix(name, "mlp_") {
			limit = 1
		}
		for _, g := range []*ir.Graph{build(t, name), optimise(t, build(t, name))} {
			for _, opts := range []plan.Options{{}, {NoReuseInPlace: true}} {
				if p := mustPlan(t, g, opts); p.Ratio() > limit || p.Planned == 0 {
					t.Errorf("%s, %+v: %s", name, opts, p.Headline())
				}
			}
		}
	}
}

// Every model can be built in half precision, with results near those of f32.
func TestBuildIn(t *testing.T) {
	for _, name := range Names() {
		if name == "gpt2_small_block" {
			continue // 600 million multiplications
		}
		g, err := BuildIn(name, tensor.F16)
		if err != nil {
			t.Fatal(err)
		}
		if g.Name != name+"_f16" || g.Outputs[0].Spec.DType != tensor.F16 {
			t.Errorf("%s gives %v", g.Name, g.Outputs[0].Spec)
		}
		inputs, err := Inputs(g, 1)
		if err != nil {
			t.Fatal(err)
		}
		half := run(t, interp.New(), g, inputs)
		for i := range inputs {
			if inputs[i].DType() == tensor.F16 {
				if inputs[i], err = inputs[i].Convert(tensor.F32); err != nil {
					t.Fatal(err)
				}
			}
		}
		single := run(t, interp.New(), build(t, name), inputs)
		for i := range half[0].Len() {
			if x, y := half[0].Elem(i), single[0].Elem(i); !(x-y <= 0.02*(1+max(y, -y)) && y-x <= 0.02*(1+max(y, -y))) {
				t.Fatalf("%s: element %d is %v, in f32 %v", name, i, x, y)
			}
		}
	}
	if _, err := BuildIn(Names()[0], tensor.I32); err == nil {
		t.Error("a model of integers was built")
	}
}

package forge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/forge/capture"
	"forgekernel/forge/tensor"
)

// collector is a sink that keeps what it is shown as text.
type collector struct{ texts []string }

func (c *collector) Show(o display.Output) error {
	c.texts = append(c.texts, o.Bundle.Data["text/plain"].(string))
	return nil
}

func (c *collector) Clear(bool) error { return nil }

func compileProgram(t *testing.T, name string) *forge.Program {
	t.Helper()
	p, err := forge.Compile(programs(t)[name], forge.Named(name+".fs"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestShow(t *testing.T) {
	p := compileProgram(t, "fusion")
	var sink collector
	ctx := display.WithSink(t.Context(), &sink)
	names := []string{"source", "trace", "ir", "graph", "mermaid", "summary", "passes", "plan", "explain", "check"}
	if err := p.Show(ctx, names...); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"def fusion", "relu %b", "fused", "fused kernel", "flowchart", "memory traffic", "fuse-elementwise", "planned", "fusion.fs:6:", "all 16384 elements"} {
		if !strings.Contains(sink.texts[i], want) {
			t.Errorf("%s lacks %q:\n%s", names[i], want, sink.texts[i])
		}
	}
	shown := len(sink.texts)
	err := p.Show(ctx, "ir", "plans")
	if err == nil || !strings.Contains(err.Error(), `no view "plans" of a program; there are source, trace, ir, graph`) || len(sink.texts) != shown {
		t.Errorf("an unknown view: %v, %d shown", err, len(sink.texts)-shown)
	}
	if list, err := forge.ParseViews("ir, graph"); err != nil || len(list) != 2 {
		t.Errorf("ParseViews: %v %v", list, err)
	}
	if _, err := forge.ParseViews("ir,,graph"); err == nil {
		t.Error("an empty view is accepted")
	}
}

// A benchmark is a capture of the program as written and optimised, within its
// budget, and shows times, their distribution and the memory plan.
func TestBench(t *testing.T) {
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	p := compileProgram(t, "mlp")
	b, err := p.BenchContext(t.Context(), forge.BenchOptions{Samples: 5, Budget: time.Hour, Warmup: 1})
	if err != nil {
		t.Fatal(err)
	}
	c := b.Capture()
	if err := capture.Verify(c); err != nil {
		t.Fatal(err)
	}
	if w := c.Workloads[0]; len(w.Series) != 2 || len(w.Series[1].Wall) != 5 || w.Series[1].Variant != capture.Optimised || w.Series[1].Cache != capture.Hit {
		t.Errorf("workload %+v", w)
	}
	data := display.ToBundle(b).Data
	for _, want := range []string{"median", "auto written", "auto optimised", "GFLOP/s", c.Environment.Go} {
		for _, form := range []string{"text/plain", "text/html"} {
			if text := data[form].(string); !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", form, want, text)
			}
		}
	}
	for _, want := range []string{"Distribution of samples of ", "Memory of ", "data:image/svg+xml;base64,"} {
		if !strings.Contains(data["text/html"].(string), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if _, err := p.BenchContext(t.Context(), forge.BenchOptions{}, forge.Ones(3)); err == nil {
		t.Error("arguments that do not fit were measured")
	}
}

// Results that are no numbers are not timed.
func TestBenchNonFinite(t *testing.T) {
	p, err := forge.Compile("def f(x: f32[4]): return log(x)\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.BenchContext(t.Context(), forge.BenchOptions{Samples: 1}, forge.Full(-1, 4)); err == nil || !strings.Contains(err.Error(), "4 elements that are infinite or NaN") {
		t.Errorf("got error %v", err)
	}
}

func TestReport(t *testing.T) {
	p := compileProgram(t, "layernorm")
	r, outs, err := p.RunSeeded(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := p.RunSeeded(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if repeated, _ := json.Marshal(again); string(repeated) != string(data) {
		t.Error("equal seeds give different reports")
	}
	var back struct {
		Version int
		Program string
		Inputs  []struct {
			Name  string
			Shape []int
		}
		Snapshots []struct{ Pass, IR string }
		Outputs   []struct{ Name, DType string }
		Run       struct {
			Seed    uint64
			Results []struct {
				Name      string
				Elements  int
				Values    []float64
				Truncated bool
			}
		}
	}
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if back.Version != 2 || back.Program != "layernorm" || len(back.Inputs) != 3 || back.Inputs[0].Name != "x" || back.Snapshots[0].Pass != "trace" {
		t.Errorf("%s", data[:500])
	}
	if back.Run.Seed != 3 || len(back.Run.Results) != 1 || len(back.Outputs) != 1 {
		t.Fatalf("run: seed %d, %d results of %d", back.Run.Seed, len(back.Run.Results), len(back.Outputs))
	}
	y, got := outs[0], back.Run.Results[0]
	if got.Name != back.Outputs[0].Name || got.Elements != y.Len() || len(got.Values) != forge.MaxReportValues || !got.Truncated || float32(got.Values[7]) != y.Float32()[7] {
		t.Errorf("result %s: %d elements, %d values, first %v", got.Name, got.Elements, len(got.Values), got.Values[:3])
	}
}

func TestReportNotFinite(t *testing.T) {
	p, err := forge.Compile("def f(x): return log(x)\n", forge.Shapes(forge.Shape{3}))
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := p.RunReport(t.Context(), forge.From([]float64{-1, 0, 1}))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(r.Run)
	if want := `{"results":[{"name":"0","elements":3,"not_finite":2,"min":0,"max":0,"mean":0,"std_dev":0,"values":["NaN","-Infinity",0],"truncated":false}]}`; err != nil || string(data) != want {
		t.Errorf("got %s, %v, want %s", data, err, want)
	}
}

func TestParseShapes(t *testing.T) {
	for _, c := range []struct {
		text, want string
		wrong      bool
	}{
		{"8x16,16x12,12", "[[8 16] [16 12] [12]]", false},
		{" 8x16 , scalar ", "[[8 16] []]", false},
		{"", "[]", false},
		{"8x", "", true},
		{"8x16,", "", true},
		{"0x4", "", true},
		{"-1", "", true},
		{"+1", "", true},
		{"8 x 16", "", true},
		{"8*16", "", true},
		{"1x1x1x1x1x1x1x1x1", "", true},
		{"99999x99999", "", true},
		{"99999999999999999999", "", true},
	} {
		shapes, err := forge.ParseShapes(c.text)
		if (err != nil) != c.wrong {
			t.Errorf("%q: %v", c.text, err)
		}
		if got := fmt.Sprint(shapes); !c.wrong && got != c.want {
			t.Errorf("%q is %s, want %s", c.text, got, c.want)
		}
	}
}

func FuzzParseShapes(f *testing.F) {
	f.Add("8x16,16x12,12")
	f.Add("scalar,x,,")
	f.Fuzz(func(t *testing.T, text string) {
		shapes, err := forge.ParseShapes(text)
		if err != nil {
			return
		}
		for _, s := range shapes {
			if _, err := tensor.Elements(s); err != nil {
				t.Fatalf("%q gives %v: %v", text, s, err)
			}
		}
	})
}

func TestReadInputs(t *testing.T) {
	layer := define(t, layerSource)
	path := filepath.Join(t.TempDir(), "inputs.npz")
	write := func(names ...string) {
		t.Helper()
		var list []tensor.Named
		for i, n := range names {
			list = append(list, tensor.Named{Name: n, Tensor: forge.Ones(i + 1)})
		}
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := tensor.WriteNPZ(file, list); err != nil {
			t.Fatal(err)
		}
	}
	write("w", "b", "x")
	inputs, err := layer.ReadInputs(path)
	if err != nil || inputs[0].Len() != 3 || inputs[1].Len() != 1 || inputs[2].Len() != 2 {
		t.Errorf("by name: %v, %v", inputs, err)
	}
	write("w", "b")
	if _, err := layer.ReadInputs(path); err == nil || !strings.Contains(err.Error(), "no array for parameter x") {
		t.Errorf("a missing array: %v", err)
	}
	write("w", "b", "x", "y")
	if _, err := layer.ReadInputs(path); err == nil || !strings.Contains(err.Error(), `no parameter "y"; it has x, w, b`) {
		t.Errorf("an unknown array: %v", err)
	}
	if err := os.WriteFile(path, []byte("not an archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := layer.ReadInputs(path); err == nil || !strings.Contains(err.Error(), "it is not an archive") {
		t.Errorf("no archive: %v", err)
	}
	if _, err := layer.ReadInputs(filepath.Join(t.TempDir(), "absent.npz")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestReadNPZ(t *testing.T) {
	wide, err := tensor.FromFloat64([]int{2}, []float64{0.1, 1e300})
	if err != nil {
		t.Fatal(err)
	}
	path := writeNPZ(t, tensor.Named{Name: "a", Tensor: forge.Arange(3)}, tensor.Named{Name: "wide", Tensor: wide})
	arrays, err := forge.ReadNPZ(path)
	if err != nil || len(arrays) != 2 || !tensor.Identical(arrays["a"], forge.Arange(3)) || !tensor.Identical(arrays["wide"], wide) {
		t.Errorf("got %v, %v", arrays, err)
	}
	pipe := path + ".pipe"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{pipe, t.TempDir()} {
		if _, err := forge.ReadNPZ(other); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("%s: %v", other, err)
		}
	}
	if _, err := forge.ReadNPZ(path + ".absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	double := define(t, "def double(wide): return wide + wide\n")
	inputs, err := double.ReadInputs(writeNPZ(t, tensor.Named{Name: "wide", Tensor: wide}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := double.Run(t.Context(), inputs...); err == nil || !strings.Contains(err.Error(), "input wide is f64[2]; ForgeScript tensors are float32: pass forge.From(wide.Values(), wide.Shape()...), or store wide.astype(np.float32)") {
		t.Errorf("float64 input: %v", err)
	}
}

func writeNPZ(t *testing.T, list ...tensor.Named) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "inputs.npz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := tensor.WriteNPZ(file, list); err != nil {
		t.Fatal(err)
	}
	return path
}

// A program of a constant alone, and one that returns its input.
func TestDegeneratePrograms(t *testing.T) {
	for source, want := range map[string]float64{"def f(): return 2.5\n": 2.5, "def f(x: f32): return x\n": 4} {
		p, err := forge.Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		var args []*forge.Tensor
		if len(p.Inputs()) == 1 {
			args = append(args, forge.Scalar(4))
		}
		y, err := p.Run(context.Background(), args...)
		if err != nil || y.Item() != want {
			t.Errorf("%s: %v, %v", source, y, err)
		}
		var sink collector
		if err := p.Show(display.WithSink(t.Context(), &sink), "ir", "graph", "summary", "explain", "check"); err != nil {
			t.Errorf("%s: %v", source, err)
		}
	}
}

package audit

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

func run(t *testing.T, program string, inputs ...*tensor.Tensor) *Report {
	t.Helper()
	g, err := ir.Parse(op.Registry, program)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Numerics(t.Context(), g, inputs, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func vector(t *testing.T, values ...float32) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromFloat32([]int{len(values)}, values)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// A difference of close numbers adds no error of its own, but magnifies what
// its operands bring.
func TestCancellation(t *testing.T) {
	r := run(t, `graph f(%x: f32[2], %y: f32[2]) {
  %a: f32[2] = exp %x @ "f.fs":2:7
  %b: f32[2] = exp %y @ "f.fs":3:7
  %c: f32[2] = sub %a, %b @ "f.fs":4:7
  return %c
}`, vector(t, 1, 2), vector(t, 1.000001, 2.000001))
	if r.OK() || r.First != 2 || r.Rows[2].Source != "f.fs:4:7" {
		t.Fatalf("first over budget is %d:\n%s", r.First, r.Text())
	}
	if row := r.Rows[2]; row.Own.Relative != 0 || row.Accumulated.Relative < 1e-3 {
		t.Errorf("the difference has the errors %+v", row)
	}
	if want := "it inherits or magnifies the rest"; !strings.Contains(r.Verdict(), want) {
		t.Errorf("%q lacks %q", r.Verdict(), want)
	}
	if r.Origin != nil {
		t.Errorf("everything is finite, but %v", r.Origin)
	}
}

func TestOrigin(t *testing.T) {
	for _, c := range []struct {
		name, body   string
		x            []float32
		value, about string
	}{
		{"overflow", "%a: f32[2] = exp %x\n %b: f32[2] = div %a, %a\n return %b", []float32{1, 100}, "%a", "beyond the range of its type"},
		{"none", "%a: f32[2] = exp %x\n return %a", []float32{1, 2}, "", ""},
		{"division by zero", "%a: f32[2] = sub %x, %x\n %b: f32[2] = div %x, %a\n return %b", []float32{1, 2}, "%b", "in float64 too"},
		{"NaN of an infinity that was given", "%a: f32[2] = neg %x\n %b: f32[2] = add %a, %x\n return %b", []float32{1, float32(math.Inf(1))}, "%b", "NaN in float64 too"},
		{"NaN that was given", "%a: f32[2] = exp %x\n return %a", []float32{1, float32(math.NaN())}, "", ""},
	} {
		r := run(t, "graph f(%x: f32[2]) {\n"+c.body+"\n}", vector(t, c.x...))
		switch {
		case c.value == "" && r.Origin != nil:
			t.Errorf("%s: %v", c.name, r.Origin)
		case c.value != "" && (r.Origin == nil || r.Origin.Value != c.value || !strings.Contains(r.Origin.String(), c.about)):
			t.Errorf("%s: the origin is %v", c.name, r.Origin)
		}
	}
}

func TestHistogram(t *testing.T) {
	inf := float32(math.Inf(1))
	x := vector(t, 1, 2, 3, 4, inf, 5, inf)
	wide, err := x.Convert(tensor.F64)
	if err != nil {
		t.Fatal(err)
	}
	wide.SetElem(1, 2+0x1p-22)   // one unit
	wide.SetElem(2, 3+0x1p-24)   // a quarter
	wide.SetElem(3, 4+3*0x1p-21) // three
	wide.SetElem(4, 1e300)
	h := histogram(pair{x, wide})
	if h.Lost != 1 || h.Both != 1 || h.Bins[0].Count != 2 || h.Bins[1].Count != 1 || h.Bins[2].Count != 1 || h.Bins[4].Count != 1 {
		t.Errorf("the histogram is %+v", h)
	}
	if e := measure(pair{x, wide}); e.Lost != 1 || float64(e.ULP) > 3 || float64(e.ULP) < 2.9 || !math.IsInf(float64(e.Relative), 1) {
		t.Errorf("the error is %+v", e)
	}
}

func TestIntegersAndSplits(t *testing.T) {
	r := run(t, `graph f(%x: f32[4]) {
  %a: f32[1], %b: f32[3] = split %x {axis = 0, sizes = [1, 3]}
  %c: i64[] = argmax %b {axis = 0}
  %d: bool[3] = lt %b, %a
  return %c, %d
}`, vector(t, 1, 2, 3, 0))
	if !r.OK() || len(r.Rows) != 4 || len(r.Outputs) != 2 {
		t.Errorf("got\n%s", r.Text())
	}
}

func TestReportForms(t *testing.T) {
	r := run(t, "graph f(%x: f32[2]) {\n %a: f32[2] = exp %x\n return %a\n}", vector(t, 1, 100))
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"format":"forge.audit","version":1,"program":"f"`, `"relative":"Infinity"`, `"histogram":{"bins":[{"up":0,`, `"origin":{"value":"%a"`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("JSON lacks %s:\n%s", want, raw)
		}
	}
	b := r.Display()
	if text, _ := b.Data["text/html"].(string); strings.Count(text, "<table") != 2 {
		t.Errorf("HTML has no two tables:\n%s", text)
	}
	if b.Data["text/plain"] != r.Text() {
		t.Error("the plain text is not the text")
	}
}

func TestRefusals(t *testing.T) {
	g, err := ir.Parse(op.Registry, "graph f(%x: f32[2]) {\n %a: f32[2] = exp %x\n return %a\n}")
	if err != nil {
		t.Fatal(err)
	}
	x := vector(t, 1, 2)
	for _, budget := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := Numerics(t.Context(), g, []*tensor.Tensor{x}, Options{Budget: budget}); err == nil {
			t.Errorf("the budget %v was accepted", budget)
		}
	}
	for _, inputs := range [][]*tensor.Tensor{nil, {nil}, {vector(t, 1)}} {
		if _, err := Numerics(t.Context(), g, inputs, Options{}); err == nil {
			t.Errorf("the inputs %v were accepted", inputs)
		}
	}
	stopped := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := Numerics(ctx, g, []*tensor.Tensor{x}, Options{}); !errors.Is(err, stopped) {
		t.Errorf("a cancelled audit returned %v", err)
	}
}

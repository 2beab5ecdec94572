package forge_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"forgekernel/forge"
)

const moments = `
def moments(x: f32[2,3]) -> (f32[2,1], f32[2,1]):
    mu = mean_of(x)
    d = x - mu
    variance = mean_of(d * d)
    return mu, variance

def mean_of(x): return mean(x, axis=-1, keepdims=True)

def standardise(x: f32[2,3]):
    m, v = moments(x)
    return (x - m) / sqrt(v)
`

// A tuple reaches every way of running a program, in order.
func TestTuple(t *testing.T) {
	fns, err := forge.Define(moments, forge.Named("moments.fs"))
	if err != nil {
		t.Fatal(err)
	}
	f, x := fns[0], forge.From([]float64{1, 2, 3, 5, 5, 5}, 2, 3)
	if got := f.Signature(); got != "moments(x: f32[2,3]) -> (f32[2,1], f32[2,1])" || f.Results() != 2 {
		t.Errorf("signature %q, %d results", got, f.Results())
	}
	check := func(how string, outs []*forge.Tensor, err error) {
		t.Helper()
		if err != nil || len(outs) != 2 || outs[0].At(0, 0) != 2 || outs[0].At(1, 0) != 5 || outs[1].At(1, 0) != 0 {
			t.Errorf("%s: %v, %v", how, outs, err)
		}
	}
	check("All", f.All(x), nil)
	outs, err := f.RunAll(t.Context(), x)
	check("RunAll", outs, err)
	outs, err = f.Program().RunAll(t.Context(), x)
	check("Program.RunAll", outs, err)
	report, outs, err := f.Program().RunReport(t.Context(), x)
	check("RunReport", outs, err)
	if len(report.Outputs) != 2 || report.Outputs[0].Name != "mu" || len(report.Run.Results) != 2 || report.Run.Results[1].Name != report.Outputs[1].Name {
		t.Errorf("outputs %v, results %v", report.Outputs, report.Run.Results)
	}
	if a := f.Check(x); !a.OK() || a.Elements != 4 {
		t.Errorf("check: %+v", a)
	}
	if y := fns[2](x); y.Dim(1) != 3 || y.At(0, 1) != 0 {
		t.Errorf("a function that unpacks: %v", y)
	}
}

// A plain call of a tuple names the way that works.
func TestTupleCalledPlainly(t *testing.T) {
	fns, err := forge.Define(moments)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fns[0].Run(context.Background(), forge.Ones(2, 3))
	var call *forge.CallError
	if !errors.As(err, &call) || call.Function != "moments" || !strings.Contains(call.Plain(), "returns 2 tensors") || !strings.Contains(call.Plain(), "moments.All(") {
		t.Errorf("Run: %v", err)
	}
	defer func() {
		if _, ok := recover().(*forge.CallError); !ok {
			t.Error("the call does not panic with a CallError")
		}
	}()
	fns[0](forge.Ones(2, 3))
}

// Redefining a callee as a tuple is found when the caller is traced again.
func TestCalleeBecomesTuple(t *testing.T) {
	lib := forge.NewLibrary()
	define := func(source string) forge.Function {
		t.Helper()
		fns, err := lib.Define(source)
		if err != nil {
			t.Fatal(err)
		}
		return fns[0]
	}
	define("def g(x): return x + 1\n")
	f := define("def f(x): return g(x) * 2\n")
	if y := f(forge.Scalar(1)); y.Item() != 4 {
		t.Fatalf("f(1) is %v", y)
	}
	define("def g(x): return x, x\n")
	if _, err := f.Run(t.Context(), forge.Scalar(1)); err == nil || !strings.Contains(err.Error(), "g returns 2 tensors where one is needed") {
		t.Errorf("a stale caller: %v", err)
	}
}

func TestTupleOfEqualOutputs(t *testing.T) {
	p, err := forge.Compile("def f(x: f32[3]): return x, x, x + 0, relu(x), relu(x)\n")
	if err != nil {
		t.Fatal(err)
	}
	report, outs, err := p.RunReport(t.Context(), forge.Arange(3))
	if err != nil || len(outs) != 5 || len(report.Run.Results) != 5 {
		t.Fatalf("%d results, %v", len(outs), err)
	}
	outs[0].Set(9, 0)
	for i, y := range outs[1:] {
		if y.At(0) == 9 || y.At(2) != 2 {
			t.Errorf("result %d is %v; results share memory or are wrong", i+1, y)
		}
	}
	if _, err := json.Marshal(report); err != nil {
		t.Error(err)
	}
}

package forge_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/forge/tensor"
)

const layerSource = `def layer(x, w, b):
    """One layer."""
    return relu(x @ w + b)
`

func define(t *testing.T, source string, opts ...forge.Option) forge.Function {
	t.Helper()
	fns, err := forge.Define(source, append([]forge.Option{forge.Named("cell 1")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return fns[len(fns)-1]
}

func TestCall(t *testing.T) {
	layer := define(t, layerSource)
	x := forge.From([]float64{1, 2, 3, 4}, 2, 2)
	y := layer(x, forge.From([]float64{1, -1, 0, 1}, 2, 2), forge.From([]float64{0.5, -2}))
	if want := forge.From([]float64{1.5, 0, 3.5, 0}, 2, 2); !tensor.Identical(y, want) {
		t.Errorf("got %v, want %v", y, want)
	}
	if layer.Name() != "layer" || layer.Signature() != "layer(x, w, b)" || layer.Doc() != "One layer." || strings.Join(layer.Params(), " ") != "x w b" {
		t.Errorf("%s %s %q %v", layer.Name(), layer.Signature(), layer.Doc(), layer.Params())
	}
	if source := layer.Source(); source.Code+"\n" != layerSource || source.Name != "cell 1" {
		t.Errorf("source %+v", source)
	}
}

// Many functions answer questions about themselves at the same time.
func TestFunctionsAreDistinct(t *testing.T) {
	fns, err := forge.Define("def a(x): return x\ndef b(x): return -x\n")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			if want := string(rune('a' + i%2)); fns[i%2].Name() != want {
				t.Errorf("function %s answers as %s", want, fns[i%2].Name())
			}
		})
	}
	wg.Wait()
}

func TestCallErrors(t *testing.T) {
	layer := define(t, layerSource)
	shape := func(dims ...int) *forge.Tensor { return forge.Zeros(dims...) }
	wide, err := tensor.Zeros(tensor.F64, 8, 16)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		args      []*forge.Tensor
		line, col int
		message   string
		hint      string
		note      string
	}{
		{"inner dimensions", []*forge.Tensor{shape(8, 16), shape(12, 16), shape(12)}, 3, 17, "inner dimensions differ", "transpose(w)", "called as layer(x: f32[8,16], w: f32[12,16], b: f32[12])"},
		{"broadcast", []*forge.Tensor{shape(8, 16), shape(16, 12), shape(8)}, 3, 17, "do not broadcast", "reshape(b, 8, 1)", "called as"},
		{"count", []*forge.Tensor{shape(8, 16)}, 1, 5, "layer takes 3 tensors, got 1", "layer(x, w, b)", "called as layer(x: f32[8,16])"},
		{"too many", []*forge.Tensor{shape(1), shape(1), shape(1), shape(1)}, 1, 5, "layer takes 3 tensors, got 4", "", "called as layer(x: f32[1], w: f32[1], b: f32[1], f32[1])"},
		{"nil", []*forge.Tensor{shape(8, 16), nil, shape(12)}, 0, 0, "w of layer is nil", "pass a tensor", ""},
		{"element type", []*forge.Tensor{wide, shape(16, 12), shape(12)}, 1, 11, "input x is f64[8,16]", "float32", "called as"},
		{"empty", []*forge.Tensor{shape(0, 16), shape(16, 12), shape(12)}, 1, 11, "no elements", "", "called as"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := layer.Run(t.Context(), c.args...)
			var call *forge.CallError
			if !errors.As(err, &call) {
				t.Fatalf("the error is a %T: %v", err, err)
			}
			if call.Function != "layer" || call.Line != c.line || call.Col != c.col || !strings.Contains(call.Message, c.message) || !strings.Contains(call.Hint, c.hint) {
				t.Errorf("got %+v", call)
			}
			if notes := strings.Join(call.Notes, "\n"); !strings.Contains(notes, c.note) {
				t.Errorf("notes %q lack %q", notes, c.note)
			}
			if text := display.ToBundle(call).Data["text/plain"]; !strings.Contains(text.(string), c.message) {
				t.Errorf("shown as %q", text)
			}
		})
	}
}

// recovered is what f panics with.
func recovered(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func TestPanics(t *testing.T) {
	layer := define(t, layerSource)
	for name, f := range map[string]func(){
		"call":               func() { layer(forge.Ones(2)) },
		"specialise":         func() { layer.Specialize(forge.Shape{2}) },
		"not yet compiled":   func() { layer.IR() },
		"nil":                func() { forge.Function(nil).Name() },
		"foreign":            func() { forge.Function(func(...*forge.Tensor) *forge.Tensor { return nil }).Name() },
		"check of a misfit":  func() { layer.Check(forge.Ones(2)) },
		"negative dimension": func() { forge.Zeros(-1) },
		"value count":        func() { forge.From([]float64{1, 2, 3}, 2, 2) },
		"huge":               func() { forge.Ones(1<<20, 1<<20) },
		"negative range":     func() { forge.Arange(-1) },
	} {
		if v, ok := recovered(f).(*forge.CallError); !ok || v.Message == "" {
			t.Errorf("%s: panicked with %v", name, v)
		}
	}
}

func TestLimitsOfInputs(t *testing.T) {
	id := define(t, "def id(x): return x\n", forge.WithLimits(forge.Limits{InputElements: 100}))
	if y := id(forge.Ones(100)); y.Len() != 100 {
		t.Errorf("got %d elements", y.Len())
	}
	if _, err := id.Run(t.Context(), forge.Ones(101)); err == nil || !strings.Contains(err.Error(), "101 elements together, and the limit is 100") {
		t.Errorf("101 elements: %v", err)
	}
	if _, err := id.Compile(t.Context(), forge.Shape{1 << 20, 1 << 20}); err == nil {
		t.Error("2^40 elements were accepted")
	}
}

func TestAnnotations(t *testing.T) {
	f := define(t, "def f(x: f32[2,3]): return x.sum(axis=0)\n")
	if got := f.Specialize().Outputs()[0].Spec.String(); got != "f32[3]" {
		t.Errorf("the annotated program gives %s", got)
	}
	if !strings.Contains(f.IR().Code, "sum %x") || !strings.Contains(f.Mermaid(), "sum") || len(f.Graph().Nodes) == 0 {
		t.Errorf("IR %s", f.IR().Code)
	}
	if y := f(forge.Ones(5, 2)); !tensor.Identical(y, forge.Full(5, 2)) {
		t.Errorf("for another shape: %v", y)
	}
}

// A program that was compiled from the same text serves the calls of a function.
func TestAdopt(t *testing.T) {
	const src = "def f(x): return exp(x)\n"
	p := define(t, src).Specialize(forge.Shape{2})
	f := define(t, src)
	f.Adopt(p)
	if f.Program() != p {
		t.Error("the program is another")
	}
	f(forge.Ones(2))
	f(forge.Ones(3))
	if s := f.Cache(); s.Programs != 2 || s.Hits != 1 || s.Misses != 2 {
		t.Errorf("%+v", s)
	}
}

func TestCache(t *testing.T) {
	f := define(t, "def f(x): return exp(x)\n")
	for range 3 {
		f(forge.Ones(2))
		f(forge.Ones(3))
	}
	if s := f.Cache(); s.Programs != 2 || s.Misses != 2 || s.Hits != 4 {
		t.Errorf("two shapes three times: %+v", s)
	}
	for n := 4; n < 4+forge.MaxPrograms; n++ {
		f(forge.Ones(n))
	}
	if s := f.Cache(); s.Programs != forge.MaxPrograms || s.Evictions != 2 {
		t.Errorf("beyond the bound: %+v", s)
	}
	before := f.Cache().Misses
	f(forge.Ones(3 + forge.MaxPrograms)) // the latest is still there
	f(forge.Ones(2))                     // the oldest is not
	if s := f.Cache(); s.Misses != before+1 {
		t.Errorf("after eviction: %+v", s)
	}
	if _, err := f.Run(t.Context(), forge.Ones(1), forge.Ones(1)); err == nil || f.Cache().Misses != before+1 {
		t.Errorf("a wrong call reaches the cache: %+v", f.Cache())
	}
}

// Calls at the same time compile one program.
func TestConcurrentCalls(t *testing.T) {
	layer := define(t, layerSource)
	x, w, b := forge.Randn(8, 16), forge.Randn(16, 12), forge.Randn(12)
	want := layer.Specialize(forge.Shape{8, 16}, forge.Shape{16, 12}, forge.Shape{12})
	reference, err := want.Run(t.Context(), x, w, b)
	if err != nil {
		t.Fatal(err)
	}
	fresh := define(t, layerSource)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			if y := fresh(x, w, b); !tensor.Identical(y, reference) {
				t.Error("a concurrent call gives another result")
			}
		})
	}
	wg.Wait()
	if s := fresh.Cache(); s.Misses != 1 || s.Hits != 31 {
		t.Errorf("32 calls at once: %+v", s)
	}
}

func TestInterrupt(t *testing.T) {
	f := define(t, "def f(x): return x @ x @ x @ x @ x @ x\n")
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := f.Run(ctx, forge.Ones(64, 64)); !errors.Is(err, stopped) {
		t.Errorf("Run gives %v", err)
	}
	defer forge.SetContext(func() context.Context { return ctx })()
	if v := recovered(func() { f(forge.Ones(64, 64)) }); v != stopped {
		t.Errorf("the call panics with %v", v)
	}
	if v := recovered(func() { f.Program().Bench() }); v != stopped {
		t.Errorf("the benchmark panics with %v", v)
	}
	if v := recovered(func() { f.Program().Check() }); v != stopped {
		t.Errorf("the check panics with %v", v)
	}
	// The program itself has compiled, and the next call runs.
	if _, err := f.Run(t.Context(), forge.Ones(64, 64)); err != nil {
		t.Errorf("after an interrupt: %v", err)
	}
}

func TestLibrary(t *testing.T) {
	lib := forge.NewLibrary()
	must := func(name, source string) forge.Function {
		t.Helper()
		fns, err := lib.Define(source, forge.Named(name))
		if err != nil {
			t.Fatal(err)
		}
		return fns[len(fns)-1]
	}
	must("cell 1", "def twice(x): return x * 2\n")
	f := must("cell 2", "def f(x): return twice(x) + 1\n")
	if y := f(forge.Scalar(3)); y.Item() != 7 {
		t.Errorf("f(3) is %g", y.Item())
	}
	// A redefinition reaches the caller that exists.
	must("cell 3", "def twice(x): return x * 20\n")
	if y := f(forge.Scalar(3)); y.Item() != 61 {
		t.Errorf("f(3) is %g after the redefinition", y.Item())
	}
	if s := f.Cache(); s.Stale != 1 || s.Programs != 1 {
		t.Errorf("cache %+v", s)
	}
	// A change of its parameters is an error at the call, with its place.
	must("cell 4", "def twice(x, y): return x * y\n")
	_, err := f.Run(t.Context(), forge.Scalar(3))
	var call *forge.CallError
	if !errors.As(err, &call) || call.Source != "cell 2" || call.Col != 18 || !strings.Contains(call.Message, "twice takes 2 tensors, got 1") {
		t.Errorf("after another signature: %v", err)
	}
	// A cycle through an earlier cell is refused, and changes nothing.
	if _, err := lib.Define("def twice(x, y): return f(x) + y\n"); err == nil || !strings.Contains(err.Error(), "calls itself") {
		t.Errorf("recursion through a cell: %v", err)
	}
	again := forge.NewLibrary()
	if _, err := again.Define(strings.Replace(lib.Source(), "twice(x) + 1", "twice(x, x) + 1", 1)); err != nil {
		t.Errorf("the library's own source: %v", err)
	}
	if y := again.Function("f")(forge.Scalar(3)); y.Item() != 10 {
		t.Errorf("restored f(3) is %g", y.Item())
	}
	lib.Remove("twice")
	if _, err := f.Run(t.Context(), forge.Scalar(3)); err == nil || !strings.Contains(err.Error(), "no function twice any more") {
		t.Errorf("after removal: %v", err)
	}
	if names := strings.Join(lib.Names(), " "); names != "f" {
		t.Errorf("names %q", names)
	}
}

func TestCompileOptions(t *testing.T) {
	const two = "def first(x): return x\ndef second(x): return first(x) + 1\n"
	for _, c := range []struct {
		opts []forge.Option
		name string // of the program, or
		err  string
	}{
		{[]forge.Option{forge.Shapes(forge.Shape{2})}, "second", ""},
		{[]forge.Option{forge.Shapes(forge.Shape{2}), forge.Entry("first")}, "first", ""},
		{[]forge.Option{forge.Shapes(forge.Shape{2}), forge.Entry("third")}, "", "two.fs has no function third; it has first, second"},
		{[]forge.Option{forge.Shapes(forge.Shape{2}), forge.OnBackend("cude")}, "", `no backend "cude"; there are interp, reference, cpu`},
		{nil, "", "the shape of x is not known"},
		{[]forge.Option{forge.Shapes(forge.Shape{2}, forge.Shape{3})}, "", "second takes 1 tensor, got 2"},
	} {
		p, err := forge.Compile(two, append(c.opts, forge.Named("two.fs"))...)
		switch {
		case c.err == "" && (err != nil || p.Name() != c.name):
			t.Errorf("%s: %v", c.name, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("got error %v, want %s", err, c.err)
		}
	}
	reference, err := forge.Compile("def f(x): return x / 3\n", forge.Shapes(forge.Shape{}), forge.OnBackend("reference"))
	if err != nil {
		t.Fatal(err)
	}
	if y, err := reference.Run(t.Context(), forge.Scalar(1)); err != nil || y.DType() != tensor.F64 {
		t.Errorf("the reference gives %v, %v", y, err)
	}
}

func TestSeed(t *testing.T) {
	forge.Seed(5)
	a, b := forge.Randn(3, 3), forge.Rand(100)
	forge.Seed(5)
	if !tensor.Identical(a, forge.Randn(3, 3)) || !tensor.Identical(b, forge.Rand(100)) {
		t.Error("equal seeds give different numbers")
	}
	if tensor.Identical(a, forge.Randn(3, 3)) {
		t.Error("two calls give the same numbers")
	}
	for _, v := range b.Float32() {
		if v < 0 || v >= 1 {
			t.Errorf("Rand gives %g", v)
		}
	}
}

// A program that does not compile for its own annotations was not called.
func TestAnnotationsAreNoCall(t *testing.T) {
	for _, source := range []string{
		"def f(x: f32[2]) -> f32[3]:\n    return relu(x)\n",
		"def f(x):\n    return relu(x)\n",
	} {
		f := define(t, source)
		_, err := f.Compile(t.Context())
		var call *forge.CallError
		if !errors.As(err, &call) || len(call.Notes) > 0 {
			t.Errorf("%q: %v with the notes %q", source, err, call.Notes)
		}
	}
}

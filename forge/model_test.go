package forge_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/forge/tensor"
)

const glyphs = "../notebooks/models/glyphs.onnx"

func open(t *testing.T, path string, opts ...forge.Option) *forge.Model {
	t.Helper()
	m, err := forge.Open(path, append([]forge.Option{forge.OnBackend("interp")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func guesses(k float64) *forge.Tensor { return forge.From([]float64{k}) }

// A model runs on tensors by name, whatever their number, and its results have the
// names and the order of the file.
func TestModelRun(t *testing.T) {
	m := open(t, glyphs)
	images := forge.Rand(3, 1, 8, 8)
	y, err := m.Run(t.Context(), map[string]*forge.Tensor{"images": images, "k": guesses(2)})
	if err != nil {
		t.Fatal(err)
	}
	if len(y) != 2 || y[0].Name != "best" || y[1].Name != "classes" {
		t.Fatalf("results %v", y)
	}
	if best, classes := y.Get("best"), y.Get("classes"); !tensor.ShapeEqual(best.Shape(), []int{3, 2}) || classes.DType() != tensor.I64 {
		t.Errorf("best %v, classes %v", best.Shape(), classes.DType())
	}
	p := m.Program()
	if !p.Check(images).OK() {
		t.Error("the results are not those of float64")
	}
	direct, err := p.RunAll(t.Context(), images)
	if err != nil || !tensor.Identical(direct[0], y[0].Tensor) || !tensor.Identical(direct[1], y[1].Tensor) {
		t.Errorf("the program gives %v, %v", direct, err)
	}
}

// Shapes, and values of inputs that act as attributes, are what programs are kept by.
func TestModelKeepsPrograms(t *testing.T) {
	m := open(t, glyphs)
	run := func(batch int, k float64) *forge.Program {
		t.Helper()
		if _, err := m.Run(t.Context(), map[string]*forge.Tensor{"images": forge.Rand(batch, 1, 8, 8), "k": guesses(k)}); err != nil {
			t.Fatal(err)
		}
		return m.Program()
	}
	a, b, c := run(1, 2), run(1, 3), run(2, 2)
	if a == b || a == c || b == c {
		t.Error("programs for other values or shapes are the same")
	}
	if run(1, 2) != a || run(1, 3) != b || run(2, 2) != c {
		t.Error("a program was compiled again")
	}
	if got := m.Cache().Programs; got != 3 {
		t.Errorf("%d programs are kept, not 3", got)
	}
	bound := a.Bound()
	if len(bound) != 1 || bound[0].Input != "k" || bound[0].Value.At(0) != 2 || bound[0].For != `the k of TopK "best"` {
		t.Errorf("bound %+v", bound)
	}
	if notes := strings.Join(a.Notes(), "\n"); !strings.Contains(notes, `input k is a part of the program, with the value [2]: the k of TopK "best"`) {
		t.Errorf("notes %q", notes)
	}
	if e := a.Explain().Text(false); !strings.Contains(e, "input k is a part of the program") || !strings.Contains(e, "from glyphs.onnx") {
		t.Errorf("the explanation says nothing of k:\n%s", e)
	}
}

// Calls at the same time compile a program once and get what they asked for.
func TestModelConcurrently(t *testing.T) {
	m := open(t, glyphs)
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			k := 1 + i%3
			y, err := m.Run(t.Context(), map[string]*forge.Tensor{"images": forge.Zeros(1+i%2, 1, 8, 8), "k": guesses(float64(k))})
			if err != nil {
				t.Error(err)
				return
			}
			if want := []int{1 + i%2, k}; !tensor.ShapeEqual(y[0].Tensor.Shape(), want) {
				t.Errorf("shape %v, not %v", y[0].Tensor.Shape(), want)
			}
		})
	}
	wg.Wait()
	if got := m.Cache().Programs; got != 6 {
		t.Errorf("%d programs are kept, not 6", got)
	}
}

func TestModelErrors(t *testing.T) {
	m := open(t, glyphs)
	images := forge.Rand(2, 1, 8, 8)
	for _, c := range []struct {
		inputs        map[string]*forge.Tensor
		message, hint string
	}{
		{map[string]*forge.Tensor{"images": images}, "input k of glyphs.onnx: expected i64[1], got nothing", "its inputs are images: f32[batch,1,8,8], k: i64[1]"},
		{map[string]*forge.Tensor{"images": images, "k": guesses(1), "n": images}, "input n of glyphs.onnx: expected no input of this name, got f32[2,1,8,8]", "its inputs are"},
		{map[string]*forge.Tensor{"images": forge.Rand(2, 3, 8, 8), "k": guesses(1)}, "input images of glyphs.onnx: expected f32[batch,1,8,8], got f32[2,3,8,8]", ""},
		{map[string]*forge.Tensor{"images": images, "k": forge.Scalar(1)}, "input k of glyphs.onnx: expected i64[1], got f32[]", ""},
		{map[string]*forge.Tensor{"images": images, "k": guesses(1.5)}, "input k of glyphs.onnx: expected i64[1], got f32[1]", "element 0 is 1.5, which i64 cannot hold"},
		{map[string]*forge.Tensor{"images": images, "k": guesses(99)}, "glyphs.onnx: TopK \"best\"", ""},
	} {
		_, err := m.Run(t.Context(), c.inputs)
		var call *forge.CallError
		if !errors.As(err, &call) || !strings.Contains(call.Message, c.message) || !strings.Contains(call.Hint, c.hint) {
			t.Errorf("%q (%+v); want %q, %q", err, call, c.message, c.hint)
		}
	}
	for _, c := range []struct {
		b             forge.Binding
		message, hint string
	}{
		{forge.Binding{}, "dimension 0, batch, is open", `m.Specialize(forge.Binding{Dims: map[string]int{"batch": 1}})`},
		{forge.Binding{Dims: map[string]int{"batch": 2}}, `"k", the k of TopK "best", must be known`, `Values: map[string]*forge.Tensor{"k": …}`},
		{forge.Binding{Dims: map[string]int{"n": 2}}, `there is no open dimension "n"; there are batch`, ""},
	} {
		_, err := m.Compile(t.Context(), c.b)
		var call *forge.CallError
		if !errors.As(err, &call) || !strings.Contains(call.Message, c.message) || !strings.Contains(call.Hint, c.hint) {
			t.Errorf("%+v; want %q, %q", call, c.message, c.hint)
		}
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := m.Run(ctx, map[string]*forge.Tensor{"images": images, "k": guesses(1)}); !errors.Is(err, cause) {
		t.Errorf("an interrupted run ends with %v", err)
	}
}

// Arguments are compared with what a program was compiled for.
func TestArguments(t *testing.T) {
	m := open(t, glyphs)
	p, err := m.Compile(t.Context(), forge.Binding{Dims: map[string]int{"batch": 2}, Values: map[string]*forge.Tensor{"k": guesses(3)}})
	if err != nil {
		t.Fatal(err)
	}
	images := forge.Rand(2, 1, 8, 8)
	if args, err := p.Arguments(map[string]*forge.Tensor{"images": images, "k": guesses(3)}); err != nil || len(args) != 1 || args[0] != images {
		t.Errorf("%v, %v", args, err)
	}
	for want, named := range map[string]map[string]*forge.Tensor{
		"input images of glyphs: expected f32[2,1,8,8], got f32[1,1,8,8]":                       {"images": forge.Rand(1, 1, 8, 8)},
		"input images of glyphs: expected f32[2,1,8,8], got nothing":                            {},
		"input k of glyphs: expected the value that the program was compiled for, [3], got [2]": {"images": images, "k": guesses(2)},
		"input z of glyphs: expected no input of this name, got f32[1]":                         {"images": images, "z": guesses(2)},
	} {
		if _, err := p.Arguments(named); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

func TestModelDisplay(t *testing.T) {
	text, _ := display.ToBundle(open(t, glyphs)).Data["text/plain"].(string)
	for _, want := range []string{
		"format  ONNX, operator set 21, written by glyphs.py", "file  " + glyphs + ", 6.42 KiB", "input  images: f32[batch,1,8,8]\n",
		"k: i64[1]\n", "open  batch\n", "output  best\n", "operators  12 nodes of 10 kinds\n", "2 Conv, 2 Relu, 1 Concat",
	} {
		if !strings.Contains(trimmed(text), want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// trimmed is a text without spaces at the ends of lines.
func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	return strings.Join(lines, "\n") + "\n"
}

// ForgeScript opens as a model: annotations are shapes unless a binding has others.
func TestModelOfForgeScript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pair.fs")
	if err := os.WriteFile(path, []byte("def pair(x: f32[2,3], y: f32[3]):\n    return x + y, x * y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := open(t, path)
	if p := m.Program(); !tensor.ShapeEqual(p.Inputs()[0].Spec.Shape, []int{2, 3}) {
		t.Errorf("inputs %v", p.Inputs())
	}
	y, err := m.Run(t.Context(), map[string]*forge.Tensor{"x": forge.Full(2, 4, 3), "y": forge.Full(3, 3)})
	if err != nil {
		t.Fatal(err)
	}
	if y.Get("result1").At(3, 2) != 5 || y.Get("result2").At(3, 2) != 6 {
		t.Errorf("results %v", y)
	}
	p, err := m.Compile(t.Context(), forge.Binding{Shapes: map[string][]int{"x": {7, 3}}})
	if err != nil || !tensor.ShapeEqual(p.Inputs()[1].Spec.Shape, []int{3}) {
		t.Errorf("%v, %v", p, err)
	}
}

func TestAtMostErrors(t *testing.T) {
	for name, length := range map[string]int{"batch": 0, "width": 4} {
		if _, err := forge.Open(glyphs, forge.AtMost(name, length)); err == nil || !strings.Contains(err.Error(), "an open dimension is needed; there are batch") {
			t.Errorf("at most %d for %s: %v", length, name, err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.onnx")
	if err := os.WriteFile(broken, []byte("not a model"), 0o600); err != nil {
		t.Fatal(err)
	}
	renamed := func(from, to string) string {
		raw, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, to)
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(dir, "pipe.fs")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		renamed(glyphs, "glyphs.pt2"):           "it begins as a .onnx file does: name it so",
		renamed(unpacked(t, "mlp"), "mlp.onnx"): "it begins as a .pt2 file does: name it so",
		renamed(unpacked(t, "cnn"), "cnn.fs"):   "cnn.fs begins as a .pt2 file does: name it so",
		pipe:                                    "pipe.fs is not a regular file",
		filepath.Join(dir, "none.onnx"):         "no such file",
		filepath.Join(dir, "model.bin"):         "what it holds, the end of its name must say: .onnx, .pt2 or .fs",
		broken:                                  "broken.onnx: ",
	} {
		if _, err := forge.Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
		func() {
			defer func() {
				if _, ok := recover().(*forge.CallError); !ok {
					t.Errorf("%s: Load does not panic with an error to display", path)
				}
			}()
			forge.Load(path)
		}()
	}
}

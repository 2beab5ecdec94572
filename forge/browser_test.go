package forge_test

import (
	"errors"
	"strings"
	"testing"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/forge/tensor"
)

// TestRunInBrowser: the card has the plan, and the values that the program gives.
func TestRunInBrowser(t *testing.T) {
	f := define(t, "def f(x: f32[4,8], w: f32[8,3]):\n    h = relu(x @ w)\n    return h, softmax(h, axis=-1)\n")
	x, w := forge.Rand(4, 8), forge.Rand(8, 3)
	r, err := f.For(x, w).RunInBrowserContext(t.Context(), x, w)
	if err != nil {
		t.Fatal(err)
	}
	want := f.All(x, w)
	if len(r.Results) != 2 || !tensor.Identical(r.Results[0], want[0]) || !tensor.Identical(r.Results[1], want[1]) {
		t.Errorf("the results are %v, want %v", r.Results, want)
	}
	if d := r.Dispatches(); len(d.Rows) < 2 || !strings.HasPrefix(d.Rows[0][0].(string), "%h = ") {
		t.Errorf("the dispatches are\n%s", d.Text())
	}
	b := display.ToBundle(r)
	markup, text := b.Data["text/html"].(string), b.Data["text/plain"].(string)
	for _, part := range []string{"f32[4,3]", "%h", "values of the kernel"} {
		if !strings.Contains(markup, part) || !strings.Contains(text, part) {
			t.Errorf("the display lacks %q:\n%s", part, text)
		}
	}
	if random := f.RunInBrowser(); len(random.Results) != 2 {
		t.Errorf("without arguments: %d results", len(random.Results))
	}
}

// TestModelRunInBrowser: results have their names in the file; an input that acts as an
// attribute is none of the plan.
func TestModelRunInBrowser(t *testing.T) {
	r := open(t, glyphs).RunInBrowser(map[string]*forge.Tensor{"images": forge.Rand(3, 1, 8, 8), "k": guesses(2)})
	b := display.ToBundle(r)
	if text := b.Data["text/plain"].(string); !strings.Contains(text, "best") || !strings.Contains(text, "i64[3,2]") {
		t.Errorf("the display is\n%s", text)
	}
	if markup := b.Data["text/html"].(string); !strings.Contains(markup, `"name":"images","kind":"input"`) || strings.Contains(markup, `"name":"k"`) {
		t.Errorf("the inputs of the plan are not the images alone")
	}
}

// TestRunInBrowserTypes: a type that WGSL does not have is named.
func TestRunInBrowserTypes(t *testing.T) {
	p, err := forge.FromIR("graph twice(%x: f64[4]) {\n  %y: f64[4] = add %x, %x\n  return %y\n}\n", forge.OnBackend("interp"))
	if err != nil {
		t.Fatal(err)
	}
	var call *forge.CallError
	if _, err = p.RunInBrowserContext(t.Context()); !errors.As(err, &call) || !strings.Contains(err.Error(), "%y = add: %y is f64: WGSL has no f64") {
		t.Errorf("the error is %v", err)
	}
}

// TestRunInBrowserRefuses: what WebGPU or a notebook cannot hold has one clear reason.
func TestRunInBrowserRefuses(t *testing.T) {
	f := define(t, "def f(x):\n    return x + 1\n")
	for _, c := range []struct {
		x    *forge.Tensor
		want string
	}{
		{forge.Zeros(5 << 20), "f has 40 MiB of inputs, constants and results; a card holds 32 MiB"},
		{nil, "x of f is nil"},
	} {
		_, err := func() (r *forge.InBrowser, err error) {
			defer func() { err, _ = recover().(error) }()
			return f.RunInBrowser(c.x), nil
		}()
		var call *forge.CallError
		if !errors.As(err, &call) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the error is %v, want %q in it", err, c.want)
		}
	}
}

package forge_test

import (
	"fmt"
	"strings"
	"testing"

	"forgekernel/forge"
	"forgekernel/forge/tensor"
)

// TestNative runs every example program on the cpu backend, and looks at its C.
func TestNative(t *testing.T) {
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	for name, source := range programs(t) {
		p, err := forge.Compile(source, forge.Named(name), forge.OnBackend("cpu"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		report, err := p.CheckContext(t.Context())
		if err != nil || !report.OK() {
			t.Errorf("%s: %v, %v", name, report, err)
		}
		if code, err := p.Generated(); err != nil || code.Lang != "c" || !strings.Contains(code.Code, "forge_run_0_0") {
			t.Errorf("%s: the generated code is %.40q, %v", name, code.Code, err)
		}
	}
}

func TestGeneratedByNone(t *testing.T) {
	p, err := forge.Compile("def f(x: f32[2]): return x + 1\n", forge.OnBackend("interp"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.View(t.Context(), "c"); err == nil || err.Error() != "the backend interp generates no code; cpu does" {
		t.Errorf("got error %v", err)
	}
}

// TestNativeEqual compares a fused region with the interpreter bit by bit.
func TestNativeEqual(t *testing.T) {
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	const source = "def f(x: f32[9, 70], b: f32[70]): return gelu(x * 3 + b) * tanh(x) - sigmoid(b)\n"
	x, err := tensor.Randn(1, 9, 70)
	if err != nil {
		t.Fatal(err)
	}
	b, err := tensor.Randn(2, 70)
	if err != nil {
		t.Fatal(err)
	}
	var results []*forge.Tensor
	for i, on := range []string{"interp", "cpu", "cpu"} {
		threads := i + 1
		p, err := forge.Compile(source, forge.OnBackend(on), forge.OnThreads(threads))
		if err != nil {
			t.Fatal(err)
		}
		if p.Threads() != threads {
			t.Errorf("the program may use %d threads", p.Threads())
		}
		y, err := p.Run(t.Context(), x, b)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, y)
	}
	if !tensor.Identical(results[0], results[1]) || !tensor.Identical(results[0], results[2]) {
		t.Error("the cpu backend differs from the interpreter")
	}
	for _, threads := range []int{-1, 0, forge.MaxThreads + 1} {
		want := fmt.Sprintf("a program runs on 1 to 1024 threads, not on %d", threads)
		if _, err := forge.Compile(source, forge.OnThreads(threads)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d threads: got error %v", threads, err)
		}
	}
}

// TestDefault picks a backend for a small program and says why, and shows the C of
// a larger one once it is compiled.
func TestDefault(t *testing.T) {
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	p, err := forge.Compile("def f(x: f32[2]): return x + 1\n")
	if err != nil {
		t.Fatal(err)
	}
	if notes := p.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "Backend portable was picked") {
		t.Errorf("the notes are %q", notes)
	}
	if text := p.Explain().Text(false); !strings.Contains(text, "Backend portable was picked") {
		t.Errorf("the explanation is %s", text)
	}
	p, err = forge.Compile("def f(x: f32[64, 64]): return x @ x\n")
	if err != nil {
		t.Fatal(err)
	}
	if code, err := p.Generated(); err != nil || code.Lang != "c" {
		t.Errorf("the generated code is %.40q, %v", code.Code, err)
	}
	if err := p.Settle(t.Context()); err != nil {
		t.Error(err)
	}
}

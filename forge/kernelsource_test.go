package forge_test

import (
	"slices"
	"strings"
	"testing"

	"forgekernel/display"
	"forgekernel/forge"
)

// TestKernelSource sees that every kernel of a listing is where it says, and that a
// display has all of them with the nodes that they implement.
func TestKernelSource(t *testing.T) {
	f, err := forge.Define("def f(x: f32[8,64], w: f32[64,32]):\n    return softmax(gelu(x @ w), axis=-1)\n")
	if err != nil {
		t.Fatal(err)
	}
	p, err := f[0].Compile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, lang := range forge.KernelLanguages() {
		s, err := p.KernelSource(lang)
		if err != nil {
			t.Fatal(err)
		}
		if s.Lang != lang || len(s.Kernels) < 2 {
			t.Errorf("%s: %d kernels in %s", lang, len(s.Kernels), s.Lang)
		}
		for _, k := range s.Kernels {
			if text := s.Lines(k); !strings.Contains(text, k.Name+"(") || !strings.HasPrefix(k.Doc, k.Value+": f32") {
				t.Errorf("%s: lines %d to %d are not the kernel %s of %s:\n%s", lang, k.First, k.Last, k.Name, k.Doc, text)
			}
		}
		b := s.Display()
		page, _ := b.Data["text/html"].(string)
		if b.Data["text/plain"] != s.Code || !strings.Contains(page, s.Kernels[1].Name) || !strings.Contains(page, "<pre") {
			t.Errorf("%s: the display lacks something:\n%.500s", lang, page)
		}
		last := s.Kernels[len(s.Kernels)-1]
		one, err := s.Of(last.Value)
		if err != nil {
			t.Fatal(err)
		}
		text := display.ToBundle(one).Data["text/plain"].(string)
		if !strings.Contains(text, last.Name) || strings.Contains(text, s.Lines(s.Kernels[0])) {
			t.Errorf("%s: the kernels of %s are\n%s", lang, last.Value, text)
		}
	}
	if want := []string{"loop", "c", "cuda", "triton", "wgsl"}; !slices.Equal(forge.KernelLanguages(), want) {
		t.Errorf("languages are %v, want %v", forge.KernelLanguages(), want)
	}
}

// TestCopiesHaveSources sees the copy of a result, which is of no node, by what it does.
func TestCopiesHaveSources(t *testing.T) {
	p, err := forge.Compile("def both(x: f32[3]): return x, x + 1\n", forge.OnBackend("interp"))
	if err != nil {
		t.Fatal(err)
	}
	for lang, doc := range map[string]string{"c": "the copy of an input to a result", "wgsl": "the copy of a result"} {
		s, err := p.KernelSource(lang)
		if err != nil {
			t.Fatal(err)
		}
		if page := s.Display().Data["text/html"].(string); !strings.Contains(page, "copy_1 computes "+doc) {
			t.Errorf("%s: the page does not say what copy_1 computes", lang)
		}
	}
}

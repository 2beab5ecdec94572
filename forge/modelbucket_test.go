package forge_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"forgekernel/forge"
	"forgekernel/forge/tensor"
)

// unpacked is the path of a .pt2 file of the fixtures of package pt2.
func unpacked(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open("pt2/testdata/" + name + ".pt2.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name+".pt2")
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A bounded dimension along which results do not depend on one another has a program for
// each power of two, and the bound for the last.
func TestBuckets(t *testing.T) {
	exact, bucketed := open(t, glyphs), open(t, glyphs, forge.AtMost("batch", 6))
	for _, c := range []struct{ batch, programs int }{{1, 1}, {3, 2}, {4, 2}, {5, 3}, {6, 3}, {3, 3}, {7, 4}} {
		in := map[string]*forge.Tensor{"images": forge.Rand(c.batch, 1, 8, 8), "k": guesses(2)}
		want, err := exact.Run(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := bucketed.Run(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !tensor.Identical(got[i].Tensor, want[i].Tensor) {
				t.Errorf("batch %d: %s is %v, not %v", c.batch, got[i].Name, got[i].Tensor, want[i].Tensor)
			}
		}
		if n := bucketed.Cache().Programs; n != c.programs {
			t.Errorf("after batch %d there are %d programs, not %d", c.batch, n, c.programs)
		}
	}
	if want := []string{
		"batch = 3 runs in the program for 4: results along it do not depend on one another",
		"batch = 5 runs in the program for 6: results along it do not depend on one another",
	}; !slices.Equal(bucketed.Buckets(), want) {
		t.Errorf("buckets %q", bucketed.Buckets())
	}
	if exact.Buckets() != nil {
		t.Errorf("a model without bounds has buckets %q", exact.Buckets())
	}
}

// The range of a .pt2 file is a bound. This one computes with the number of rows, so that
// each has a program of its own.
func TestBucketsOfRanges(t *testing.T) {
	m := open(t, unpacked(t, "mlp"))
	for _, rows := range []int{3, 4, 2} {
		x := forge.Rand(rows, 4)
		y, err := m.Run(t.Context(), map[string]*forge.Tensor{"x": x})
		if err != nil {
			t.Fatal(err)
		}
		p := m.Specialize(forge.Binding{Shapes: map[string][]int{"x": {rows, 4}}})
		if want, err := p.RunAll(t.Context(), x); err != nil || !tensor.Identical(y[0].Tensor, want[0]) {
			t.Errorf("%d rows: %v, not %v, %v", rows, y[0].Tensor, want, err)
		}
	}
	if want := []string{"s77 = 3 has a program of its own: %22 = const: its elements depend on the number of rows"}; !slices.Equal(m.Buckets(), want) {
		t.Errorf("buckets %q", m.Buckets())
	}
}

// What mixes the rows of a dimension keeps a program for each length, and says so.
func TestNoBuckets(t *testing.T) {
	m := open(t, unpacked(t, "views"), forge.AtMost("s17", 8))
	if _, err := m.Run(t.Context(), map[string]*forge.Tensor{"x": forge.Rand(3, 7), "y": forge.Rand(3, 14)}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"s17 = 3 has a program of its own: output %reshape: rows are joined with other dimensions"}; !slices.Equal(m.Buckets(), want) {
		t.Errorf("buckets %q", m.Buckets())
	}
}

package pt2

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/importer"
	"forgekernel/forge/tensor"
)

// fixtures is where testdata/fixtures.py wrote what the tests read.
const fixtures = "testdata"

// Tolerances against PyTorch, which computes in float32 as the interpreter does.
const (
	relTolerance = 1e-5
	absTolerance = 1e-5
)

func unzipped(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
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
	return raw
}

func readModel(t testing.TB, dir, name string) *Model {
	t.Helper()
	m, err := Read(name+".pt2", unzipped(t, filepath.Join(dir, name+".pt2.gz")))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func readArrays(t testing.TB, path string) map[string]*tensor.Tensor {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, err := tensor.ReadNPZ(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	arrays := make(map[string]*tensor.Tensor)
	for _, n := range list {
		arrays[n.Name] = n.Tensor
	}
	return arrays
}

// given are the inputs among arrays.
func given(arrays map[string]*tensor.Tensor) map[string]*tensor.Tensor {
	values := make(map[string]*tensor.Tensor)
	for name, v := range arrays {
		if in, ok := strings.CutPrefix(name, "in_"); ok {
			values[in] = v
		}
	}
	return values
}

// run computes a program on values by name.
func run(p *importer.Program, values map[string]*tensor.Tensor) ([]*tensor.Tensor, error) {
	x, err := interp.New().Compile(context.Background(), p.Graph)
	if err != nil {
		return nil, err
	}
	var in []*tensor.Tensor
	for _, name := range p.Inputs {
		in = append(in, values[name])
	}
	return x.Run(context.Background(), in...)
}

func closeTo(got, want *tensor.Tensor) error {
	if !slices.Equal(got.Shape(), want.Shape()) {
		return fmt.Errorf("got %v%v, want %v%v", got.DType(), got.Shape(), want.DType(), want.Shape())
	}
	for i := range got.Len() {
		g, w := got.Elem(i), want.Elem(i)
		if g == w || math.IsNaN(g) && math.IsNaN(w) {
			continue
		}
		if diff := math.Abs(g - w); !(diff <= absTolerance+relTolerance*math.Abs(w)) {
			return fmt.Errorf("element %d of %v: got %v, want %v", i, got.Shape(), g, w)
		}
	}
	return nil
}

// check imports a fixture and compares every result with PyTorch's.
func check(t *testing.T, dir, name string) {
	arrays := readArrays(t, filepath.Join(dir, strings.TrimSuffix(name, ".core")+".npz"))
	m := readModel(t, dir, name)
	values := given(arrays)
	p, err := m.Graph(context.Background(), importer.Binding{Values: values})
	if err != nil {
		t.Fatal(err)
	}
	got, err := run(p, values)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		want := arrays[fmt.Sprintf("out_%d", i)]
		if want == nil {
			t.Fatalf("PyTorch gives no result %d", i)
		}
		if err := closeTo(got[i], want); err != nil {
			t.Errorf("result %d, %s: %v", i, p.Outputs[i], err)
		}
	}
	if arrays[fmt.Sprintf("out_%d", len(got))] != nil {
		t.Errorf("PyTorch gives more than %d results", len(got))
	}
}

var modules = []string{"mlp", "gpt", "cnn", "views", "elementwise", "logic", "activations", "shapes", "reductions", "indexing", "products", "images"}

// Every fixture gives PyTorch's results, as torch.export wrote it and decomposed.
func TestFixtures(t *testing.T) {
	for _, name := range modules {
		for _, form := range []string{name, name + ".core"} {
			t.Run(form, func(t *testing.T) { check(t, fixtures, form) })
		}
	}
}

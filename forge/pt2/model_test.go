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
	"sync"
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

var modules = []string{"mlp", "gpt", "cnn", "sizes", "changes", "recurrent", "views", "elementwise", "logic", "narrow", "others", "activations", "shapes", "reductions", "indexing", "products", "images"}

// Every fixture gives PyTorch's results, as torch.export wrote it and decomposed.
func TestFixtures(t *testing.T) {
	for _, name := range modules {
		for _, form := range []string{name, name + ".core"} {
			t.Run(form, func(t *testing.T) { check(t, fixtures, form) })
		}
	}
}

func binding(values map[string]*tensor.Tensor) importer.Binding {
	return importer.Binding{Values: values}
}

// What a file says of itself, before anything is imported.
func TestDeclarations(t *testing.T) {
	for name, want := range map[string]string{
		"mlp":   "x: f32[s77,4] -> view, sym_size_int_1",
		"gpt":   "ids: i64[2,6] -> linear_8",
		"sizes": "x: f32[2*s44,4] n: i64[] limit: i64[] -> sum_1, mul_1, sum_2, max_1",
	} {
		m := readModel(t, fixtures, name)
		var words []string
		for _, in := range m.Inputs() {
			words = append(words, in.String())
		}
		if got := strings.Join(words, " ") + " -> " + strings.Join(m.Outputs(), ", "); got != want {
			t.Errorf("%s: %s; want %s", name, got, want)
		}
		if got := m.Format(); !strings.HasPrefix(got, "torch.export, schema 8.") || !strings.Contains(got, "written by PyTorch 2.") {
			t.Errorf("%s: format %q", name, got)
		}
	}
}

// Open sizes are bound by name or by shapes, and all that depends on them follows.
func TestBindings(t *testing.T) {
	for _, c := range []struct {
		model string
		b     importer.Binding
		want  string // the shape of result 0, or an error
	}{
		{"mlp", importer.Binding{Dims: map[string]int{"s77": 1}}, "[1,2,2]"},
		{"mlp", importer.Binding{Shapes: map[string][]int{"x": {64, 4}}}, "[64,2,2]"},
		{"mlp", importer.Binding{Dims: map[string]int{"s77": 5}, Shapes: map[string][]int{"x": {64, 4}}}, "s77 is bound to 5"},
		{"mlp", importer.Binding{Dims: map[string]int{"batch": 5}}, `no open dimension "batch"; there are s77`},
		{"mlp", importer.Binding{Shapes: map[string][]int{"twice": {}}}, `no input "twice"`},
		{"views", importer.Binding{Shapes: map[string][]int{"x": {2, 7}, "y": {3, 14}}}, "y"},
		{"views", importer.Binding{Shapes: map[string][]int{"x": {4, 9}, "y": {4, 11}}}, "[36]"},
	} {
		m := readModel(t, fixtures, c.model)
		p, err := m.Graph(context.Background(), c.b)
		got := fmt.Sprint(err)
		if err == nil {
			got = tensor.FormatShape(p.Graph.Outputs[0].Spec.Shape)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s, %v: %s; want %s", c.model, c.b, got, c.want)
		}
	}
}

// A size that is an expression is settled by its symbol or by the shape, which must be
// such a number. Numbers, and tensors that numbers are made of, become a part of the
// program.
func TestNumbers(t *testing.T) {
	m := readModel(t, fixtures, "sizes")
	values := given(readArrays(t, filepath.Join(fixtures, "sizes.npz")))
	p, err := m.Graph(context.Background(), binding(values))
	if err != nil {
		t.Fatal(err)
	}
	var bound []string
	for _, b := range p.Bound {
		bound = append(bound, b.Input+" for "+b.For)
	}
	if got := strings.Join(bound, "; "); !strings.HasPrefix(got, `n for a size; limit for self of aten.item.default "item" (fixtures.py:`) {
		t.Errorf("bound: %s", got)
	}
	if len(p.Inputs) != 1 || p.Inputs[0] != "x" {
		t.Errorf("inputs %v", p.Inputs)
	}
	only := func(names ...string) map[string]*tensor.Tensor {
		list := make(map[string]*tensor.Tensor)
		for _, name := range names {
			list[name] = values[name]
		}
		return list
	}
	scalar := map[string][]int{"limit": {}, "n": {}}
	for _, c := range []struct {
		b    importer.Binding
		want string
	}{
		{importer.Binding{Values: only("n", "limit"), Dims: map[string]int{"s44": 4}}, "<nil>"},
		{importer.Binding{Values: only("n", "limit"), Dims: map[string]int{"s44": 9}}, "2*s44 is 18; the program was exported for at most 16"},
		{importer.Binding{Values: only("n", "limit"), Shapes: map[string][]int{"x": {7, 4}}}, "depends on s44"},
		{importer.Binding{Values: only("n", "limit")}, "2*s44, is open"},
		{importer.Binding{Values: only("limit"), Dims: map[string]int{"s44": 4}, Shapes: scalar}, "input n: it is a number that the program is compiled for"},
		{importer.Binding{Values: only("n"), Dims: map[string]int{"s44": 4}, Shapes: scalar}, `give a value for input "limit"`},
		{importer.Binding{Values: map[string]*tensor.Tensor{"n": values["n"], "limit": tensor.Scalar(tensor.I64, 5)}, Dims: map[string]int{"s44": 4}}, "u0 is 5; the program was exported for at most 4"},
	} {
		if _, err := m.Graph(context.Background(), c.b); !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%v: %v; want %s", c.b, err, c.want)
		}
	}
}

// Tied weights are one constant, and every node knows its line of Python.
func TestWeightsAndPositions(t *testing.T) {
	m := readModel(t, fixtures, "gpt")
	p, err := m.Graph(context.Background(), importer.Binding{})
	if err != nil {
		t.Fatal(err)
	}
	uses := p.Graph.Uses()
	for _, n := range p.Graph.Nodes {
		if n.Op.Name == "gather" && n.In[0].Spec.Shape[0] == 16 && len(uses[n.In[0]]) != 2 {
			t.Errorf("the tied weight has %d readers instead of two", len(uses[n.In[0]]))
		}
		if n.Op.Name == "sdpa" {
			line := sourceLine(t, n.Pos[0].Source, n.Pos[0].Line)
			if !strings.Contains(line, "scaled_dot_product_attention(q, k, v") {
				t.Errorf("sdpa stands at %v: %s", n.Pos[0], line)
			}
		}
	}
}

func sourceLine(t *testing.T, source string, line int) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(fixtures, source))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(raw), "\n")
	if line < 1 || line > len(lines) {
		t.Fatalf("%s has no line %d", source, line)
	}
	return lines[line-1]
}

// A value that a later node changed is refused, since the import would read what it was
// before; decomposed, the program has no changes.
func TestChanges(t *testing.T) {
	_, err := readModel(t, fixtures, "stale").Graph(context.Background(), importer.Binding{})
	want := `"mul" is read after aten.fill_.Scalar "fill_" (fixtures.py:`
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "run_decompositions()") {
		t.Errorf("error %v; want %s", err, want)
	}
	check(t, fixtures, "stale.core")
}

// One model is imported by several goroutines at once.
func TestConcurrentImports(t *testing.T) {
	m := readModel(t, fixtures, "mlp")
	hashes := make([]string, 4)
	var wait sync.WaitGroup
	for i := range hashes {
		wait.Go(func() {
			p, err := m.Graph(context.Background(), importer.Binding{Dims: map[string]int{"s77": 3}})
			if err != nil {
				t.Error(err)
				return
			}
			hashes[i] = p.Graph.Hash()
		})
	}
	wait.Wait()
	if len(slices.Compact(hashes)) != 1 {
		t.Errorf("imports differ: %v", hashes)
	}
}

// A file is mapped, and what was imported from it outlives it.
func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cnn.pt2")
	if err := os.WriteFile(path, unzipped(t, filepath.Join(fixtures, "cnn.pt2.gz")), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	arrays := readArrays(t, filepath.Join(fixtures, "cnn.npz"))
	p, err := m.Graph(context.Background(), importer.Binding{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := run(p, given(arrays))
	if err != nil {
		t.Fatal(err)
	}
	if err := closeTo(got[0], arrays["out_0"]); err != nil {
		t.Error(err)
	}
	if _, err := m.Graph(context.Background(), importer.Binding{}); err == nil || !strings.Contains(err.Error(), "is closed") {
		t.Errorf("a closed model is imported: %v", err)
	}
}

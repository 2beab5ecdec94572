package onnx

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/importer"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

// nodeTests is where the distribution's package libonnx-testdata puts the cases of
// the ONNX project.
const nodeTests = "/usr/share/libonnx-testdata/data/node"

var update = flag.Bool("update", false, "write ONNX.md and the manifest of the node tests anew, keeping reasons")

// Tolerances of the reference runner.
const (
	relTolerance = 1e-3
	absTolerance = 1e-7
)

// runCase imports a case and compares every output of every data set.
func runCase(dir string) error {
	m, err := Open(filepath.Join(dir, "model.onnx"))
	if err != nil {
		return err
	}
	defer m.Close()
	sets, err := filepath.Glob(filepath.Join(dir, "test_data_set_*"))
	if err != nil || len(sets) == 0 {
		return fmt.Errorf("there are no data sets: %v", err)
	}
	for _, set := range sets {
		if err := runSet(m, set); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(set), err)
		}
	}
	return nil
}

func runSet(m *Model, set string) error {
	got, err := runOn(m, set)
	if err != nil {
		return err
	}
	for i, name := range m.Outputs() {
		want, err := readTensor(filepath.Join(set, fmt.Sprintf("output_%d.pb", i)))
		if err != nil {
			return err
		}
		if err := closeTo(got[i], want); err != nil {
			return fmt.Errorf("output %s: %w", name, err)
		}
	}
	return nil
}

func readTensor(path string) (*tensor.Tensor, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := proto.DecodeTensor(raw)
	if err != nil {
		return nil, err
	}
	return decode(t, &externalFiles{})
}

// closeTo compares as the reference runner does: types and shapes must be equal.
func closeTo(got, want *tensor.Tensor) error {
	if got.DType() != want.DType() || !slices.Equal(got.Shape(), want.Shape()) {
		return fmt.Errorf("got %v%v, want %v%v", got.DType(), got.Shape(), want.DType(), want.Shape())
	}
	for i := range got.Len() {
		g, w := got.Elem(i), want.Elem(i)
		if g == w || math.IsNaN(g) && math.IsNaN(w) {
			continue
		}
		if diff := math.Abs(g - w); !(diff <= absTolerance+relTolerance*math.Abs(w)) {
			return fmt.Errorf("element %d: got %v, want %v", i, g, w)
		}
	}
	return nil
}

// TestNodes runs every case of the test data. The manifest lists those that do not
// pass, each with its reason; a case that is listed and passes fails the test.
func TestNodes(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(nodeTests, "*"))
	if err != nil || len(dirs) == 0 {
		t.Skip("the package libonnx-testdata is not installed")
	}
	skips := readManifest(t)
	var lines []string
	passed := 0
	for _, dir := range dirs {
		name := filepath.Base(dir)
		reason, listed := skips[name]
		err := runCase(dir)
		switch {
		case err == nil && listed && !*update:
			t.Errorf("%s passes now: take it off the manifest (%s)", name, reason)
		case err == nil:
			passed++
		default:
			if !listed {
				reason = strings.ReplaceAll(err.Error(), "\n", " ")
				if !*update {
					t.Errorf("%s: %v", name, err)
				}
			}
			lines = append(lines, name+"\t"+reason)
		}
	}
	t.Logf("%d of %d cases pass", passed, len(dirs))
	if *update {
		if err := os.WriteFile(manifestFile, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Cases named _expanded state an operator in others, as its definition does: both
// forms must agree on the same operands.
func TestExpanded(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(nodeTests, "*_expanded*"))
	if err != nil || len(dirs) == 0 {
		t.Skip("the package libonnx-testdata is not installed")
	}
	skips := readManifest(t)
	compared := 0
	for _, dir := range dirs {
		fused, _, _ := strings.Cut(dir, "_expanded")
		_, skip := skips[filepath.Base(fused)]
		_, skipExpanded := skips[filepath.Base(dir)]
		if skip || skipExpanded { // TestNodes has the reasons
			continue
		}
		if err := compareForms(fused, dir); err != nil {
			t.Errorf("%s: %v", filepath.Base(dir), err)
		}
		compared++
	}
	t.Logf("%d of %d expanded cases were compared", compared, len(dirs))
	if compared < 85 {
		t.Errorf("only %d expanded cases were compared", compared)
	}
}

// compareForms runs both forms on the first data set.
func compareForms(fused, expanded string) error {
	var outputs [2][]*tensor.Tensor
	for i, dir := range []string{fused, expanded} {
		m, err := Open(filepath.Join(dir, "model.onnx"))
		if err != nil {
			return err
		}
		defer m.Close()
		if outputs[i], err = runOn(m, filepath.Join(fused, "test_data_set_0")); err != nil {
			return err
		}
	}
	if len(outputs[0]) != len(outputs[1]) {
		return fmt.Errorf("%d and %d outputs", len(outputs[0]), len(outputs[1]))
	}
	for i, want := range outputs[0] {
		if err := closeTo(outputs[1][i], want); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

// runOn runs a model on the inputs of a data set.
func runOn(m *Model, set string) ([]*tensor.Tensor, error) {
	values := make(map[string]*tensor.Tensor)
	for i, in := range m.Inputs() {
		t, err := readTensor(filepath.Join(set, fmt.Sprintf("input_%d.pb", i)))
		if err != nil {
			return nil, err
		}
		values[in.Name] = t
	}
	p, err := m.Graph(context.Background(), importer.Binding{Values: values})
	if err != nil {
		return nil, err
	}
	return execute(p, values)
}

// execute runs a program by the interpreter.
func execute(p *importer.Program, values map[string]*tensor.Tensor) ([]*tensor.Tensor, error) {
	x, err := interp.New().Compile(context.Background(), p.Graph)
	if err != nil {
		return nil, err
	}
	var inputs []*tensor.Tensor
	for _, name := range p.Inputs {
		inputs = append(inputs, values[name])
	}
	return x.Run(context.Background(), inputs...)
}

const manifestFile = "testdata/nodes.tsv"

// readManifest reads the cases that do not pass: name, tab, reason.
func readManifest(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(manifestFile)
	if err != nil {
		t.Fatal(err)
	}
	skips := make(map[string]string)
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		if line == "" {
			continue
		}
		name, reason, ok := strings.Cut(line, "\t")
		if !ok || reason == "" {
			t.Fatalf("%s: %q has no reason", manifestFile, line)
		}
		skips[name] = reason
	}
	return skips
}

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

var update = flag.Bool("update", false, "write the manifest of the node tests anew, keeping reasons")

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
	values := make(map[string]*tensor.Tensor)
	for i, in := range m.Inputs() {
		t, err := readTensor(filepath.Join(set, fmt.Sprintf("input_%d.pb", i)))
		if err != nil {
			return err
		}
		values[in.Name] = t
	}
	p, err := m.Graph(context.Background(), importer.Binding{Values: values})
	if err != nil {
		return err
	}
	var inputs, want []*tensor.Tensor
	for _, name := range p.Inputs {
		inputs = append(inputs, values[name])
	}
	for i := range p.Outputs {
		t, err := readTensor(filepath.Join(set, fmt.Sprintf("output_%d.pb", i)))
		if err != nil {
			return err
		}
		want = append(want, t)
	}
	return runProgram(p, inputs, want...)
}

// runProgram compares the outputs of a program.
func runProgram(p *importer.Program, inputs []*tensor.Tensor, want ...*tensor.Tensor) error {
	x, err := interp.New().Compile(context.Background(), p.Graph)
	if err != nil {
		return err
	}
	got, err := x.Run(context.Background(), inputs...)
	if err != nil {
		return err
	}
	for i, name := range p.Outputs {
		if err := closeTo(got[i], want[i]); err != nil {
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

package compile

import (
	"errors"
	"testing"

	"fmt"
	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/triton"
	"forgekernel/forge/ir"
	"strings"
)

// compiler is the Python with Triton, without which a test is skipped.
func compiler(t testing.TB) *Compiler {
	t.Helper()
	c, err := Open(t.Context())
	var missing *Missing
	if errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConformance(t *testing.T) {
	c := compiler(t)
	seen := make(map[string]bool)
	var jobs []Job
	var graphs []*ir.Graph
	for g, err := range conformance.Programs() {
		if err != nil {
			t.Fatal(err)
		}
		if kind := kindOf(g); seen[kind] {
			continue
		} else {
			seen[kind] = true
		}
		m, err := triton.Source(g)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range m.Kernels {
			aligned := make([]bool, len(k.Arguments))
			for i := range aligned {
				aligned[i] = true
			}
			jobs = append(jobs, Job{k, 0, aligned})
			graphs = append(graphs, g)
		}
	}
	list, err := c.Compile(t.Context(), jobs, 90)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range list {
		if b.Error != "" {
			t.Errorf("%v\n%s\n%s", graphs[i], jobs[i].Kernel.Text, b.Error)
		}
	}
	t.Logf("%d kernels of %d kinds", len(jobs), len(seen))
}

func kindOf(g *ir.Graph) string {
	var b strings.Builder
	for _, n := range g.Nodes {
		b.WriteString(n.Op.Name)
		for _, v := range n.In {
			fmt.Fprintf(&b, " %v", v.Spec.DType)
		}
		b.WriteString(";")
	}
	return b.String()
}

package compile

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/triton"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
	"forgekernel/forge/suite"
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

// named reports whether somebody wants all of Triton's tests, which take minutes.
func named() bool { return os.Getenv("FORGE_TRITON_PYTHON") != "" && !testing.Short() }

// jobs are the kernels of a module, each as all of its candidates.
func jobs(m *triton.Module) []Job {
	var list []Job
	for _, k := range m.Kernels {
		aligned := make([]bool, len(k.Arguments))
		for i := range aligned {
			aligned[i] = i%2 == 0
		}
		for i := range k.Candidates {
			list = append(list, Job{k, i, aligned})
		}
	}
	return list
}

// compileAll fails the test for every job that Triton refuses or whose machine code no
// device of the architecture can launch.
func compileAll(t *testing.T, c *Compiler, list []Job, capability, shared int) {
	t.Helper()
	made, err := c.Compile(t.Context(), list, capability)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range made {
		j := list[i]
		launch := j.Kernel.Candidates[j.Candidate]
		switch {
		case b.Error != "":
			t.Errorf("%s as %v: %s\n%s", j.Kernel.Name, launch, b.Error, j.Kernel.Text)
		case b.Warps != launch.Warps:
			t.Errorf("%s as %v has %d warps", j.Kernel.Name, launch, b.Warps)
		case b.Shared > shared:
			t.Logf("%s as %v wants %d bytes of shared memory, and sm_%d has %d", j.Kernel.Name, launch, b.Shared, capability, shared)
		}
	}
}

// TestSuite compiles all candidates of all kernels of the suite's models.
func TestSuite(t *testing.T) {
	c := compiler(t)
	for _, target := range []struct{ capability, shared int }{{80, 163 << 10}, {90, 227 << 10}} {
		t.Run(fmt.Sprintf("sm_%d", target.capability), func(t *testing.T) {
			var list []Job
			for _, name := range suite.Names() {
				g, err := suite.Build(name)
				if err != nil {
					t.Fatal(err)
				}
				r, err := pass.Run(g, pass.Options{})
				if err != nil {
					t.Fatal(err)
				}
				m, err := triton.Source(r.Graph)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, jobs(m)...)
			}
			if !named() {
				list = list[:8]
			}
			compileAll(t, c, list, target.capability, target.shared)
			t.Logf("%d candidates", len(list))
		})
	}
}

// TestConformance compiles a kernel for each combination of operator, element types and
// form of the conformance suite; with FORGE_CONFORMANCE=full, all of them.
func TestConformance(t *testing.T) {
	if !named() {
		t.Skip("it takes minutes, and is for a Python that FORGE_TRITON_PYTHON names")
	}
	c := compiler(t)
	seen := make(map[string]bool)
	var list []Job
	for g, err := range conformance.Programs() {
		if err != nil {
			t.Fatal(err)
		}
		m, err := triton.Source(g)
		if err != nil {
			t.Fatal(err)
		}
		kind := kindOf(g)
		if len(m.Kernels) == 0 || seen[kind] && os.Getenv("FORGE_CONFORMANCE") != "full" {
			continue
		}
		seen[kind] = true
		for _, k := range m.Kernels {
			list = append(list, Job{k, 0, make([]bool, len(k.Arguments))})
		}
	}
	compileAll(t, c, list, 90, 227<<10)
	t.Logf("%d kernels of %d combinations", len(list), len(seen))
}

// kindOf names the operators of a graph and the types of their operands.
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

// TestKept sees that machine code is made once, and that what depends on it is in its
// name.
func TestKept(t *testing.T) {
	c := compiler(t)
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	list := jobs(example(t))[:1]
	first, err := c.Compile(t.Context(), list, 90)
	if err != nil {
		t.Fatal(err)
	}
	broken := *c
	broken.Python = "/nonexistent"
	again, err := broken.Compile(t.Context(), list, 90)
	if err != nil || string(again[0].Cubin) != string(first[0].Cubin) {
		t.Errorf("what was kept is not found: %v", err)
	}
	if _, err := broken.Compile(t.Context(), list, 80); err == nil {
		t.Error("the machine code of another architecture is taken")
	}
	unaligned := []Job{list[0]}
	unaligned[0].Aligned = make([]bool, len(list[0].Aligned))
	if _, err := broken.Compile(t.Context(), unaligned, 90); err == nil {
		t.Error("machine code for other addresses is taken")
	}
}

// example is a module of one kernel.
func example(t testing.TB) *triton.Module {
	t.Helper()
	g, err := ir.Parse(op.Registry, "graph f(%x: f32[100], %z: f32[100]) {\n %y: f32[100] = maximum %x, %z\n return %y\n}")
	if err != nil {
		t.Fatal(err)
	}
	m, err := triton.Source(g)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

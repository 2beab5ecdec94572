package cuda

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/backend/cuda/nvrtc"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// compiler is NVRTC, without which a test is skipped.
func compiler(t testing.TB) *nvrtc.Compiler {
	t.Helper()
	c, err := nvrtc.Open()
	var missing *library.Missing
	if errors.As(err, &missing) {
		t.Skip("there is no NVRTC: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCompile compiles kernels of the conformance suite for every architecture, which
// needs no GPU: one for each combination of operator, element types and form, and with
// FORGE_CONFORMANCE=full all of them.
func TestCompile(t *testing.T) {
	c := compiler(t)
	for _, arch := range nvrtc.Architectures {
		t.Run(arch, func(t *testing.T) {
			u, seen := newUnit(targetFor(t, arch)), make(map[string]bool)
			for g, err := range conformance.Programs() {
				if err != nil {
					t.Fatal(err)
				}
				kind := kindOf(g)
				if os.Getenv("FORGE_CONFORMANCE") != "full" && seen[kind] {
					continue
				}
				if _, err = newProgram(u, g, DefaultMaxBytes, nil); err != nil {
					t.Fatal(err)
				}
				seen[kind] = true
			}
			t.Logf("%d kernels of %d combinations, %d KB", len(u.known), len(seen), len(u.text())>>10)
			if len(seen) < 100 {
				t.Errorf("the suite has %d combinations", len(seen))
			}
			cubin, err := c.Compile(u.sourceFor(arch))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d KB", len(cubin)>>10)
		})
	}
}

func targetFor(t testing.TB, arch string) target {
	t.Helper()
	made, err := parseTarget(arch)
	if err != nil {
		t.Fatal(err)
	}
	return made
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

// TestUnsupported sees that all nodes that cannot run are named, here those for which a
// selector picks what there is not.
func TestUnsupported(t *testing.T) {
	g, err := ir.Parse(op.Registry, `graph two(%q: f32[1,2,64,32]) {
  %0: f32[1,2,64,32] = sdpa %q, %q, %q
  %1: f32[1,2,64,32] = exp %0
  %2: f32[1,2,64,32] = sdpa %1, %1, %1
  return %2
}`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = newProgram(newUnit(targetFor(t, "sm_80")), g, DefaultMaxBytes, func(n *ir.Node, list []Candidate) (int, string) {
		if n.Op.Name == "sdpa" {
			return len(list), ""
		}
		return 0, ""
	})
	if un := (*Unsupported)(nil); !errors.As(err, &un) || len(un.Reasons) != 2 || !strings.HasPrefix(un.Reasons[0], "%0 = sdpa: candidate ") || !strings.HasPrefix(un.Reasons[1], "%2 = sdpa: candidate ") {
		t.Errorf("error %v", err)
	}
}

// TestSource pins the text of a kernel of each form.
func TestSource(t *testing.T) {
	g, err := ir.Parse(op.Registry, `graph forms(%x: f32[64,100], %w: f32[100,20]) {
  %0: f32[64,100] = softmax %x {axis = 1}
  %1: f32[64,20] = matmul %0, %w
  %2: f32[64,20] = tanh %1
  return %2
}`)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Source(g, "sm_80")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"__launch_bounds__(128) softmax_0(float *p0, const float *p1, int *fault, int step)", "move_<16>(t0[part], p1",
		"s0 = fold_max_f32<32>(s0);", " matmul_1(",
		"__launch_bounds__(256) tanh_2(", "= v_tanh(",
	} {
		if !strings.Contains(s.Text, part) {
			t.Errorf("the source lacks %q", part)
		}
	}
}

package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/triton/compile"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// onTriton picks the n-th kernel of Triton for each node that has one.
func onTriton(n int) Selector {
	return func(_ *ir.Node, list []Candidate) (int, string) {
		var found []int
		for i, c := range list {
			if strings.HasPrefix(c.Name, "Triton") {
				found = append(found, i)
			}
		}
		if found == nil {
			return 0, ""
		}
		return found[n%len(found)], "the test wants Triton"
	}
}

// tritonOf is the backend on Triton's kernels, without which a test is skipped.
func tritonOf(t testing.TB, n int) *Backend {
	t.Helper()
	b := *device(t)
	_, err := b.Triton()
	var missing *compile.Missing
	if errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.Select = onTriton(n)
	return &b
}

// byTriton runs programs whose kernels of Triton have been compiled, and the others on
// the interpreter.
type byTriton struct {
	*Backend
	compiled map[string]bool // by the text of the graph
	ran      map[string]int  // by operator
}

func (b byTriton) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	if !b.compiled[g.String()] {
		return interp.New().Compile(ctx, g)
	}
	b.ran[g.Nodes[len(g.Nodes)-1].Op.Name]++
	return b.Backend.Compile(ctx, g)
}

// compileSuite has Triton compile programs of the conformance suite, side by side: one
// for each combination of operators and types, and with
// FORGE_CONFORMANCE=full all of them.
func compileSuite(t *testing.T, b *Backend) map[string]bool {
	c, err := b.Triton()
	if err != nil {
		t.Fatal(err)
	}
	var jobs []compile.Job
	compiled, seen := make(map[string]bool), make(map[string]bool)
	for g, err := range conformance.Programs() {
		if err != nil {
			t.Fatal(err)
		}
		p, err := newProgram(b.unit(), g, b.MaxBytes, b.Select)
		if err != nil {
			continue
		}
		var more []compile.Job
		for _, s := range p.steps {
			if s.machine == nil {
				more = nil
				break
			}
			more = append(more, s.machine.job)
		}
		if kind := kindOf(g); more != nil && (!seen[kind] || os.Getenv("FORGE_CONFORMANCE") == "full") {
			seen[kind], compiled[g.String()] = true, true
			jobs = append(jobs, more...)
		}
	}
	t.Logf("%d kernels of %d combinations", len(jobs), len(seen))
	if _, err := c.Compile(t.Context(), jobs, int(b.Context.Capability)); err != nil {
		t.Fatal(err)
	}
	return compiled
}

// TestTriton runs the conformance suite on kernels of Triton, as their first candidates
// and as others.
func TestTriton(t *testing.T) {
	for n := range 3 {
		t.Run(fmt.Sprintf("candidate %d", n), func(t *testing.T) {
			b := tritonOf(t, n)
			on := byTriton{b, compileSuite(t, b), make(map[string]int)}
			for _, o := range op.Registry.All() {
				if o.Class == ir.Transfer {
					continue
				}
				for _, d := range conformance.Types(o) {
					t.Run(fmt.Sprintf("%s/%v", o.Name, d), func(t *testing.T) { conformance.RunOperator(t, on, o, d) })
				}
			}
			if len(on.ran) < 30 {
				t.Errorf("%d operators ran", len(on.ran))
			}
			t.Log(on.ran)
		})
	}
}

// TestTritonMissing sees that a host without Triton says so in the plan, that nothing of
// it is offered, and that a record's pick of it is not taken for another's.
func TestTritonMissing(t *testing.T) {
	u := newUnit(targetFor(t, "sm_90"))
	u.offerTriton(func() (*compile.Compiler, error) { return nil, &compile.Missing{Reason: "python3 is not there"} })
	g := parsed(t, "graph f(%x: f32[8,9]) {\n %y: f32[8,9] = exp %x\n return %y\n}")
	p, err := newProgram(u, g, DefaultMaxBytes, onTriton(0))
	if err != nil {
		t.Fatal(err)
	}
	if said := fmt.Sprint(p.kernels); !strings.Contains(said, "there is no Triton: python3 is not there") {
		t.Errorf("the plan is %s", said)
	}
}

// TestTritonOffered sees what is offered without a device: candidates behind the loop
// nest, in whose place none is taken unless it is picked.
func TestTritonOffered(t *testing.T) {
	var names []string
	look := func(_ *ir.Node, list []Candidate) (int, string) {
		for _, c := range list {
			names = append(names, c.Name)
		}
		return 0, ""
	}
	u := newUnit(targetFor(t, "sm_75"))
	u.offerTriton(func() (*compile.Compiler, error) { return &compile.Compiler{}, nil })
	g := parsed(t, `graph f(%x: f32[8,9], %h: bf16[8,9]) {
  %y: f32[8,9] = atan %x
  %z: bf16[8,9] = atan %h
  return %y, %z
}`)
	p, err := newProgram(u, g, DefaultMaxBytes, look)
	if err != nil {
		t.Fatal(err)
	}
	if at := slices.Index(names, "atan, CUDA C"); at < 0 || len(names) < at+2 || names[at+1] != "Triton, BLOCK=1024, 4 warps, 1 stages" {
		t.Errorf("candidates are %q", names)
	}
	if s := p.steps[0]; s.machine != nil {
		t.Errorf("%v runs by Triton and was not picked", s)
	}
	if said := fmt.Sprint(p.kernels); !strings.Contains(said, "Triton: bf16 needs sm_80, and this is sm_75") {
		t.Errorf("the plan is %s", said)
	}
}

package cuda

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
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

// byTriton runs what has kernels of Triton, and skips the rest.
type byTriton struct {
	*Backend
	t   *testing.T
	ran map[string]int
}

func (b byTriton) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	p, err := newProgram(b.unit(), g, b.MaxBytes, b.Select)
	if un := (*Unsupported)(nil); errors.As(err, &un) {
		b.t.Skip(err)
	}
	if err != nil {
		return nil, err
	}
	for _, s := range p.steps {
		if s.machine == nil {
			b.t.Skipf("%v has no kernel of Triton: %v", s, p.kernels)
		}
		b.ran[s.node.Op.Name]++
	}
	return b.Backend.Compile(ctx, g)
}

// warm has Triton compile the kernels of all programs of the suite, side by side.
func warm(t *testing.T, b *Backend) {
	c, err := b.Triton()
	if err != nil {
		t.Fatal(err)
	}
	var jobs []compile.Job
	seen := make(map[string]bool)
	for g, err := range conformance.Programs() {
		if err != nil {
			t.Fatal(err)
		}
		p, err := newProgram(b.unit(), g, b.MaxBytes, b.Select)
		if err != nil {
			continue
		}
		for _, s := range p.steps {
			if s.machine != nil && !seen[s.machine.job.Kernel.Text] {
				seen[s.machine.job.Kernel.Text] = true
				jobs = append(jobs, s.machine.job)
			}
		}
	}
	t.Logf("%d kernels", len(jobs))
	const children = 12
	var wg sync.WaitGroup
	for i := range children {
		part := jobs[i*len(jobs)/children : (i+1)*len(jobs)/children]
		wg.Go(func() {
			if _, err := c.Compile(context.Background(), part, int(b.Context.Capability)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestTriton(t *testing.T) {
	b := tritonOf(t, 0)
	warm(t, b)
	ran := make(map[string]int)
	for _, o := range op.Registry.All() {
		if o.Class == ir.Transfer {
			continue
		}
		for _, d := range conformance.Types(o) {
			t.Run(fmt.Sprintf("%s/%v", o.Name, d), func(t *testing.T) {
				conformance.RunOperator(t, byTriton{b, t, ran}, o, d)
			})
		}
	}
	t.Log(ran)
}

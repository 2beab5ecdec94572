package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pass"
	"forgekernel/forge/suite"
	"forgekernel/forge/tensor"
)

// device is the backend of the first GPU, without which a test is skipped.
func device(t testing.TB) *Backend {
	t.Helper()
	b, err := New()
	var missing *library.Missing
	if errors.As(err, &missing) {
		t.Skip("there is no GPU, or no NVRTC: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.Overlap = os.Getenv("FORGE_OVERLAP") != ""
	b.Direct, _ = strconv.Atoi(os.Getenv("FORGE_DIRECT"))
	return b
}

// ahead is the backend with programs that were compiled many at once. It skips a test
// at a program that the backend refuses, with the reason.
type ahead struct {
	*Backend
	t     *testing.T
	ready map[string]prepared // by the text of the graph
}

type prepared struct {
	p     *program
	cubin *[]byte
}

func (a ahead) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	if r, known := a.ready[g.String()]; known {
		return newExecutable(ctx, a.memory, r.p, *r.cubin)
	}
	exe, err := a.Backend.Compile(ctx, g)
	if un := (*Unsupported)(nil); errors.As(err, &un) {
		a.t.Skip(err)
	}
	return exe, err
}

// batchSize is the number of programs in one file.
const batchSize = 40

// compileAhead compiles the suite's programs of an operator, batches side by side.
func compileAhead(t *testing.T, b *Backend, o *ir.Op) map[string]prepared {
	ready := make(map[string]prepared)
	var wg sync.WaitGroup
	target := b.unit().target
	u, cubin, count := newUnit(target), new([]byte), 0
	flush := func() {
		s, at := u.source(), cubin
		wg.Go(func() {
			made, err := b.Compiler.Compile(s)
			if err != nil {
				t.Error(err)
			}
			*at = made
		})
		u, cubin, count = newUnit(target), new([]byte), 0
	}
	for g, err := range conformance.Programs() {
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(g.Nodes, func(n *ir.Node) bool { return n.Op == o }) {
			continue
		}
		if p, err := newProgram(u, g, b.MaxBytes, b.Select); err == nil {
			ready[g.String()] = prepared{p, cubin}
			count++
		}
		if count == batchSize {
			flush()
		}
	}
	flush()
	wg.Wait()
	return ready
}

func TestConformance(t *testing.T) {
	b := device(t)
	t.Parallel()
	for _, o := range op.Registry.All() {
		if o.Class == ir.Transfer {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			ready := compileAhead(t, b, o)
			for _, d := range conformance.Types(o) {
				t.Run(d.String(), func(t *testing.T) {
					conformance.RunOperator(t, ahead{Backend: b, t: t, ready: ready}, o, d)
				})
			}
		})
	}
}

// TestContract is about executables, whatever they compute.
func TestContract(t *testing.T) {
	b := device(t)
	conformance.RunExecutable(t, b)
	t.Run("transfers", func(t *testing.T) {
		t.Skip("ranks of the suite are goroutines of one device; TestExchanges has two devices")
	})
}

// TestFaults sees that errors of a run read as they do on the interpreter, and that the
// device goes on.
func TestFaults(t *testing.T) {
	b := device(t)
	g, err := ir.Parse(op.Registry, `graph pick(%x: f32[7,5], %i: i64[3]) {
  %0: f32[3,5] = gather %x, %i {axis = 0}
  return %0
}`)
	if err != nil {
		t.Fatal(err)
	}
	x, err := tensor.Rand(1, 7, 5)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := b.Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	other, err := interp.New().Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	for _, places := range [][]int64{{0, 7, 1}, {-1, 2, 3}, {6, 0, 3}} {
		i, err := tensor.From([]int{3}, places)
		if err != nil {
			t.Fatal(err)
		}
		got, failed := exe.Run(t.Context(), x, i)
		want, wanted := other.Run(t.Context(), x, i)
		switch {
		case fmt.Sprint(failed) != fmt.Sprint(wanted):
			t.Errorf("indices %v: %v, want %v", places, failed, wanted)
		case wanted == nil && !tensor.Identical(got[0], want[0]):
			t.Errorf("indices %v: another result", places)
		}
	}
}

// TestSuite compares the models of the suite, optimised, with the float64 reference;
// the error may be a few times that of the interpreter.
func TestSuite(t *testing.T) {
	b := device(t)
	for _, name := range suite.Names() {
		t.Run(name, func(t *testing.T) {
			g, err := suite.Build(name)
			if err != nil {
				t.Fatal(err)
			}
			r, err := pass.Run(g, pass.Options{})
			if err != nil {
				t.Fatal(err)
			}
			in, err := suite.Inputs(r.Graph, 1)
			if err != nil {
				t.Fatal(err)
			}
			exe, err := b.Compile(t.Context(), r.Graph)
			if un := (*Unsupported)(nil); errors.As(err, &un) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			var out [3][]*tensor.Tensor
			for i, on := range []backend.Backend{interp.Reference(), interp.New()} {
				x, err := on.Compile(t.Context(), r.Graph)
				if err != nil {
					t.Fatal(err)
				}
				if out[i], err = x.Run(t.Context(), in...); err != nil {
					t.Fatal(err)
				}
			}
			if out[2], err = exe.Run(t.Context(), in...); err != nil {
				t.Fatal(err)
			}
			got, slow := conformance.Worst(out[2], out[0]), conformance.Worst(out[1], out[0])
			if !(got <= 4*slow+1e-6) {
				t.Errorf("it errs by %.3g, the interpreter by %.3g", got, slow)
			}
			t.Logf("it errs by %.3g, the interpreter by %.3g; %d nodes of a graph", got, slow, len(exe.(*Executable).steps))
		})
	}
}

package cpu_test

import (
	"context"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/ir"
)

// batchSize is the number of programs in one C file: few enough for the
// compiler's memory, many enough to share its start.
const batchSize = 200

// ahead is the backend with programs that were compiled in batches.
type ahead struct {
	*cpu.Backend
	ready map[string]backend.Executable // by the text of the graph
}

func (a ahead) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	if exe := a.ready[g.String()]; exe != nil {
		return exe, nil
	}
	return a.Backend.Compile(ctx, g)
}

// compileAhead compiles some of the suite's programs.
func compileAhead(t *testing.T, b *cpu.Backend, wanted func(*ir.Graph) bool) ahead {
	b.CompileLimit = 10 * time.Minute // for a whole batch, beside other tests
	a := ahead{b, make(map[string]backend.Executable)}
	var graphs []*ir.Graph
	flush := func() {
		list, err := a.CompileAll(t.Context(), graphs...)
		if err != nil {
			t.Fatal(err)
		}
		for i, g := range graphs {
			a.ready[g.String()] = list[i]
		}
		graphs = nil
	}
	for g, err := range conformance.Programs() {
		if err != nil {
			t.Fatal(err)
		}
		if wanted(g) {
			graphs = append(graphs, g)
		}
		if len(graphs) == batchSize {
			flush()
		}
	}
	flush()
	return a
}

func TestConformance(t *testing.T) {
	if testing.Short() { // as the race detector runs it, to which machine code shows nothing
		conformance.RunContract(t, cpu.New())
		return
	}
	conformance.Run(t, compileAhead(t, cpu.New(), func(*ir.Graph) bool { return true }))
}

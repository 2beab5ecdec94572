package cpu_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"forgekernel/forge"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/importer"
	"forgekernel/forge/ir"
	"forgekernel/forge/onnx"
	"forgekernel/forge/pass"
	"forgekernel/forge/suite"
	"forgekernel/forge/tensor"
)

// BenchmarkModels times ONNX models on one thread, and logs the kernels that take
// most of it. FORGE_MODELS lists the files and the shapes of their inputs, or the
// value of one that is a number, one model a line:
// "model.onnx x=1,3,224,224 rate=i16000".
func BenchmarkModels(b *testing.B) {
	list := os.Getenv("FORGE_MODELS")
	if list == "" {
		b.Skip("FORGE_MODELS names no models")
	}
	back := cpu.New()
	back.Threads = 1
	peak, err := back.NewPeak(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		b.Run(filepath.Base(words[0]), func(b *testing.B) {
			g := imported(b, words[0], words[1:])
			in, err := suite.Inputs(g, 1)
			if err != nil {
				b.Fatal(err)
			}
			exe := compile(b, back, g)
			limit, best := sideBySide(b, peak.Run, func() float64 { run(b, exe, in); return 1e3 })
			b.ReportMetric(1/best, "best-µs")
			b.ReportMetric(float64(g.Cost().FLOPs)*best/1e3/limit*100, "%peak")
			p, err := forge.FromGraph(g, forge.OnBackend("cpu"), forge.OnThreads(1))
			if err != nil {
				b.Fatal(err)
			}
			r, err := p.ProfileContext(b.Context(), in...)
			if err != nil {
				b.Fatal(err)
			}
			slices.SortStableFunc(r.Nodes, func(a, b forge.ProfiledNode) int { return -cmp.Compare(a.Time, b.Time) })
			b.Log("\n" + r.Table().Text())
		})
	}
}

// imported is the optimised graph of a file, with inputs of shapes like
// "x=1,3,224,224" and numbers like "rate=i16000".
func imported(b testing.TB, path string, shapes []string) *ir.Graph {
	b.Helper()
	m, err := onnx.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	bound := importer.Binding{Shapes: make(map[string][]int), Values: make(map[string]*tensor.Tensor)}
	for _, s := range shapes {
		name, dims, _ := strings.Cut(s, "=")
		if number, ok := strings.CutPrefix(dims, "i"); ok {
			n, err := strconv.Atoi(number)
			if err != nil {
				b.Fatal(err)
			}
			bound.Values[name] = tensor.Scalar(tensor.I64, float64(n))
			continue
		}
		for d := range strings.SplitSeq(dims, ",") {
			n, err := strconv.Atoi(d)
			if err != nil {
				b.Fatal(err)
			}
			bound.Shapes[name] = append(bound.Shapes[name], n)
		}
	}
	p, err := m.Graph(b.Context(), bound)
	if err != nil {
		b.Fatal(err)
	}
	r, err := pass.Run(p.Graph, pass.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return r.Graph
}

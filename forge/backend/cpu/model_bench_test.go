package cpu_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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
			shares, err := back.Profile(b.Context(), g, 30, in...)
			if err != nil {
				b.Fatal(err)
			}
			logShares(b, shares, limit)
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

// logShares logs the slowest kernels, and what part of the peak they reach.
func logShares(b *testing.B, list []cpu.Share, peak float64) {
	var sum time.Duration
	for _, s := range list {
		sum += s.Time
	}
	b.Logf("%d kernels, %v", len(list), sum)
	slices.SortStableFunc(list, func(a, b cpu.Share) int { return -cmp.Compare(a.Time, b.Time) })
	for _, s := range list[:min(len(list), 25)] {
		ns := float64(s.Time.Nanoseconds())
		b.Logf("%9v %5.1f %% %5.1f %% of peak %5.1f GB/s %s %s: %.60s", s.Time, 100*float64(s.Time)/float64(sum), 100*float64(s.FLOPs)/ns/peak, float64(s.Bytes)/ns, s.Value, s.Shape, s.Words)
	}
}

package forge_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"forgekernel/forge"
	"forgekernel/forge/tensor"
)

// mat is a row-major float64 matrix; the references below are written by hand,
// without anything of the compiler.
type mat struct {
	rows, cols int
	at         []float64
}

func (m mat) row(i int) []float64 { return m.at[i*m.cols : (i+1)*m.cols] }

// matrix copies a tensor of rank 0 to 2.
func matrix(t *forge.Tensor) mat {
	m := mat{rows: 1, cols: t.Len()}
	if t.Rank() == 2 {
		m.rows, m.cols = t.Dim(0), t.Dim(1)
	}
	for i := range t.Len() {
		m.at = append(m.at, t.Elem(i))
	}
	return m
}

// each builds a matrix of the same size, element by element.
func (m mat) each(f func(i, j int, x float64) float64) mat {
	out := mat{rows: m.rows, cols: m.cols}
	for k, x := range m.at {
		out.at = append(out.at, f(k/m.cols, k%m.cols, x))
	}
	return out
}

func sum(xs []float64) (s float64) {
	for _, x := range xs {
		s += x
	}
	return s
}

func dense(x, w, b mat) mat {
	out := mat{rows: x.rows, cols: w.cols}
	for i := range x.rows {
		for j := range w.cols {
			s := b.at[j]
			for k := range x.cols {
				s += x.at[i*x.cols+k] * w.at[k*w.cols+j]
			}
			out.at = append(out.at, s)
		}
	}
	return out
}

func softmax(x mat) mat {
	return x.each(func(i, _ int, v float64) float64 {
		total := 0.0
		for _, w := range x.row(i) {
			total += math.Exp(w - v)
		}
		return 1 / total
	})
}

var references = map[string]func(in []mat) mat{
	"mlp": func(in []mat) mat {
		hidden := dense(in[0], in[1], in[2]).each(func(_, _ int, x float64) float64 { return math.Max(x, 0) })
		return dense(hidden, in[3], in[4])
	},
	"fusion": func(in []mat) mat {
		x, y := in[0], in[1]
		return x.each(func(i, j int, v float64) float64 {
			w := y.row(i)[j]
			return 1 / (1 + math.Exp(-(math.Max((v+w)*v, 0) - w)))
		})
	},
	"reductions": func(in []mat) mat {
		x := in[0]
		largest := 0.0
		for i := range x.rows {
			largest = math.Max(largest, math.Abs(sum(x.row(i))))
		}
		centred := x.each(func(_, j int, v float64) float64 {
			column := 0.0
			for i := range x.rows {
				column += x.row(i)[j]
			}
			return v - column/float64(x.rows)
		})
		squares := 0.0
		for _, v := range centred.at {
			squares += v * v
		}
		return centred.each(func(_, _ int, v float64) float64 { return v/(largest+1) + squares/float64(len(x.at)) })
	},
	"softmax":        func(in []mat) mat { return softmax(in[0]) },
	"softmax_stable": func(in []mat) mat { return softmax(in[0]) },
	"layernorm": func(in []mat) mat {
		x := in[0]
		return x.each(func(i, j int, v float64) float64 {
			n := float64(x.cols)
			mean := sum(x.row(i)) / n
			variance := 0.0
			for _, w := range x.row(i) {
				variance += (w - mean) * (w - mean) / n
			}
			return (v-mean)/math.Sqrt(variance+1e-5)*in[1].at[j] + in[2].at[j]
		})
	},
}

// programs are the example programs by name.
func programs(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../notebooks/programs/*.fs")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no example programs: %v", err)
	}
	sources := make(map[string]string)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		sources[name[:len(name)-len(".fs")]] = string(data)
	}
	return sources
}

func TestPrograms(t *testing.T) {
	for name, source := range programs(t) {
		t.Run(name, func(t *testing.T) {
			reference := references[name]
			if reference == nil {
				t.Fatal("this program has no reference")
			}
			p, err := forge.Compile(source, forge.Named(name+".fs"))
			if err != nil {
				t.Fatal(err)
			}
			args, err := p.RandomInputs(7)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Run(t.Context(), args...)
			if err != nil {
				t.Fatal(err)
			}
			var in []mat
			for _, a := range args {
				in = append(in, matrix(a))
			}
			want := reference(in)
			if len(want.at) != got.Len() || !tensor.ShapeEqual(got.Shape(), p.Outputs()[0].Spec.Shape) {
				t.Fatalf("the result has shape %v, want %d elements", got.Shape(), len(want.at))
			}
			for i, w := range want.at {
				if d := math.Abs(got.Elem(i) - w); !(d <= 2e-6+2e-5*math.Abs(w)) {
					t.Fatalf("element %d is %g, want %g", i, got.Elem(i), w)
				}
			}
			accuracy, err := p.CheckContext(t.Context(), args...)
			if err != nil || !accuracy.OK() {
				t.Errorf("check: %v %+v", err, accuracy)
			}
		})
	}
}

// The naive softmax loses its values on large inputs, and the check says so;
// the stable one does not.
func TestSoftmaxStability(t *testing.T) {
	sources := programs(t)
	x := forge.Full(100, 16, 64)
	for name, lost := range map[string]int{"softmax": 16 * 64, "softmax_stable": 0} {
		p, err := forge.Compile(sources[name])
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.CheckContext(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		if a.Lost != lost || a.OK() != (lost == 0) {
			t.Errorf("%s on 100s: %d elements lost, want %d", name, a.Lost, lost)
		}
	}
}

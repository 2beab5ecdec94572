package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// layerEnd is what a decoder does behind a product whose sum is of two ranks.
const layerEnd = `graph rank(%%x: f32[%[1]s], %%residual: f32[%[1]s], %%w: f32[%[2]s]) {
  %%p: f32[%[1]s] = neg %%x
  %%y: f32[%[1]s] = all_reduce %%p {size = 2}
  %%z: f32[%[1]s] = add %%residual, %%y
  %%n: f32[%[1]s] = rms_norm %%z, %%w
  %%a: f32[%[1]s] = neg %%n
  %%b: f32[%[1]s] = sub %%z, %%a
  return %%b
}`

// TestRankSums sees which all-reduces one kernel does, and with what.
func TestRankSums(t *testing.T) {
	end := func(shape, line string) string { return fmt.Sprintf(layerEnd, shape, line) }
	bare := func(node, spec string) string {
		return "graph rank(%x: " + spec + ") {\n%y: " + spec + " = " + node + "\nreturn %y\n}"
	}
	for _, c := range []struct {
		text, kernel string
		steps        int
	}{
		{end("1,1,4096", "4096"), "sum over ranks, add, rms_norm, one kernel", 4},
		{end("4,1,256", "256"), "sum over ranks, add, rms_norm, one kernel", 4},
		{end("3,7", "7"), "sum over ranks, add, rms_norm, one kernel", 4},
		{end("40,64", "64"), "sum over ranks, add, one kernel", 5}, // more lines than blocks
		{bare("all_reduce %x {size = 2}", "f32[5]"), "sum over ranks, one kernel", 1},
		{bare("all_reduce %x {size = 8}", "f32[65536]"), "sum over ranks, one kernel", 1},
		{bare("all_reduce %x {size = 9}", "f32[5]"), "all_reduce, NCCL", 2},
		{bare("all_reduce %x {size = 2}", "f32[65537]"), "all_reduce, NCCL", 1},
		{bare("all_reduce %x {size = 2}", "bf16[4]"), "all_reduce, NCCL", 1},
		{bare("all_reduce %x {size = 2, reduce = \"max\"}", "f32[4]"), "all_reduce, NCCL", 2},
		{bare("all_reduce %x {size = 2, group = \"far\"}", "f32[4]"), "all_reduce, NCCL", 1},
	} {
		g, err := ir.Parse(op.Registry, c.text)
		if err != nil {
			t.Fatal(err)
		}
		for _, arch := range []string{"sm_75", "sm_90"} { // without clusters, and with them
			u := newUnit(targetFor(t, arch))
			u.mailed = func(group string, _ int) string {
				if group == "far" {
					return "they are far apart"
				}
				return ""
			}
			p, err := newProgram(u, g, DefaultMaxBytes, nil)
			if err != nil {
				t.Fatal(err)
			}
			kernel := ""
			for i, n := range p.Graph.Nodes {
				if n.Op.Name == "all_reduce" {
					kernel = p.kernels[i].Kernel
				}
			}
			if kernel != c.kernel || len(p.steps) != c.steps {
				t.Errorf("%s\nis %q in %d steps, want %q in %d", c.text, kernel, len(p.steps), c.kernel, c.steps)
			}
			if strings.Contains(kernel, "one kernel") {
				compiles(t, p)
			}
		}
	}
}

// runBoth compiles a program on two devices and gives what runs it on one of them.
func runBoth(t testing.TB, text string, list [2]*Backend, groups [2]member) (run [2]func(y []*tensor.Tensor, x ...*tensor.Tensor) error, bound [2]*Bound) {
	t.Helper()
	g, err := ir.Parse(op.Registry, text)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	err = both(func(i int) error {
		ctx := backend.WithGroup(ctx, "world", groups[i])
		exe, err := list[i].Compile(ctx, g)
		if err != nil {
			return err
		}
		b, err := exe.(*Executable).Bind(ctx, make([]backend.Held, len(g.Inputs)), make([]backend.Held, len(g.Outputs)))
		if err != nil {
			return err
		}
		bound[i] = b.(*Bound)
		run[i] = func(y []*tensor.Tensor, x ...*tensor.Tensor) error { return b.Run(ctx, y, x) }
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(bound[0].Close(), bound[1].Close()); err != nil {
			t.Error(err)
		}
	})
	return run, bound
}

// TestRankSumsRun adds, and normalises, on two devices: the result is that of float64, and
// the same bits on both.
func TestRankSumsRun(t *testing.T) {
	list, groups := pair(t)
	mail(t, list, &groups)
	for _, shape := range [][]int{{1, 1, 4096}, {4, 1, 256}, {3, 7}, {16, 1, 4096}, {2, 8192}, {32, 30}} {
		for _, overlap := range []bool{false, true} {
			t.Run(fmt.Sprint(shape, overlap), func(t *testing.T) {
				for _, b := range list {
					b.Overlap = overlap
				}
				text, line := strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ","), "[]"), shape[len(shape)-1]
				run, _ := runBoth(t, fmt.Sprintf(layerEnd, text, fmt.Sprint(line)), list, groups)
				n := product(shape)
				for round := range 20 {
					value := func(i, salt int) float64 { return float64((i*7919+salt*104729+round*31)%2001-1000) / 256 }
					results := make([][]float32, 2)
					err := both(func(i int) error {
						made := func(salt int, shape ...int) *tensor.Tensor {
							x, _ := tensor.Zeros(tensor.F32, shape...)
							for k := range x.Len() {
								x.SetElem(k, value(k, salt))
							}
							return x
						}
						y := made(0, shape...)
						if err := run[i]([]*tensor.Tensor{y}, made(1+i, shape...), made(3, shape...), made(4, line)); err != nil {
							return err
						}
						results[i] = y.Float32()
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(results[0], results[1]) {
						t.Fatalf("round %d: the ranks have different results", round)
					}
					for from := 0; from < n; from += line {
						squares := 0.0
						z := make([]float64, line)
						for k := range z {
							z[k] = value(from+k, 3) - value(from+k, 1) - value(from+k, 2)
							squares += z[k] * z[k]
						}
						scale := 1 / math.Sqrt(squares/float64(line)+1e-5)
						for k := range z {
							want := z[k] + z[k]*scale*value(k, 4)
							if got := float64(results[0][from+k]); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
								t.Fatalf("round %d, element %d: %v, want %v", round, from+k, got, want)
							}
						}
					}
				}
			})
		}
	}
}

// TestRankSumAbort ends a sum whose other rank never comes.
func TestRankSumAbort(t *testing.T) {
	list, groups := pair(t)
	mail(t, list, &groups)
	run, _ := runBoth(t, "graph sum(%x: f32[64]) {\n%y: f32[64] = all_reduce %x {size = 2}\nreturn %y\n}", list, groups)
	cause, begun := errors.New("the other rank never comes"), time.Now()
	time.AfterFunc(200*time.Millisecond, func() { groups[0].mailboxes.Abort(cause) })
	x, _ := tensor.Zeros(tensor.F32, 64)
	y, _ := tensor.Zeros(tensor.F32, 64)
	if err := run[0]([]*tensor.Tensor{y}, x); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
	t.Logf("it ends after %v", time.Since(begun).Round(time.Millisecond))
	if err := run[0]([]*tensor.Tensor{y}, x); !errors.Is(err, cause) {
		t.Errorf("a later run: %v", err)
	}
}

// BenchmarkRankSums measures all-reduces of two devices, many in a graph, by kernels of our
// own and by NCCL, alone and with the residual and the norm of a decoder.
func BenchmarkRankSums(b *testing.B) {
	list, groups := pair(b)
	mailed := groups
	mail(b, list, &mailed)
	const chain = 20
	for _, n := range []int{128, 1024, 4096, 16384, 65536} {
		for _, how := range []string{"mailboxes", "NCCL"} {
			for _, overlap := range []bool{false, true} {
				if how == "NCCL" && overlap {
					continue
				}
				for _, norms := range []bool{false, true} {
					b.Run(fmt.Sprintf("%d-KiB/%s/overlap=%v/norms=%v", n*4>>10, how, overlap, norms), func(b *testing.B) {
						line := min(n, 4096)
						spec := fmt.Sprintf("f32[%d,%d]", n/line, line)
						text, last, stream := fmt.Sprintf("graph sums(%%x: %s, %%w: f32[%d]) {\n", spec, line), "x", "x"
						for i := range chain {
							text += fmt.Sprintf("%%y%d: %s = all_reduce %%%s {size = 2}\n", i, spec, last)
							last = fmt.Sprint("y", i)
							if norms {
								text += fmt.Sprintf("%%z%d: %s = add %%%s, %%%s\n%%n%d: %s = rms_norm %%z%d, %%w\n", i, spec, stream, last, i, spec, i)
								last, stream = fmt.Sprint("n", i), fmt.Sprint("z", i)
							}
						}
						members := mailed
						if how == "NCCL" {
							members = groups
						}
						for _, d := range list {
							d.Overlap = overlap
						}
						_, bound := runBoth(b, text+"return %"+last+"\n}", list, members)
						best := time.Hour
						for b.Loop() {
							took := make([]time.Duration, 2)
							if err := both(func(i int) (err error) {
								x, _ := tensor.Zeros(tensor.F32, n/line, line)
								y, _ := tensor.Zeros(tensor.F32, n/line, line)
								w, _ := tensor.Zeros(tensor.F32, line)
								took[i], err = bound[i].Time(b.Context(), []*tensor.Tensor{y}, []*tensor.Tensor{x, w})
								return err
							}); err != nil {
								b.Fatal(err)
							}
							best = min(best, max(took[0], took[1]))
						}
						b.ReportMetric(best.Seconds()*1e6/chain, "us/all-reduce")
					})
				}
			}
		}
	}
}

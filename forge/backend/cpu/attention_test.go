package cpu_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// attentionShape is the dimensions of an attention: batches, query and key heads,
// queries, keys, channels of queries and keys, and of values.
type attentionShape struct{ b, h, g, q, keys, d, e int }

// sdpa is a program with an optional mask, whose type and shape are as in
// "bool[3,4]", and attributes.
func (s attentionShape) sdpa(t testing.TB, mask, attrs string) *ir.Graph {
	t.Helper()
	params, args := "", ""
	if mask != "" {
		params, args = ", %m: "+mask, ", %m"
	}
	src := fmt.Sprintf("graph f(%%q: f32[%d,%d,%d,%d], %%k: f32[%d,%d,%d,%d], %%v: f32[%d,%d,%d,%d]%s) {\n %%y: f32[%d,%d,%d,%d] = sdpa %%q, %%k, %%v%s%s\n return %%y\n}",
		s.b, s.h, s.q, s.d, s.b, s.g, s.keys, s.d, s.b, s.g, s.keys, s.e, params, s.b, s.h, s.q, s.e, args, attrs)
	return parse(t, src)
}

func parse(t testing.TB, src string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(op.Registry, src)
	if err != nil {
		t.Fatalf("%v in\n%s", err, src)
	}
	return g
}

// attentions are the operators whose kernels differ from target to target.
var attentions = []string{"sdpa", "cached_attention", "paged_attention"}

// TestAttention runs the suite's cases in f32 for the vectors that TestConformance
// does not use.
func TestAttention(t *testing.T) {
	if !everything {
		t.Skip("TestExcludedValues has both schedules for all vectors; FORGE_CONFORMANCE=full runs all cases")
	}
	onTargets(t, func(t *testing.T, b *cpu.Backend) {
		if b.Target.Name == cpu.New().Target.Name {
			t.Skip("TestConformance has the widest vectors")
		}
		a := compileAhead(t, b, func(g *ir.Graph) bool {
			v := g.Outputs[0]
			return v.Def != nil && slices.Contains(attentions, v.Def.Op.Name) && v.Spec.DType == tensor.F32
		})
		for _, name := range attentions {
			o, err := op.Registry.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(name, func(t *testing.T) { conformance.RunOperator(t, a, o, tensor.F32) })
		}
	})
}

// attentionInputs are random; integers are zero, and bools mostly true.
func attentionInputs(t testing.TB, g *ir.Graph) []*tensor.Tensor {
	t.Helper()
	var in []*tensor.Tensor
	for i, v := range g.Inputs {
		x, err := tensor.Rand(uint64(i), v.Spec.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		d := v.Spec.DType
		for k, u := range x.Float32() {
			if d == tensor.Bool && u <= -0.5 || d == tensor.I64 || d == tensor.I32 {
				x.Float32()[k] = 0
			}
		}
		if x, err = x.Convert(d); err != nil {
			t.Fatal(err)
		}
		in = append(in, x)
	}
	return in
}

// TestCacheErrors demands the operator's own error where positions are not in the
// cache, or a table not in the pool, and results where entries that are not needed
// are not valid.
func TestCacheErrors(t *testing.T) {
	const (
		cached = "graph f(%q: f32[2,2,3,4], %k: f32[2,1,8,4], %v: f32[2,1,8,4], %p: i64[2], %n: i64[2]) {\n %y: f32[2,2,3,4] = cached_attention %q, %k, %v, %p, %n\n return %y\n}"
		whole  = "graph f(%q: f32[2,2,3,4], %k: f32[2,1,8,4], %v: f32[2,1,8,4], %p: i64[2]) {\n %y: f32[2,2,3,4] = cached_attention %q, %k, %v, %p\n return %y\n}"
		paged  = "graph f(%q: f32[2,2,3,4], %k: f32[5,1,4,4], %v: f32[5,1,4,4], %t: i32[2,2], %p: i64[2], %n: i64[2]) {\n %y: f32[2,2,3,4] = paged_attention %q, %k, %v, %t, %p, %n\n return %y\n}"
	)
	exes := make(map[string][2]backend.Executable)
	for _, src := range []string{cached, whole, paged} {
		native := compile(t, cpu.New(), parse(t, src))
		if k := native.Kernels()[0]; strings.HasSuffix(k.Kernel, "reference") {
			t.Errorf("%s: %s", k.Kernel, k.Reason)
		}
		exes[src] = [2]backend.Executable{native, compile(t, interp.New(), parse(t, src))}
	}
	for _, c := range []struct {
		src      string
		integers [][]int64
		want     string // part of the error; empty for none
	}{
		{cached, [][]int64{{0, 5}, {3, 8}}, ""},
		{cached, [][]int64{{0, 8}, {3, 8}}, ""},
		{cached, [][]int64{{0, 9}, {3, 8}}, "pos %p of row 1 is 9"},
		{cached, [][]int64{{-1, 0}, {3, 8}}, "pos %p of row 0 is -1"},
		{cached, [][]int64{{0, 0}, {3, 9}}, "length %n of row 1 is 9"},
		{cached, [][]int64{{0, 0}, {math.MinInt64, 8}}, "length %n of row 0"},
		{cached, [][]int64{{math.MaxInt64, 0}, {3, 8}}, "pos %p of row 0"},
		{whole, [][]int64{{0, 5}}, ""},
		{whole, [][]int64{{0, 6}}, "row 1 has 3 tokens from position 6 on"},
		{paged, [][]int64{{4, 0, 3, 99}, {0, 0}, {8, 3}}, ""},
		{paged, [][]int64{{4, 0, 77, 99}, {0, 5}, {8, 5}}, ""},
		{paged, [][]int64{{4, 0, 3, 5}, {0, 2}, {8, 6}}, "entry 1 of row 1 of the block table is 5"},
		{paged, [][]int64{{-1, 0, 3, 2}, {0, 2}, {8, 6}}, "entry 0 of row 0 of the block table is -1"},
		{paged, [][]int64{{4, 0, 3, 2}, {0, 2}, {8, 10}}, "length %n of row 1 is 10"},
	} {
		pair := exes[c.src]
		in := attentionInputs(t, pair[0].Graph())
		for i, list := range c.integers {
			v := pair[0].Graph().Inputs[3+i]
			x, err := tensor.From(v.Spec.Shape, list)
			if err != nil {
				t.Fatal(err)
			}
			if in[3+i], err = x.Convert(v.Spec.DType); err != nil {
				t.Fatal(err)
			}
		}
		got, err := pair[0].Run(t.Context(), in...)
		want, wantErr := pair[1].Run(t.Context(), in...)
		switch {
		case fmt.Sprint(err) != fmt.Sprint(wantErr) || c.want == "" != (err == nil):
			t.Errorf("%v: error %v, the interpreter has %v", c.integers, err, wantErr)
		case err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("%v: error %v, want one with %s", c.integers, err, c.want)
		case err == nil && !(conformance.Worst(got, want) < 1e-5):
			t.Errorf("%v: it errs by %g", c.integers, conformance.Worst(got, want))
		}
	}
}

// TestExcludedValues has NaN and infinities among the values. Those that a query
// excludes must not reach its result, those that it sees must, and a query that
// sees nothing gives zeros or, when strict, NaN.
func TestExcludedValues(t *testing.T) {
	var graphs []*ir.Graph
	for _, s := range []attentionShape{{1, 2, 1, 3, 70, 8, 20}, {1, 2, 1, 21, 90, 8, 20}, {1, 2, 1, 40, 200, 20, 8}} {
		mask := fmt.Sprintf("[%d,%d]", s.q, s.keys)
		for _, strict := range []bool{false, true} {
			attrs := fmt.Sprintf(" {strict = %v}", strict)
			graphs = append(graphs, s.sdpa(t, "", fmt.Sprintf(" {causal = true, strict = %v}", strict)), s.sdpa(t, "f32"+mask, attrs), s.sdpa(t, "bool"+mask, attrs))
		}
	}
	graphs = append(graphs,
		attentionShape{1, 64, 1, 7, 20, 128, 128}.sdpa(t, "", " {causal = true}"), // too many queries of a key head to be done together
		parse(t, "graph f(%q: f32[2,2,20,4], %k: f32[2,1,90,4], %v: f32[2,1,90,4], %p: i64[2], %n: i64[2]) {\n %y: f32[2,2,20,4] = cached_attention %q, %k, %v, %p, %n\n return %y\n}"),
		parse(t, "graph f(%q: f32[2,2,2,4], %k: f32[2,1,90,4], %v: f32[2,1,90,4], %p: i64[2], %n: i64[2]) {\n %y: f32[2,2,2,4] = cached_attention %q, %k, %v, %p, %n\n return %y\n}"))
	onTargets(t, func(t *testing.T, b *cpu.Backend) {
		list, err := b.CompileAll(t.Context(), graphs...)
		if err != nil {
			t.Fatal(err)
		}
		for i, exe := range list {
			in := attentionInputs(t, graphs[i])
			spoil(in)
			want := run(t, compile(t, interp.New(), graphs[i]), in)[0].Float32()
			got := run(t, exe, in)[0].Float32()
			finite, special := 0, 0
			for j, y := range want {
				x := got[j]
				if y-y == 0 {
					finite++
				} else {
					special++
				}
				if !(x == y || x != x && y != y || math.Abs(float64(x-y)) < 1e-5) {
					t.Fatalf("element %d is %g, the interpreter has %g in\n%s", j, x, y, graphs[i])
				}
			}
			if finite == 0 && !strings.Contains(graphs[i].String(), "strict") || special == 0 {
				t.Errorf("%d results are finite and %d are not: nothing is tested in\n%s", finite, special, graphs[i])
			}
		}
	})
}

// spoil puts NaN and infinities into some values, most of them late. Masks exclude
// them for all but some queries, and exclude everything for one; positions leave
// some of the cache unseen.
func spoil(in []*tensor.Tensor) {
	v := in[2]
	keys, e := v.Dim(2), v.Dim(3)
	spoiled := []int{2, keys - 2, keys - 1}
	for row, j := range spoiled {
		for c := range e {
			v.Float32()[j*e+c] = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}[row]
		}
	}
	if len(in) == 4 {
		for i := range in[0].Dim(2) {
			for j := range keys {
				out := i == 1 || i%3 != 2 && slices.Contains(spoiled, j)
				if m := in[3]; m.DType() == tensor.Bool {
					m.Bool()[i*keys+j] = !out
				} else if out {
					m.Float32()[i*keys+j] = float32(math.Inf(-1))
				}
			}
		}
	}
	if len(in) == 5 {
		copy(in[3].Int64(), []int64{1, 70})
		copy(in[4].Int64(), []int64{3, 85})
	}
}

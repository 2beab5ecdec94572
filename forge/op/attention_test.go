package op

import (
	"fmt"
	"math"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// evalProgram parses a program and evaluates its nodes one by one.
func evalProgram(t *testing.T, src string, in ...*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	g, err := ir.Parse(Registry, src)
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[*ir.Value]*tensor.Tensor)
	for i, v := range g.Inputs {
		values[v] = in[i]
	}
	for _, n := range g.Nodes {
		c := &ir.Call{Ctx: t.Context(), Node: n, Workers: 2}
		for _, v := range n.In {
			c.In = append(c.In, values[v])
		}
		for _, v := range n.Out {
			out, err := tensor.Full(v.Spec.DType, -99, v.Spec.Shape...) // Eval must not rely on zeros
			if err != nil {
				t.Fatal(err)
			}
			c.Out = append(c.Out, out)
			values[v] = out
		}
		if err := n.Op.Eval(c); err != nil {
			t.Fatal(err)
		}
	}
	var outs []*tensor.Tensor
	for _, v := range g.Outputs {
		outs = append(outs, values[v])
	}
	return outs
}

// TestFusedForms compares operators that passes make with the operators that
// they stand for, to the last bit.
func TestFusedForms(t *testing.T) {
	for name, src := range map[string]string{
		"attention": `graph f(%q: f32[2,3,9,16], %k: f32[2,3,33,16], %v: f32[2,3,33,8], %m: f32[9,33]) {
  %kt: f32[2,3,16,33] = transpose %k {perm = [0, 1, 3, 2]}
  %s: f32[2,3,9,33] = matmul %q, %kt
  %c: f32[] = const {value = f32[] 0.25}
  %t: f32[2,3,9,33] = mul %s, %c
  %u: f32[2,3,9,33] = add %t, %m
  %w: f32[2,3,9,33] = softmax %u
  %y: f32[2,3,9,8] = matmul %w, %v
  %z: f32[2,3,9,8] = sdpa %q, %k, %v, %m
  return %y, %z
}`,
		"causal attention": `graph f(%q: f32[2,3,9,16], %k: f32[2,3,33,16], %v: f32[2,3,33,8], %m: f32[9,33]) {
  %kt: f32[2,3,16,33] = transpose %k {perm = [0, 1, 3, 2]}
  %s: f32[2,3,9,33] = matmul %q, %kt
  %c: f32[] = const {value = f32[] 0.25}
  %t: f32[2,3,9,33] = mul %s, %c
  %u: f32[2,3,9,33] = add %t, %m
  %w: f32[2,3,9,33] = softmax %u
  %y: f32[2,3,9,8] = matmul %w, %v
  %z: f32[2,3,9,8] = sdpa %q, %k, %v {causal = true}
  return %y, %z
}`,
		"linear": `graph f(%x: f32[5,33], %w: f32[33,600], %b: f32[600]) {
  %0: f32[5,600] = matmul %x, %w
  %1: f32[5,600] = add %0, %b
  %y: f32[5,600] = gelu %1 {approximate = "tanh"}
  %z: f32[5,600] = linear %x, %w, %b {act = "gelu_tanh"}
  return %y, %z
}`,
		"matmul": `graph f(%x: f32[3,5,33], %w: f32[33,60]) {
  %0: f32[3,5,60] = matmul %x, %w
  %y: f32[3,5,60] = silu %0
  %z: f32[3,5,60] = matmul %x, %w {act = "silu"}
  return %y, %z
}`,
		"convolution": `graph f(%x: f32[2,3,8,9], %w: f32[4,3,1,1]) {
  %0: f32[2,3,72] = reshape %x {shape = [2, 3, 72]}
  %1: f32[4,3] = reshape %w {shape = [4, 3]}
  %2: f32[2,4,72] = matmul %1, %0
  %y: f32[2,4,8,9] = reshape %2 {shape = [2, 4, 8, 9]}
  %z: f32[2,4,8,9] = conv2d %x, %w
  return %y, %z
}`,
	} {
		t.Run(name, func(t *testing.T) {
			g, err := ir.Parse(Registry, src)
			if err != nil {
				t.Fatal(err)
			}
			var in []*tensor.Tensor
			for i, v := range g.Inputs {
				in = append(in, random(t, uint64(i+1), v.Spec.Shape...))
			}
			if name == "causal attention" {
				for i := range 9 {
					for j := range 33 {
						in[3].Set(map[bool]float64{true: math.Inf(-1)}[j > i], i, j)
					}
				}
			}
			out := evalProgram(t, src, in...)
			if !tensor.Identical(out[0], out[1]) {
				t.Error("the fused form differs from its parts")
			}
		})
	}
}

// TestExcludedIsNotRead puts NaN where no query looks.
func TestExcludedIsNotRead(t *testing.T) {
	nan := math.NaN()
	q := from[float32](t, []int{1, 1, 2, 1}, 1, 1)
	kv := from(t, []int{1, 1, 3, 1}, 3, float32(nan), float32(nan))
	for _, c := range []struct {
		name, inputs, node string
		more               []*tensor.Tensor
		want               []float64
	}{
		{"bool mask", ", %m: bool[2,3]", "sdpa %q, %k, %k, %m", []*tensor.Tensor{from(t, []int{2, 3}, true, false, false, false, false, false)}, []float64{3, 0}},
		{"mask of -inf", ", %m: f32[1,3]", "sdpa %q, %k, %k, %m", []*tensor.Tensor{from(t, []int{1, 3}, 0, float32(math.Inf(-1)), float32(math.Inf(-1)))}, []float64{3, 3}},
		{"causal", "", "sdpa %q, %k, %k {causal = true}", nil, []float64{3, nan}},
		{"cache", ", %p: i64[], %l: i64[]", "cached_attention %q, %k, %k, %p, %l", []*tensor.Tensor{from[int64](t, nil, 0), from[int64](t, nil, 1)}, []float64{3, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := append([]*tensor.Tensor{q, kv, kv}, c.more...)
			out, err := runNode(t.Context(), "%q: f32[1,1,2,1], %k: f32[1,1,3,1]"+c.inputs, "f32[1,1,2,1]", c.node, in...)
			if err != nil {
				t.Fatal(err)
			}
			wantElems(t, out, c.want...)
		})
	}
}

// TestNothingToAttendTo gives zeros for rows without keys, as PyTorch does.
func TestNothingToAttendTo(t *testing.T) {
	q := random(t, 1, 1, 1, 2, 4)
	none := random(t, 2, 1, 1, 0, 4)
	out, err := runNode(t.Context(), "%q: f32[1,1,2,4], %k: f32[1,1,0,4]", "f32[1,1,2,4]", "sdpa %q, %k, %k", q, none, none)
	if err != nil {
		t.Fatal(err)
	}
	wantElems(t, out, make([]float64, 8)...)
	// Scores that are -inf without a mask are the same.
	low := from(t, []int{1, 1, 1, 1}, float32(math.Inf(-1)))
	one := from[float32](t, []int{1, 1, 1, 1}, 1)
	out, err = runNode(t.Context(), "%q: f32[1,1,1,1], %k: f32[1,1,1,1], %v: f32[1,1,1,1]", "f32[1,1,1,1]", "sdpa %q, %k, %v", one, low, one)
	if err != nil {
		t.Fatal(err)
	}
	wantElems(t, out, 0)
}

// TestHeadSharing compares grouped heads with repeated ones.
func TestHeadSharing(t *testing.T) {
	src := `graph f(%q: f32[2,6,5,8], %k: f32[2,2,7,8]) {
  %0: f32[2,2,1,7,8] = reshape %k {shape = [2, 2, 1, 7, 8]}
  %1: f32[2,2,3,7,8] = expand %0 {shape = [2, 2, 3, 7, 8]}
  %r: f32[2,6,7,8] = reshape %1 {shape = [2, 6, 7, 8]}
  %y: f32[2,6,5,8] = sdpa %q, %r, %r
  %z: f32[2,6,5,8] = sdpa %q, %k, %k
  return %y, %z
}`
	out := evalProgram(t, src, random(t, 1, 2, 6, 5, 8), random(t, 2, 2, 2, 7, 8))
	if !tensor.Identical(out[0], out[1]) {
		t.Error("query heads read the wrong key heads")
	}
}

// TestDecodeEqualsCausal feeds tokens one by one and compares with causal
// attention over all of them.
func TestDecodeEqualsCausal(t *testing.T) {
	const tokens = 6
	q, k := random(t, 1, 1, 2, tokens, 4), random(t, 2, 1, 2, tokens, 4)
	want, err := runNode(t.Context(), "%q: f32[1,2,6,4], %k: f32[1,2,6,4]", "f32[1,2,6,4]", "sdpa %q, %k, %k {causal = true}", q, k, k)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tokens {
		one := evalProgram(t, fmt.Sprintf("graph f(%%q: f32[1,2,6,4]) {\n %%y: f32[1,2,1,4] = narrow %%q {axis = 2, start = %d, length = 1}\n return %%y\n}", i), q)[0]
		got, err := runNode(t.Context(), "%q: f32[1,2,1,4], %k: f32[1,2,6,4], %p: i64[]", "f32[1,2,1,4]", "cached_attention %q, %k, %k, %p", one, k, k, from(t, nil, int64(i)))
		if err != nil {
			t.Fatal(err)
		}
		for h := range 2 {
			for c := range 4 {
				if g, w := got.At(0, h, 0, c), want.At(0, h, i, c); math.Abs(g-w) > 1e-6 {
					t.Errorf("token %d: %v, in one piece %v", i, g, w)
				}
			}
		}
	}
}

// TestRopeErrors gives positions that no table of angles covers.
func TestRopeErrors(t *testing.T) {
	x := random(t, 1, 2, 3, 4)
	for _, c := range []struct {
		pos  []int64
		want string
	}{
		{[]int64{0, -1}, "pos %p of row 1 is -1; positions are 0 to 2147483647"},
		{[]int64{math.MaxInt64, 0}, "pos %p of row 0 is 9223372036854775807; positions are 0 to 2147483647"},
	} {
		_, err := runNode(t.Context(), "%x: f32[2,3,4], %p: i64[2]", "f32[2,3,4]", "rope %x, %p", x, from(t, []int{2}, c.pos...))
		if err == nil || err.Error() != c.want {
			t.Errorf("got error %v, want %s", err, c.want)
		}
	}
}

// TestRopeRelative turns queries and keys: their products depend on the
// distance of their positions alone.
func TestRopeRelative(t *testing.T) {
	q, k := random(t, 1, 1, 16), random(t, 2, 1, 16)
	for _, style := range []string{"half", "interleaved"} {
		product := func(p, r int64) (sum float64) {
			turned := func(x *tensor.Tensor, at int64) *tensor.Tensor {
				y, err := runNode(t.Context(), "%x: f32[1,16], %p: i64[]", "f32[1,16]", `rope %x, %p {style = "`+style+`"}`, x, from(t, nil, at))
				if err != nil {
					t.Fatal(err)
				}
				return y
			}
			a, b := turned(q, p), turned(k, r)
			for i := range 16 {
				sum += a.Elem(i) * b.Elem(i)
			}
			return sum
		}
		if near, far := product(3, 1), product(100003, 100001); math.Abs(near-far) > 1e-5 {
			t.Errorf("%s: %v near, %v far away", style, near, far)
		}
	}
}

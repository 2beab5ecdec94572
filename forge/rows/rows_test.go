package rows

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// rowCounts are the letters of a program: R is a number of rows, R2 and R3 are that
// many times more, Z and Z0 one number for each row, the same in all.
var rowCounts = regexp.MustCompile(`\bR[23]?\b|\bZ0?\b`)

func written(t *testing.T, program string, rows int) *ir.Graph {
	t.Helper()
	text := rowCounts.ReplaceAllStringFunc(program, func(s string) string {
		switch s {
		case "Z":
			return strings.TrimSpace(strings.Repeat("1.5 ", rows))
		case "Z0":
			return strings.TrimSpace(strings.Repeat("0 ", rows))
		case "R":
			return strconv.Itoa(rows)
		}
		return strconv.Itoa(rows * int(s[1]-'0'))
	})
	g, err := ir.Parse(op.Registry, text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// inputDims are the dimensions of the inputs that differ.
func inputDims(small, large *ir.Graph) []int {
	var list []int
	for i, v := range small.Inputs {
		list = append(list, -1)
		for d, n := range v.Spec.Shape {
			if n != large.Inputs[i].Spec.Shape[d] {
				list[i] = d
			}
		}
	}
	return list
}

const (
	small = 3
	large = 5
)

// Programs that keep rows apart: what the proof says of their outputs is compared with
// what a run of both gives, bit for bit.
func TestApart(t *testing.T) {
	for name, c := range map[string]struct {
		program string
		want    []int
	}{
		"elementwise": {`graph f(%x: f32[R,4], %y: f32[4]) {
  %0: f32[R,4] = add %x, %y
  %1: bool[R,4] = lt %0, %x
  %2: f32[R,4] = where %1, %0, %y
  return %2, %y
}`, []int{0, -1}},
		"products": {`graph f(%x: f32[2,R,4], %w: f32[4,6], %b: f32[6]) {
  %0: f32[2,R,6] = linear %x, %w, %b {act = "relu"}
  %1: f32[2,6,R] = transpose %0 {perm = [0, 2, 1]}
  %2: f32[6,4] = transpose %w
  %3: f32[2,R,4] = matmul %0, %2, %x
  %4: f32[2,4,R] = matmul %w, %1
  return %3, %4
}`, []int{1, 2}},
		"batches": {`graph f(%q: f32[R,2,3,4], %k: f32[R,2,3,4], %m: f32[3,3]) {
  %0: f32[R,2,4,3] = transpose %k {perm = [0, 1, 3, 2]}
  %1: f32[R,2,3,3] = matmul %q, %0
  %2: f32[R,2,3,3] = softmax %1 {axis = -1}
  %3: f32[R,2,3,4] = matmul %2, %k
  %4: f32[R,2,3,4] = sdpa %q, %k, %3, %m
  return %4
}`, []int{0}},
		"joined and divided": {`graph f(%x: f32[R,2,4], %w: f32[4,4]) {
  %0: f32[R2,4] = reshape %x {shape = [R2, 4]}
  %1: f32[R2,4] = matmul %0, %w
  %2: f32[R2,4] = layer_norm %1
  %3: f32[R,8] = reshape %2 {shape = [R, 8]}
  %4: f32[R] = sum %3 {axes = [1]}
  %5: f32[1,R] = reshape %4 {shape = [1, R]}
  return %3, %4, %5
}`, []int{0, 0, 1}},
		"images": {`graph f(%x: f32[R,2,6,6], %w: f32[4,2,3,3], %b: f32[4]) {
  %0: f32[R,4,4,4] = conv2d %x, %w, %b
  %1: f32[R,4,2,2] = max_pool2d %0 {kernel = [2, 2]}
  %2: f32[R,4,2,2] = avg_pool2d %1 {kernel = [1, 1]}
  %3: f32[R,4] = mean %2 {axes = [2, 3]}
  return %3
}`, []int{0}},
		"indices": {`graph f(%i: i64[R,3], %t: f32[4,5], %x: f32[2,R,4]) {
  %0: f32[R,3,5] = gather %t, %i
  %j: i64[2] = const {value = i64[2] 3 1}
  %1: f32[2,R,2] = gather %x, %j {axis = 2}
  %k: i64[2] = const {value = i64[2] 1 0}
  %2: f32[2,R,4] = gather %x, %k {axis = 0}
  return %0, %1, %2
}`, []int{0, 1, 1}},
		"parts": {`graph f(%x: f32[R,6]) {
  %0: f32[R,2], %1: f32[R,4] = split %x {axis = 1, sizes = [2, 4]}
  %2: f32[R,6] = concat %1, %0 {axis = 1}
  %3: f32[R,3] = narrow %2 {axis = 1, start = 1, length = 3}
  %4: f32[R,5] = pad %3 {low = [0, 1], high = [0, 1]}
  %5: f32[R,5] = cumsum %4 {axis = 1}
  %6: f32[R,2], %7: i64[R,2] = top_k %5 {k = 2, axis = 1}
  %8: i64[R] = argmax %5 {axis = 1}
  %9: f32[5,R] = transpose %5
  %10: i64[R] = argmin %9 {axis = 0}
  return %6, %7, %8, %10
}`, []int{0, 0, 0, 0}},
		"the same for all rows": {`graph f(%x: f32[R,2], %s: f32[1,2]) {
  %0: f32[R] = const {value = f32[R] Z}
  %1: f32[R,1] = reshape %0 {shape = [R, 1]}
  %2: f32[R,2] = mul %x, %1
  %3: f32[R,2] = expand %s {shape = [R, 2]}
  %4: f32[R,4] = concat %2, %3 {axis = 1}
  return %4
}`, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := written(t, c.program, small), written(t, c.program, large)
			got, err := Apart(a, b, small, large, inputDims(a, b))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, c.want) {
				t.Fatalf("the rows of the outputs are in %v, want %v", got, c.want)
			}
			compare(t, a, b, inputDims(a, b), got)
		})
	}
}

// compare runs both programs on the same rows.
func compare(t *testing.T, a, b *ir.Graph, in, out []int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var many, few []*tensor.Tensor
	for i, v := range b.Inputs {
		x, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		for k := range x.Len() {
			if v.Spec.DType.IsFloat() {
				x.SetElem(k, rng.NormFloat64())
			} else {
				x.SetElem(k, float64(rng.IntN(4)))
			}
		}
		many, few = append(many, x), append(few, first(t, x, in[i]))
	}
	want, got := execute(t, a, few), execute(t, b, many)
	for i := range want {
		if !tensor.Identical(first(t, got[i], out[i]), want[i]) {
			t.Errorf("output %d: %v of %d rows, %v of %d", i, want[i], small, got[i], large)
		}
	}
}

// first takes the first rows along a dimension.
func first(t *testing.T, x *tensor.Tensor, dim int) *tensor.Tensor {
	t.Helper()
	if dim < 0 {
		return x
	}
	y, err := Resize(x, dim, small)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

func execute(t *testing.T, g *ir.Graph, in []*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	x, err := interp.New().Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	out, err := x.Run(t.Context(), in...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Programs that mix rows, or that are not known not to.
func TestMixed(t *testing.T) {
	for want, body := range map[string]string{
		"%0 = mean: it works along the rows":                       "%0: f32[4] = mean %x {axes = [0]}\n return %0",
		"%0 = sum: it works along the rows":                        "%0: f32[] = sum %x\n return %0",
		"%0 = softmax: it works along the rows":                    "%0: f32[R,4] = softmax %x {axis = 0}\n return %0",
		"%0 = layer_norm: it works along the rows":                 "%0: f32[R,4] = layer_norm %x {axis = 0}\n return %0",
		"%0 = cumsum: it works along the rows":                     "%0: f32[R,4] = cumsum %x {axis = 0}\n return %0",
		"%0 = concat: it works along the rows":                     "%0: f32[R2,4] = concat %x, %x {axis = 0}\n return %0",
		"%0 = narrow: its attributes depend on the number of rows": "%0: f32[R,4] = narrow %x {axis = 0, start = 0, length = R}\n return %0",
		"%1 = matmul: it sums over the rows of %0":                 "%0: f32[4,R] = transpose %x\n %1: f32[4,4] = matmul %0, %x\n return %1",
		"%1 = matmul: the rows of %0 meet others than their own":   "%0: f32[4,R] = transpose %x\n %1: f32[R,R] = matmul %x, %0\n return %1",
		"%1 = add: the rows of %0 meet others than their own":      "%0: f32[R,1] = reshape %r {shape = [R, 1]}\n %1: f32[R,R] = add %r, %0\n return %1",
		"%0 = gather: it works along the rows":                     "%0: f32[4] = gather %x, %one\n return %0",
		"%0 = reshape: it takes rows apart":                        "%0: f32[4,R] = reshape %x {shape = [4, R]}\n return %0",
		"%n = const: its elements depend on the number of rows":    "%n: f32[] = const {value = f32[] R.0}\n %0: f32[R,4] = div %x, %n\n return %0",
		"%0 = scatter: scatter is not known to keep rows apart":    "%i: i64[R,1] = const {value = i64[R,1] Z0}\n %u: f32[R,1] = reshape %r {shape = [R, 1]}\n %0: f32[R,4] = scatter %x, %i, %u {axis = 1}\n return %0",
		"%0 = linear: %x has rows of its own":                      "%0: f32[4,4] = linear %four, %x\n return %0",
		"output %0: rows are joined with other dimensions":         "%0: f32[R2,2] = reshape %x {shape = [R2, 2]}\n return %0",
		"%0 = max_pool2d: it works along the rows":                 "%p: f32[1,1,R,4] = reshape %x {shape = [1, 1, R, 4]}\n %0: f32[1,1,R,4] = max_pool2d %p {kernel = [1, 1]}\n return %0",
	} {
		program := fmt.Sprintf("graph f(%%x: f32[R,4], %%r: f32[R]) {\n %%one: i64[] = const {value = i64[] 1}\n %%unit: f32[] = const {value = f32[] 1.0}\n %%four: f32[4,R] = expand %%unit {shape = [4, R]}\n %s\n}", body)
		a, b := written(t, program, small), written(t, program, large)
		_, err := Apart(a, b, small, large, inputDims(a, b))
		if err == nil || err.Error() != want {
			t.Errorf("got the error %v, want %s", err, want)
		}
	}
	a, b := written(t, "graph f(%x: f32[R]) {\n %0: f32[R] = exp %x\n return %0\n}", small), written(t, "graph f(%x: f32[R]) {\n %0: f32[R] = tanh %x\n return %0\n}", large)
	if _, err := Apart(a, b, small, large, []int{0}); err == nil || err.Error() != "%0 = exp: the program for 5 rows has tanh in its place" {
		t.Errorf("two models: %v", err)
	}
}

func TestResize(t *testing.T) {
	for _, d := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.I64, tensor.I32, tensor.Bool} {
		x, err := tensor.Zeros(d, 2, 3, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range x.Len() {
			x.SetElem(i, float64(i%2))
		}
		for rows, want := range map[int][]float64{1: {0, 1}, 3: {0, 1, 0, 1, 0, 1}, 5: {0, 1, 0, 0, 0, 1, 0, 1, 1, 1}} {
			y, err := Resize(x, 1, rows)
			if err != nil || !slices.Equal(y.Values(), want) || y.DType() != d || !slices.Equal(y.Shape(), []int{2, rows, 1}) {
				t.Errorf("%d rows of %v: %v, %v", rows, x, y, err)
			}
		}
	}
	empty, err := tensor.Zeros(tensor.F32, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Resize(empty, 0, 4); err == nil || err.Error() != "a tensor [0,2] has no rows in dimension 0" {
		t.Errorf("no rows: %v", err)
	}
}

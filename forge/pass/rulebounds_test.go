package pass

import (
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/mathf"
	"forgekernel/forge/tensor"
)

// attentionBound allows for scores s that change by 1.5 ulp each: weights
// change by a factor of exp(6u|s|), and so the average of values by that much
// of the largest value.
func attentionBound(_ *ir.Graph, inputs []*tensor.Tensor) float64 {
	const u = 0x1p-24
	q, k, v := largest(inputs[0]), largest(inputs[1]), largest(inputs[2])
	score := 3 * q * k
	return (math.Expm1(6*u*score) + 8*u) * v
}

// smallAttentionBound allows for scores that change by 6u of the sum of the magnitudes of
// their terms, which rms_norm keeps to channels times its weights.
func smallAttentionBound(_ *ir.Graph, _ []*tensor.Tensor) float64 {
	const u, score, value = 0x1p-24, 4 * 2 * 2, 2 * 2
	return (math.Expm1(12*u*score) + 16*u) * value
}

// guardedAttention is a block whose queries and keys have the root of the scale as a factor, and
// whose guard gives zeros to queries without keys. The operands come from norms or tables.
func guardedAttention(inputs, q, k, v, mask string) string {
	return `graph f(` + inputs + `) {
  %w: f32[4] = const {value = f32[4] 1.0 -0.5 2.0 1.5}
  %table: f32[4,4] = const {value = f32[4,4] 1.0 -0.5 2.0 1.5 0.0 1.0 -1.0 0.25 1.0 2.0 1.0 -2.0 1.0 1.0 1.0 1.0}
  %visible: bool[1] = const {value = bool[1] true}
  %q: f32[2,M,N,4] = ` + q + `
  %k: f32[2,M,K,4] = ` + k + `
  %v: f32[2,M,K,4] = ` + v + `
  %c: f32[] = const {value = f32[] 0.70710677}
  %qc: f32[2,M,N,4] = mul %q, %c
  %kt: f32[2,M,4,K] = transpose %k {perm = [0, 1, 3, 2]}
  %kc: f32[2,M,4,K] = mul %kt, %c
  %product: f32[2,M,N,K] = matmul %qc, %kc
  %low: f32[] = const {value = f32[] -inf}
  %scores: f32[2,M,N,K] = ` + mask + `
  %weights: f32[2,M,N,K] = softmax %scores
  %eq: bool[2,M,N,K] = eq %scores, %low
  %above: bool[2,M,N,K] = not %eq
  %one: i64[2,M,N,K] = cast %above {dtype = "i64"}
  %count: i64[2,M,N,1] = sum %one {axes = [3], keepdims = true}
  %none: i64[] = const {value = i64[] 0}
  %any: bool[2,M,N,1] = gt %count, %none
  %empty: bool[2,M,N,1] = not %any
  %zero: f32[] = const {value = f32[] 0.0}
  %guarded: f32[2,M,N,K] = where %empty, %zero, %weights
  %0: f32[2,M,N,4] = matmul %guarded, %v
  return %0
}`
}

// squareBound is half an ulp of the largest square, which denormals have at
// least.
func squareBound(_ *ir.Graph, inputs []*tensor.Tensor) float64 {
	x := largest(inputs[0])
	return 0x1p-24*x*x + 0x1p-150
}

// TestSquareBorders compares pow and the product near the numbers from which
// on squares overflow or vanish.
func TestSquareBorders(t *testing.T) {
	for _, border := range []float64{math.Sqrt(math.MaxFloat32), math.Sqrt(0x1p-149), math.Sqrt(0x1p-150)} {
		middle := math.Float32bits(float32(border))
		for bits := middle - 100_000; bits < middle+100_000; bits++ {
			x := math.Float32frombits(bits)
			p, q := mathf.Pow(x, 2), x*x
			if (p == 0) != (q == 0) || math.IsInf(float64(p), 0) != math.IsInf(float64(q), 0) {
				t.Fatalf("the square of %v is %v by pow and %v by a product", x, p, q)
			}
		}
	}
}

// patterned is the data of so many different bf16 numbers. Two bits of each byte
// are not set, so that the text has no + or /, which would set letters apart.
func patterned(n int) string {
	raw := make([]byte, 2*n)
	for i := range raw {
		raw[i] = byte(i*40503>>7) & 0xb7
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// largest is the largest finite magnitude of a tensor.
func largest(x *tensor.Tensor) float64 {
	most := 0.0
	for i := range x.Len() {
		if v := math.Abs(x.Elem(i)); v > most && !math.IsInf(v, 0) {
			most = v
		}
	}
	return most
}

// normProgram spells a norm of x [M,N] in one of several ways.
func normProgram(centre bool, mean, root, tail string) string {
	lines := []string{"graph f(%x: f32[M,N], %w: f32[N], %b: f32[N]) {", "  %one: f32[] = const {value = f32[] 1.0}", "  %eps: f32[] = const {value = f32[] 1e-05}"}
	add := func(format string, args ...any) { lines = append(lines, "  "+fmt.Sprintf(format, args...)) }
	meanOf := func(out, in string) {
		switch mean {
		case "mean":
			add("%%%s: f32[M,1] = mean %%%s {axes = [-1], keepdims = true}", out, in)
		case "sum/n":
			add("%%%s_s: f32[M,1] = sum %%%s {axes = [1], keepdims = true}", out, in)
			add("%%%s_n: f32[] = const {value = f32[] N.0}", out)
			add("%%%s: f32[M,1] = div %%%s_s, %%%s_n", out, out, out)
		case "sum*(1/n)":
			add("%%%s_s: f32[M,1] = sum %%%s {axes = [1], keepdims = true}", out, in)
			add("%%%s_n: f32[] = const {value = f32[] R}", out)
			add("%%%s: f32[M,1] = mul %%%s_n, %%%s_s", out, out, out)
		}
	}
	d := "x"
	if centre {
		meanOf("mu", "x")
		add("%%d: f32[M,N] = sub %%x, %%mu")
		d = "d"
	}
	add("%%sq: f32[M,N] = mul %%%s, %%%s", d, d)
	meanOf("ms", "sq")
	add("%%ve: f32[M,1] = add %%ms, %%eps")
	switch root {
	case "div":
		add("%%r: f32[M,1] = sqrt %%ve")
		add("%%y: f32[M,N] = div %%%s, %%r", d)
	case "1/sqrt":
		add("%%r0: f32[M,1] = sqrt %%ve")
		add("%%r: f32[M,1] = div %%one, %%r0")
		add("%%y: f32[M,N] = mul %%%s, %%r", d)
	case "rsqrt":
		add("%%r: f32[M,1] = rsqrt %%ve")
		add("%%y: f32[M,N] = mul %%r, %%%s", d)
	}
	switch tail {
	case "":
		add("return %%y")
	case "weight":
		add("%%z: f32[M,N] = mul %%y, %%w")
		add("return %%z")
	case "weight and bias":
		add("%%z0: f32[M,N] = mul %%w, %%y")
		add("%%z: f32[M,N] = add %%z0, %%b")
		add("return %%z")
	}
	return strings.Join(append(lines, "}\n"), "\n")
}

// normBound allows for 4 ulp of an element, whose magnitude is at most sqrt(n)
// before weight and bias, and for a mean that is off by 2 ulp of the largest
// number over sqrt(eps).
func normBound(_ *ir.Graph, inputs []*tensor.Tensor) float64 {
	const u, eps = 0x1p-24, 1e-5
	n := float64(max(1, inputs[0].Dim(1)))
	weight := max(1, largest(inputs[1]))
	return 8*u*math.Sqrt(n)*weight + 2*u*largest(inputs[2]) + 4*u*largest(inputs[0])/math.Sqrt(eps)*weight
}

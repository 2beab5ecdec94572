package cpu

import (
	"fmt"

	"forgekernel/forge/tensor"
)

// registerTile is a tile of sums that stay in registers, rows by vectors, each in
// one or more chains that take turns. Sums are variables of their own: compilers
// keep arrays of vectors in memory.
type registerTile struct {
	*emitter
	arithmetic
	rows, vectors, chains, unroll int
}

// arithmetic is the type in which sums are computed: f32, with fused multiply-adds,
// or f64, in which every operation rounds, as in the reference.
type arithmetic struct{ suffix, vector, product string }

var (
	sumsF32 = arithmetic{"f32", "vf", "%[1]s = fma_(%[2]s, %[3]s, %[1]s);"}
	sumsF64 = arithmetic{"f64", "vd", "%[1]s = v_add_f64(%[1]s, v_mul_f64(%[2]s, %[3]s));"}
)

// arithmeticOf is that for elements of a type.
func arithmeticOf(d tensor.DType) arithmetic {
	if d == tensor.F64 {
		return sumsF64
	}
	return sumsF32
}

func (a arithmetic) zero() string { return "set_" + a.suffix + "(0)" }

// plus adds two vectors.
func (a arithmetic) plus(x, y string) string {
	if a == sumsF64 {
		return fmt.Sprintf("v_add_f64(%s, %s)", x, y)
	}
	return x + " + " + y
}

func (t registerTile) sum(chain, r, j int) string {
	if chain > 0 {
		return fmt.Sprintf("c%d_%d_%d", r, j, chain)
	}
	return fmt.Sprintf("c%d_%d", r, j)
}

// start declares the sums; first gives what the first chain begins with.
func (t registerTile) start(first func(r, j int) string) {
	for r := range t.rows {
		for j := range t.vectors {
			t.Line("%s %s = %s;", t.vector, t.sum(0, r, j), first(r, j))
			for chain := 1; chain < t.chains; chain++ {
				t.Line("%s %s = %s;", t.vector, t.sum(chain, r, j), t.zero())
			}
		}
	}
}

// add adds one product of a column of A and a row of B. What a gives, set_ completes
// to an element of A in all lanes.
func (t registerTile) add(chain int, a func(r int) string, b func(j int) string) {
	t.Open("")
	for j := range t.vectors {
		t.Line("%s b%d = %s;", t.vector, j, b(j))
		if t.arithmetic == sumsF32 {
			t.Line("PIN(b%d);", j)
		}
	}
	for r := range t.rows {
		t.Line("%s a%d = set_%s;", t.vector, r, a(r))
		for j := range t.vectors {
			t.Line(t.product, t.sum(chain, r, j), fmt.Sprintf("a%d", r), fmt.Sprintf("b%d", j))
		}
	}
	t.Close()
}

// loop adds the products of all k below n, which step names.
func (t registerTile) loop(n int, step func(chain int, k string)) {
	round := t.chains * t.unroll
	whole := n / round * round
	t.Open("for (long k = 0; k < %d; k += %d)", whole, round)
	for i := range round {
		step(i%t.chains, fmt.Sprintf("(k + %d)", i))
	}
	t.Close()
	for k := whole; k < n; k++ {
		step(0, fmt.Sprint(k))
	}
}

// join adds the chains of each sum.
func (t registerTile) join() {
	for width := t.chains / 2; width > 0; width /= 2 {
		for r := range t.rows {
			for j := range t.vectors {
				for chain := range width {
					t.Line("%s = %s;", t.sum(chain, r, j), t.plus(t.sum(chain, r, j), t.sum(chain+width, r, j)))
				}
			}
		}
	}
}

package cpu

import "fmt"

// registerTile is a tile of sums that stay in registers, rows by vectors, each in
// one or more chains that take turns. Sums are variables of their own: compilers
// keep arrays of vectors in memory.
type registerTile struct {
	*emitter
	rows, vectors, chains, unroll int
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
			t.line("vf %s = %s;", t.sum(0, r, j), first(r, j))
			for chain := 1; chain < t.chains; chain++ {
				t.line("vf %s = set(0);", t.sum(chain, r, j))
			}
		}
	}
}

// add adds one product of a column of A, whose elements a gives, and a row of B.
func (t registerTile) add(chain int, a func(r int) string, b func(j int) string) {
	t.open("")
	for j := range t.vectors {
		t.line("vf b%d = %s; PIN(b%d);", j, b(j), j)
	}
	for r := range t.rows {
		t.line("vf a%d = set(%s);", r, a(r))
		for j := range t.vectors {
			sum := t.sum(chain, r, j)
			t.line("%s = fma_(a%d, b%d, %s);", sum, r, j, sum)
		}
	}
	t.close()
}

// loop adds the products of all k below n, which step names.
func (t registerTile) loop(n int, step func(chain int, k string)) {
	round := t.chains * t.unroll
	whole := n / round * round
	t.open("for (long k = 0; k < %d; k += %d)", whole, round)
	for i := range round {
		step(i%t.chains, fmt.Sprintf("(k + %d)", i))
	}
	t.close()
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
					t.line("%s += %s;", t.sum(chain, r, j), t.sum(chain+width, r, j))
				}
			}
		}
	}
}

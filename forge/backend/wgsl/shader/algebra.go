package shader

import (
	"cmp"
	"fmt"
	"slices"

	"forgekernel/forge/backend/wgsl/shader/check"
)

// algebra is what a compiler knows of f32 that takes them for real numbers, by the registers
// that hold them. Each register but those of variables is written by one op, as temporaries
// are not used again.
type algebra struct {
	sums     map[int32]sum // also of constants
	products map[int32][2]reg
	added    map[int32]addition
}

func newAlgebra() *algebra {
	return &algebra{make(map[int32]sum), make(map[int32][2]reg), make(map[int32]addition)}
}

// addition is x + y or x - y.
type addition struct {
	x, y  reg
	minus bool
}

// A sum of products of registers, in the order of their keys.
type sum []term

type term struct {
	factor float32
	of     []reg // by place
	key    string
}

// maxTerms and maxDegree bound what is multiplied out, which else is a number of its own.
const (
	maxTerms  = 16
	maxDegree = 4
)

func newTerm(factor float32, of []reg) term {
	of = slices.SortedFunc(slices.Values(of), func(a, b reg) int { return cmp.Compare(a.off, b.off) })
	key := ""
	for _, r := range of {
		key += fmt.Sprintf("%08x", r.off)
	}
	return term{factor, of, key}
}

// collect adds up the terms of equal products.
func collect(s sum) sum {
	slices.SortStableFunc(s, func(a, b term) int { return cmp.Compare(a.key, b.key) })
	var out sum
	for _, t := range s {
		if n := len(out); n > 0 && out[n-1].key == t.key {
			out[n-1].factor += t.factor
		} else {
			out = append(out, t)
		}
	}
	return slices.DeleteFunc(out, func(t term) bool { return t.factor == 0 })
}

func (s sum) times(factor float32) sum {
	out := slices.Clone(s)
	for i := range out {
		out[i].factor *= factor
	}
	return out
}

// simple says whether a compiler would rather compute s than what it was made of.
func (s sum) simple() bool {
	return len(s) <= 2 && !slices.ContainsFunc(s, func(t term) bool { return len(t.of) > 2 })
}

// sum is what is known of r.
func (c *compiler) sum(r reg) sum {
	if s, ok := c.algebra.sums[r.off]; ok && !r.mutable {
		return s
	}
	if r.mutable {
		r = c.copied(r)
	}
	return sum{newTerm(1, []reg{r})}
}

// real computes x + y, x - y, x * y or x / y: as a simpler sum where terms cancel or are
// multiples of others; else a product joins the sum that it goes into, and sums are regrouped.
func (c *compiler) real(name string, x, y reg) reg {
	if name == "/" {
		return c.real("*", x, c.combine(slow(reciprocal), y, y))
	}
	x, y = c.stable(value{x})[0], c.stable(value{y})[0]
	all, known := c.expanded(name, c.sum(x), c.sum(y))
	if !known {
		return c.combine(floatBinary[name], x, y)
	}
	terms := len(all)
	all = collect(all)
	var d reg
	switch {
	case len(all) < terms && all.simple():
		d = c.total(all)
	case name == "*":
		d = c.combine(floatBinary[name], x, y)
		c.algebra.products[d.off] = [2]reg{x, y}
	default:
		d = c.added(addition{x, y, name == "-"})
	}
	c.algebra.sums[d.off] = all
	return d
}

// expanded is the sum that x and y make, unless it is too long.
func (c *compiler) expanded(name string, x, y sum) (s sum, known bool) {
	switch name {
	case "+":
		s = append(slices.Clone(x), y...)
	case "-":
		s = append(slices.Clone(x), y.times(-1)...)
	default:
		for _, a := range x {
			for _, b := range y {
				s = append(s, newTerm(a.factor*b.factor, append(slices.Clone(a.of), b.of...)))
			}
		}
	}
	long := func(t term) bool { return len(t.of) > maxDegree }
	return s, len(s) <= maxTerms && !slices.ContainsFunc(s, long)
}

// total computes a simple sum. Its products are rounded: a compiler has them from elsewhere.
func (c *compiler) total(s sum) reg {
	if len(s) == 0 {
		return c.constant(0)
	}
	d := c.multiplied(s[0])
	for _, t := range s[1:] {
		d = c.combine(floatBinary["+"], d, c.multiplied(t))
	}
	return d
}

func (c *compiler) multiplied(t term) reg {
	if len(t.of) == 0 {
		return c.constant(word(t.factor))
	}
	d := t.of[0]
	for _, r := range t.of[1:] {
		d = c.combine(floatBinary["*"], d, r)
	}
	if t.factor != 1 {
		d = c.combine(floatBinary["*"], d, c.constant(word(t.factor)))
	}
	return d
}

// added computes a sum: of x and the product that y is, or y and the product that x is, in one
// rounding; of the first part of y and then its second; or of the first part of x and the sum of
// the others.
func (c *compiler) added(a addition) reg {
	if p, ok := c.algebra.products[a.y.off]; ok {
		return c.joined(p, a.x, a.minus, false)
	}
	if p, ok := c.algebra.products[a.x.off]; ok {
		return c.joined(p, a.y, false, a.minus)
	}
	if y, ok := c.algebra.added[a.y.off]; ok {
		return c.plus(c.plus(a.x, y.x, a.minus), y.y, a.minus != y.minus)
	}
	if x, ok := c.algebra.added[a.x.off]; ok {
		return c.plus(x.x, c.plus(x.y, a.y, a.minus != x.minus), x.minus)
	}
	d := c.plus(a.x, a.y, a.minus)
	c.algebra.added[d.off] = a
	return d
}

func (c *compiler) plus(x, y reg, minus bool) reg {
	if minus {
		return c.combine(floatBinary["-"], x, y)
	}
	return c.combine(floatBinary["+"], x, y)
}

// joined is fma of a product and a number, with their signs.
func (c *compiler) joined(p [2]reg, z reg, minusProduct, minusOther bool) reg {
	f := func(x, y, z uint32) uint32 {
		if minusProduct {
			x ^= 1 << 31
		}
		if minusOther {
			z ^= 1 << 31
		}
		return fmaFloat(x, y, z)
	}
	return c.three(target{}, slow3(f), p[0], p[1], z)
}

// reciprocal is 1 / y, with which a compiler multiplies; the operator has two operands.
func reciprocal(y, _ uint32) uint32 { return word(1 / f32(y)) }

// inexactRoot is the square root as the reciprocal of its reciprocal.
func inexactRoot(x uint32) uint32 {
	r := sqrtFloat(x)
	if v := 1 / (1 / f32(r)); v-v == 0 && f32(r) != 0 {
		return word(v)
	}
	return r
}

// negated is -v.
func (c *compiler) negated(v value) value {
	v = c.stable(v)
	r := c.each(v, slow1(negFloat))
	for i := range r {
		c.algebra.sums[r[i].off] = c.sum(v[i]).times(-1)
	}
	return r
}

// reals computes an operation on the components of a and b, if the compiler takes floats for
// real numbers and this is one on them.
func (c *compiler) reals(x *check.Expr, args []value) value {
	if c.algebra == nil || x.Type.Scalar().Kind != check.F32 {
		return nil
	}
	at := func(k, i int) reg { return args[k][min(i, len(args[k])-1)] }
	v := make(value, x.Type.Words)
	for i := range v {
		switch x.Name {
		case "+", "-", "*", "/":
			v[i] = c.real(x.Name, at(0, i), at(1, i))
		case "fma":
			v[i] = c.real("+", c.real("*", at(0, i), at(1, i)), at(2, i))
		case "sqrt":
			v[i] = c.each(value{at(0, i)}, slow1(inexactRoot))[0]
		default:
			return nil
		}
	}
	return v
}

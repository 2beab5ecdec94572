package shader

import (
	"math"

	"forgekernel/forge/backend/wgsl/shader/check"
)

func f32(w uint32) float32  { return math.Float32frombits(w) }
func word(f float32) uint32 { return math.Float32bits(f) }

func truth(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// operator finds the loops of a binary operator on components of kind k.
func operator(name string, k check.Kind) lanewise {
	switch k {
	case check.F32:
		return floatBinary[name]
	case check.F16:
		return halves(name)
	}
	if o, ok := intBinary[name]; ok {
		return o
	}
	if k == check.I32 {
		return signedBinary[name]
	}
	return unsignedBinary[name]
}

// halves rounds the result of an f32 operator to f16, which is the f16
// operator's own result: f32 has more than twice its digits.
func halves(name string) lanewise {
	f := floatBinary[name].one
	switch name {
	case "+", "-", "*", "/", "%":
		return slow(func(x, y uint32) uint32 { return word(roundHalf(f32(f(x, y)))) })
	}
	return floatBinary[name]
}

// roundHalf rounds to f16. Normal numbers are rounded in their bits; below them
// the sum with 0.75 drops what is less than the least f16.
func roundHalf(v float32) float32 {
	b := word(v)
	switch a := b &^ (1 << 31); {
	case a >= 0x47800000: // 65536, and what is no number
		if v != v {
			return v
		}
		return f32(b&(1<<31) | 0x7f800000)
	case a < 0x38800000: // 2^-14
		return f32(word(f32(a)+0.75-0.75) | b&(1<<31))
	}
	b = (b + 0xfff + b>>13&1) &^ 0x1fff
	if b&^(1<<31) >= 0x47800000 {
		b = b&(1<<31) | 0x7f800000
	}
	return f32(b)
}

// A target is the register of a variable that an assignment under way writes,
// where an operation may write it itself. The zero target is none.
type target struct {
	reg reg
	is  bool
}

// targets takes the registers that the assignment under way writes, if its
// right side is the expression being compiled, for an operation on args.
// Component i of the result may go to its target unless a later component
// still reads it.
func (c *compiler) targets(into value, args []value) func(i int) target {
	for _, a := range args {
		for i, r := range a {
			for j, t := range into {
				if r.off == t.off && i != j {
					return func(int) target { return target{} }
				}
			}
		}
	}
	return func(i int) target {
		if into == nil {
			return target{}
		}
		return target{into[i], true}
	}
}

// result emits the op that make makes for a register, and gives the register.
func (c *compiler) result(t target, wide bool, make func(d reg) op) reg {
	d := c.temp(wide)
	if !t.is || !wide {
		c.emit(make(d))
		return d
	}
	direct, apart := make(t.reg), make(d)
	c.effect(func(m *machine) {
		if m.n == m.hi-m.lo {
			direct(m)
			return
		}
		apart(m)
		m.assign(m.wide(t.reg), d)
	})
	return t.reg
}

// combine applies an operator to two registers.
func (c *compiler) combine(o lanewise, x, y reg) reg { return c.combineTo(target{}, o, x, y) }

func (c *compiler) combineTo(t target, o lanewise, x, y reg) reg {
	return c.result(t, x.wide || y.wide, func(d reg) op { return combination(o, d, x, y) })
}

// combination is the op that sets d, wide where x or y is.
func combination(o lanewise, d, x, y reg) op {
	switch {
	case !d.wide:
		return func(m *machine) { m.regs[d.off] = o.one(m.regs[x.off], m.regs[y.off]) }
	case !y.wide:
		return func(m *machine) { o.vs(m.span(d), m.span(x), m.regs[y.off]) }
	case !x.wide:
		return func(m *machine) { o.sv(m.span(d), m.regs[x.off], m.span(y)) }
	}
	return func(m *machine) { o.vv(m.span(d), m.span(x), m.span(y)) }
}

// A ternary operator on three words: for one triple, and for wide registers.
type ternary struct {
	one func(x, y, z uint32) uint32
	vvv func(d, x, y, z []uint32)
}

func slow3(f func(x, y, z uint32) uint32) ternary {
	return ternary{f, func(d, x, y, z []uint32) { zip3(d, x, y, z, f) }}
}

// three applies a ternary operator to three registers.
func (c *compiler) three(t target, o ternary, x, y, z reg) reg {
	wide := x.wide || y.wide || z.wide
	if wide {
		x, y, z = c.widened(x), c.widened(y), c.widened(z)
	}
	return c.result(t, wide, func(d reg) op {
		if !wide {
			return func(m *machine) { m.regs[d.off] = o.one(m.regs[x.off], m.regs[y.off], m.regs[z.off]) }
		}
		return func(m *machine) { o.vvv(m.span(d), m.span(x), m.span(y), m.span(z)) }
	})
}

// widened is r as a wide register.
func (c *compiler) widened(r reg) reg {
	if r.wide {
		return r
	}
	d := c.temp(true)
	c.move(d, r)
	return d
}

// A single operator on a word, and on a wide register.
type single struct {
	one func(x uint32) uint32
	v   func(d, x []uint32)
}

func slow1(f func(x uint32) uint32) single {
	return single{f, func(d, x []uint32) { zip1(d, x, f) }}
}

// each applies an operator to every register of a value.
func (c *compiler) each(v value, o single) value {
	r := make(value, len(v))
	for i, x := range v {
		d := c.temp(x.wide)
		r[i] = d
		if d.wide {
			c.emit(func(m *machine) { o.v(m.span(d), m.span(x)) })
		} else {
			c.emit(func(m *machine) { m.regs[d.off] = o.one(m.regs[x.off]) })
		}
	}
	return r
}

func (c *compiler) unary(x *check.Expr, v value) value {
	switch {
	case x.Name == "!":
		return c.each(v, single{notBool, func(d, x []uint32) { zip1(d, x[:len(d)], notBool) }})
	case x.Name == "~":
		return c.each(v, single{notInt, func(d, x []uint32) { zip1(d, x[:len(d)], notInt) }})
	case c.algebra != nil && x.Type.Scalar().Kind == check.F32:
		return c.negated(v)
	case x.Type.Scalar().IsFloat():
		return c.each(v, single{negFloat, func(d, x []uint32) { zip1(d, x[:len(d)], negFloat) }})
	}
	return c.each(v, single{negInt, func(d, x []uint32) { zip1(d, x[:len(d)], negInt) }})
}

func (c *compiler) binary(x *check.Expr, a, b, into value) value {
	xt, yt := x.Args[0].Type, x.Args[1].Type
	k := xt.Scalar().Kind
	if isProduct(x) {
		return c.product(k, xt, yt, a, b)
	}
	if v := c.reals(x, []value{a, b}); v != nil {
		return v
	}
	o := operator(x.Name, k)
	to := c.targets(into, []value{a, b})
	v := make(value, x.Type.Words)
	for i := range v {
		v[i] = c.combineTo(to(i), o, a[min(i, len(a)-1)], b[min(i, len(b)-1)])
	}
	return v
}

// isProduct says whether x is a product of matrices or of one and a vector.
func isProduct(x *check.Expr) bool {
	xt, yt := x.Args[0].Type, x.Args[1].Type
	return x.Name == "*" && (xt.Kind == check.Mat && yt.Words > 1 || yt.Kind == check.Mat && xt.Words > 1)
}

// mulAdd compiles p + q*r of f32 in one pass over the lanes, each operation
// rounded by itself; it gives nil where x is something else.
func (c *compiler) mulAdd(x *check.Expr, into value) value {
	if x.Name != "+" || c.algebra != nil || x.Type.Scalar().Kind != check.F32 || calls(x) {
		return nil
	}
	sum, product := x.Args[0], x.Args[1]
	if product.Op != check.Binary || product.Name != "*" || isProduct(product) {
		return nil
	}
	p, q, r := c.value(sum), c.value(product.Args[0]), c.value(product.Args[1])
	to := c.targets(into, []value{p, q, r})
	v := make(value, x.Type.Words)
	for i := range v {
		v[i] = c.three(to(i), mulAdd, p[min(i, len(p)-1)], q[min(i, len(q)-1)], r[min(i, len(r)-1)])
	}
	return v
}

var mulAdd = ternary{mulAddFloat, func(d, x, y, z []uint32) { zip3(d, x[:len(d)], y[:len(d)], z[:len(d)], mulAddFloat) }}

func mulAddFloat(x, y, z uint32) uint32 { return word(f32(x) + float32(f32(y)*f32(z))) }

func (c *compiler) product(k check.Kind, xt, yt *check.Type, a, b value) value {
	columns, rows, terms := check.Product(xt, yt)
	v := make(value, columns*rows)
	for col := range columns {
		for row := range rows {
			x := make(value, terms)
			for i := range x {
				x[i] = a[i*rows+row]
			}
			v[col*rows+row] = c.dot(k, x, b[col*terms:(col+1)*terms])
		}
	}
	return v
}

func (c *compiler) dot(k check.Kind, a, b value) reg {
	mul, add := operator("*", k), operator("+", k)
	sum := c.combine(mul, a[0], b[0])
	for i := 1; i < len(a); i++ {
		sum = c.combine(add, sum, c.combine(mul, a[i], b[i]))
	}
	return sum
}

// conversion is the operator that converts one scalar, or nil where the word
// stays.
func conversion(from, to check.Kind) *single {
	floating := from == check.F32 || from == check.F16
	var f func(uint32) uint32
	switch {
	case from == to, to == check.F32 && from == check.F16, !floating && (to == check.I32 || to == check.U32):
		return nil
	case to == check.F32 && from == check.I32:
		return &single{signedFloat, func(d, x []uint32) { zip1(d, x[:len(d)], signedFloat) }}
	case to == check.F32:
		return &single{unsignedFloat, func(d, x []uint32) { zip1(d, x[:len(d)], unsignedFloat) }}
	case to == check.Bool && floating:
		f = func(w uint32) uint32 { return truth(f32(w) != 0) }
	case to == check.Bool:
		f = func(w uint32) uint32 { return truth(w != 0) }
	case to == check.I32: // to the nearest number that both types have
		f = func(w uint32) uint32 { return uint32(int32(max(min(f32(w), 2147483520), math.MinInt32))) }
	case to == check.U32:
		f = func(w uint32) uint32 { return uint32(int64(max(min(f32(w), 4294967040), 0))) }
	case floating:
		f = func(w uint32) uint32 { return word(roundHalf(f32(w))) }
	case from == check.I32:
		f = func(w uint32) uint32 { return word(float32(check.RoundF16(float64(int32(w))))) }
	default:
		f = func(w uint32) uint32 { return word(float32(check.RoundF16(float64(w)))) }
	}
	o := slow1(f)
	return &o
}

func signedFloat(w uint32) uint32   { return word(float32(int32(w))) }
func unsignedFloat(w uint32) uint32 { return word(float32(w)) }

package shader

import (
	"math"

	"forgekernel/forge/backend/wgsl/shader/check"
)

// A lanewise operator on two words: for one pair, for two wide registers, and
// for a wide and a narrow one. The loops have all their slices of one length.
type lanewise struct {
	one func(x, y uint32) uint32
	vv  func(d, x, y []uint32)
	vs  func(d, x []uint32, y uint32)
	sv  func(d []uint32, x uint32, y []uint32)
}

// slow makes the loops of an operator that has none of its own.
func slow(f func(x, y uint32) uint32) lanewise {
	return lanewise{f,
		func(d, x, y []uint32) {
			for i := range d {
				d[i] = f(x[i], y[i])
			}
		}, func(d, x []uint32, y uint32) {
			for i := range d {
				d[i] = f(x[i], y)
			}
		}, func(d []uint32, x uint32, y []uint32) {
			for i := range d {
				d[i] = f(x, y[i])
			}
		}}
}

func f32(w uint32) float32  { return math.Float32frombits(w) }
func word(f float32) uint32 { return math.Float32bits(f) }

func truth(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

func floats(f func(x, y float32) float32) lanewise {
	return slow(func(x, y uint32) uint32 { return word(f(f32(x), f32(y))) })
}

func compares(f func(x, y float32) bool) lanewise {
	return slow(func(x, y uint32) uint32 { return truth(f(f32(x), f32(y))) })
}

var floatBinary = map[string]lanewise{
	"+": addFloats, "-": subFloats, "*": mulFloats,
	"/":  floats(func(x, y float32) float32 { return x / y }),
	"%":  floats(func(x, y float32) float32 { return float32(math.Mod(float64(x), float64(y))) }),
	"==": compares(func(x, y float32) bool { return x == y }),
	"!=": compares(func(x, y float32) bool { return x != y }),
	"<":  compares(func(x, y float32) bool { return x < y }),
	">":  compares(func(x, y float32) bool { return x > y }),
	"<=": compares(func(x, y float32) bool { return x <= y }),
	">=": compares(func(x, y float32) bool { return x >= y }),
}

// intBinary are the operators that treat i32 and u32 alike, and bool.
var intBinary = map[string]lanewise{
	"+": addInts, "-": subInts, "*": mulInts,
	"&":  slow(func(x, y uint32) uint32 { return x & y }),
	"|":  slow(func(x, y uint32) uint32 { return x | y }),
	"^":  slow(func(x, y uint32) uint32 { return x ^ y }),
	"<<": slow(func(x, y uint32) uint32 { return x << (y & 31) }),
	"==": slow(func(x, y uint32) uint32 { return truth(x == y) }),
	"!=": slow(func(x, y uint32) uint32 { return truth(x != y) }),
}

var signedBinary = map[string]lanewise{
	"/":  slow(func(x, y uint32) uint32 { return uint32(divide(int32(x), int32(y))) }),
	"%":  slow(func(x, y uint32) uint32 { return uint32(remainder(int32(x), int32(y))) }),
	">>": slow(func(x, y uint32) uint32 { return uint32(int32(x) >> (y & 31)) }),
	"<":  slow(func(x, y uint32) uint32 { return truth(int32(x) < int32(y)) }),
	">":  slow(func(x, y uint32) uint32 { return truth(int32(x) > int32(y)) }),
	"<=": slow(func(x, y uint32) uint32 { return truth(int32(x) <= int32(y)) }),
	">=": slow(func(x, y uint32) uint32 { return truth(int32(x) >= int32(y)) }),
}

var unsignedBinary = map[string]lanewise{
	"/": slow(func(x, y uint32) uint32 {
		if y == 0 {
			return x
		}
		return x / y
	}),
	"%": slow(func(x, y uint32) uint32 {
		if y == 0 {
			return 0
		}
		return x % y
	}),
	">>": slow(func(x, y uint32) uint32 { return x >> (y & 31) }),
	"<":  slow(func(x, y uint32) uint32 { return truth(x < y) }),
	">":  slow(func(x, y uint32) uint32 { return truth(x > y) }),
	"<=": slow(func(x, y uint32) uint32 { return truth(x <= y) }),
	">=": slow(func(x, y uint32) uint32 { return truth(x >= y) }),
}

// divide and remainder give what WGSL defines where the quotient is no i32:
// the dividend, and zero.
func divide(x, y int32) int32 {
	if y == 0 || y == -1 && x == math.MinInt32 {
		return x
	}
	return x / y
}

func remainder(x, y int32) int32 {
	if y == 0 || y == -1 {
		return 0
	}
	return x % y
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

func roundHalf(v float32) float32 { return float32(check.RoundF16(float64(v))) }

// combine applies an operator to two registers.
func (c *compiler) combine(o lanewise, x, y reg) reg {
	d := c.temp(x.wide || y.wide)
	switch {
	case !d.wide:
		c.emit(func(m *machine) { m.regs[d.off] = o.one(m.regs[x.off], m.regs[y.off]) })
	case !y.wide:
		c.emit(func(m *machine) { o.vs(m.span(d), m.span(x), m.regs[y.off]) })
	case !x.wide:
		c.emit(func(m *machine) { o.sv(m.span(d), m.regs[x.off], m.span(y)) })
	default:
		c.emit(func(m *machine) { o.vv(m.span(d), m.span(x), m.span(y)) })
	}
	return d
}

// each applies a function to every register of a value.
func (c *compiler) each(v value, f func(uint32) uint32) value {
	r := make(value, len(v))
	for i, x := range v {
		d := c.temp(x.wide)
		r[i] = d
		if !d.wide {
			c.emit(func(m *machine) { m.regs[d.off] = f(m.regs[x.off]) })
			continue
		}
		c.emit(func(m *machine) {
			to, from := m.span(d), m.span(x)
			for i := range to {
				to[i] = f(from[i])
			}
		})
	}
	return r
}

func (c *compiler) unary(x *check.Expr, v value) value {
	switch {
	case x.Name == "!":
		return c.each(v, func(w uint32) uint32 { return w ^ 1 })
	case x.Name == "~":
		return c.each(v, func(w uint32) uint32 { return ^w })
	case x.Type.Scalar().IsFloat():
		return c.each(v, func(w uint32) uint32 { return w ^ 1<<31 })
	}
	return c.each(v, func(w uint32) uint32 { return -w })
}

func (c *compiler) binary(x *check.Expr, a, b value) value {
	xt, yt := x.Args[0].Type, x.Args[1].Type
	k := xt.Scalar().Kind
	if x.Name == "*" && (xt.Kind == check.Mat && yt.Words > 1 || yt.Kind == check.Mat && xt.Words > 1) {
		return c.product(k, xt, yt, a, b)
	}
	o := operator(x.Name, k)
	v := make(value, x.Type.Words)
	for i := range v {
		v[i] = c.combine(o, a[min(i, len(a)-1)], b[min(i, len(b)-1)])
	}
	return v
}

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

// conversion is the function that converts one scalar, or nil where the word
// stays.
func conversion(from, to check.Kind) func(uint32) uint32 {
	floating := from == check.F32 || from == check.F16
	switch {
	case from == to, to == check.F32 && from == check.F16, from != check.F32 && from != check.F16 && (to == check.I32 || to == check.U32):
		return nil
	case to == check.Bool && floating:
		return func(w uint32) uint32 { return truth(f32(w) != 0) }
	case to == check.Bool:
		return func(w uint32) uint32 { return truth(w != 0) }
	case to == check.I32:
		return func(w uint32) uint32 {
			return uint32(int32(max(min(f32(w), 2147483520), math.MinInt32)))
		}
	case to == check.U32:
		return func(w uint32) uint32 { return uint32(int64(max(min(f32(w), 4294967040), 0))) }
	case to == check.F16 && floating:
		return func(w uint32) uint32 { return word(roundHalf(f32(w))) }
	}
	number := func(w uint32) float64 { return float64(w) }
	if from == check.I32 {
		number = func(w uint32) float64 { return float64(int32(w)) }
	}
	if to == check.F16 {
		return func(w uint32) uint32 { return word(float32(check.RoundF16(number(w)))) }
	}
	return func(w uint32) uint32 { return word(float32(number(w))) }
}

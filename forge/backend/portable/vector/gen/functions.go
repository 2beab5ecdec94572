package main

import "math"

// function is an elementwise operation, under the name of the operator.
type function struct {
	name string
	f    any
}

func (f function) of1(m *machine, x []value) value { return f.f.(func(*machine, value) value)(m, x[0]) }
func (f function) of2(m *machine, x []value) value {
	return f.f.(func(*machine, value, value) value)(m, x[0], x[1])
}

// The elementary functions repeat those of package mathf operation by operation;
// only their branches have become choices.
var unary = []function{
	{"neg", (*machine).neg},
	{"abs", (*machine).abs},
	{"not", func(m *machine, x value) value { return m.xor(x, m.bits(0xffffffff)) }},
	{"relu", func(m *machine, x value) value { return m.choose(m.compare(le, x, m.set(0)), m.set(0), x) }},
	{"sqrt", (*machine).sqrt},
	{"rsqrt", func(m *machine, x value) value { return m.div(m.set(1), m.sqrt(x)) }},
	{"exp", (*machine).exp},
	{"log", (*machine).log},
	{"sigmoid", (*machine).sigmoid},
	{"tanh", (*machine).tanh},
	{"silu", (*machine).silu},
	{"erf", (*machine).erf},
	{"gelu", (*machine).gelu},
	{"geluTanh", (*machine).geluTanh},
}

var binary = []function{
	{"add", (*machine).add},
	{"sub", (*machine).sub},
	{"mul", (*machine).mul},
	{"div", (*machine).div},
	{"maximum", (*machine).maximum},
	{"minimum", (*machine).minimum},
	{"and", (*machine).and},
	{"or", (*machine).or},
	comparison("eq", eq), comparison("ne", ne), comparison("lt", lt),
	comparison("le", le), comparison("gt", gt), comparison("ge", ge),
}

var folds = []function{
	{"foldSum", (*machine).add},
	{"foldMax", (*machine).maximum},
	{"foldMin", (*machine).minimum},
}

func comparison(name string, how uint8) function {
	return function{name, func(m *machine, a, b value) value { return m.bitsOf(m.compare(how, a, b)) }}
}

// isNaN holds for NaNs.
func (m *machine) isNaN(x value) mask { return m.compare(ne, x, x) }

// maximum is NaN beside a NaN; 0 is larger than -0.
func (m *machine) maximum(a, b value) value {
	r := m.choose(m.compare(gt, a, b), a, m.choose(m.compare(gt, b, a), b, m.and(a, b)))
	return m.choose(m.isNaN(a), a, m.choose(m.isNaN(b), b, r))
}

func (m *machine) minimum(a, b value) value {
	r := m.choose(m.compare(lt, a, b), a, m.choose(m.compare(lt, b, a), b, m.or(a, b)))
	return m.choose(m.isNaN(a), a, m.choose(m.isNaN(b), b, r))
}

func (m *machine) rounded(z value) value {
	return m.sub(m.add(z, m.set(0x1.8p23)), m.set(0x1.8p23))
}

// scale is p 2^n, by way of two factors.
func (m *machine) scale(p, n value) value {
	k := m.toInt(n)
	half := m.shiftRight(k, 1)
	power := func(k value) value { return m.shiftLeft(m.addi(k, m.bits(127)), 23) }
	return m.mul(m.mul(p, power(half)), power(m.subi(k, half)))
}

// expParts are n and p with exp(x) = p 2^n.
func (m *machine) expParts(x value) (n, p value) {
	n = m.rounded(m.mul(x, m.set(0x1.715476p+0)))
	r := m.fma(n, m.set(-0x1.62e43p-1), x)
	r = m.fma(n, m.set(0x1.05c61p-29), r)
	q := m.horner(r, 0x1.68fde2p-10, 0x1.12534p-7, 0x1.5559acp-5, 0x1.55546cp-3, 0x1.fffffcp-2)
	return n, m.add(m.set(1), m.fma(q, m.mul(r, r), r))
}

func (m *machine) exp(x value) value {
	n, p := m.expParts(x)
	y := m.scale(p, n)
	y = m.choose(m.compare(lt, x, m.set(-104)), m.set(0), y)
	y = m.choose(m.compare(gt, x, m.set(89)), m.set(math.Inf(1)), y)
	return m.choose(m.isNaN(x), x, y)
}

func (m *machine) log(x value) value {
	low := m.compare(lt, x, m.set(0x1p-126))
	y := m.choose(low, m.mul(x, m.set(0x1p23)), x)
	e := m.choose(low, m.set(-23), m.set(0))
	k := m.shiftRight(m.subi(y, m.bits(0x3f3504f3)), 23)
	e = m.add(e, m.toFloat(k))
	f := m.sub(m.subi(y, m.shiftLeft(k, 23)), m.set(1))
	p := m.horner(f, 0x1.b6593cp-5, -0x1.bf6312p-4, 0x1.effadep-4, -0x1.010438p-3, 0x1.23036cp-3,
		-0x1.552f18p-3, 0x1.99a54p-3, -0x1.00007p-2, 0x1.555548p-2)
	f2 := m.mul(f, f)
	tail := m.fma(e, m.set(-0x1.05c61p-29), m.mul(m.mul(p, f), f2))
	tail = m.fma(f2, m.set(-0.5), tail)
	r := m.fma(e, m.set(0x1.62e43p-1), m.add(f, tail))
	r = m.choose(m.compare(gt, x, m.set(math.MaxFloat32)), x, r)
	r = m.choose(m.compare(eq, x, m.set(0)), m.set(math.Inf(-1)), r)
	return m.choose(m.either(m.isNaN(x), m.compare(lt, x, m.set(0))), m.bits(0x7fc00000), r)
}

func (m *machine) sigmoid(x value) value {
	z := m.exp(m.neg(m.abs(x)))
	return m.div(m.choose(m.compare(lt, x, m.set(0)), z, m.set(1)), m.add(m.set(1), z))
}

func (m *machine) tanh(x value) value {
	a, u := m.abs(x), m.mul(x, x)
	p := m.horner(u, -0x1.750ce2p-8, 0x1.51f8cep-6, -0x1.b835a4p-5, 0x1.1106f6p-3, -0x1.555532p-2)
	near := m.fma(m.mul(p, u), x, x)
	far := m.sub(m.set(1), m.div(m.set(2), m.add(m.exp(m.add(a, a)), m.set(1))))
	return m.copysign(m.choose(m.compare(lt, a, m.set(0.625)), near, far), x)
}

func (m *machine) silu(x value) value {
	n, p := m.expParts(x)
	small := m.scale(m.mul(x, p), n)
	z := m.exp(m.neg(m.abs(x)))
	y := m.div(m.choose(m.compare(lt, x, m.set(0)), m.mul(x, z), x), m.add(m.set(1), z))
	y = m.choose(m.compare(lt, x, m.set(-17)), small, y)
	y = m.choose(m.compare(lt, x, m.set(-110)), m.bits(0x80000000), y)
	return m.choose(m.isNaN(x), x, y)
}

// upperTail is factor times the probability that a normal variable exceeds a.
func (m *machine) upperTail(a, factor value) value {
	h := m.mul(a, a)
	e := m.fma(a, a, m.neg(h))
	r := m.div(m.set(1), m.add(a, m.set(4)))
	u := m.mul(m.sub(a, m.set(4)), r)
	g := m.horner(u, -0x1.cb10f2p-14, 0x1.b7ee0ep-13, 0x1.97ba38p-10, -0x1.cfe026p-9, -0x1.ecfbdap-8,
		0x1.eee372p-5, -0x1.7e002cp-3, 0x1.8c6d72p-2, -0x1.373e38p-1, 0x1.82b4bcp-1)
	g = m.mul(g, r)
	g = m.fma(g, m.mul(m.set(-0.5), e), g)
	n, p := m.expParts(m.mul(m.set(-0.5), h))
	y := m.scale(m.mul(m.mul(g, factor), p), n)
	return m.choose(m.compare(gt, a, m.set(14.6)), m.set(0), y)
}

func (m *machine) erf(x value) value {
	a, u := m.abs(x), m.mul(x, x)
	p := m.horner(u, 0x1.4771fep-14, -0x1.a3515ep-11, 0x1.53f224p-8, -0x1.b7f71ap-6, 0x1.ce2ce6p-4,
		-0x1.81273ep-2, 0x1.06eba8p-3)
	near := m.fma(p, x, x)
	far := m.copysign(m.sub(m.set(1), m.upperTail(m.mul(a, m.set(0x1.6a09e6p+0)), m.set(2))), x)
	return m.choose(m.isNaN(x), x, m.choose(m.compare(lt, a, m.set(1)), near, far))
}

func (m *machine) gelu(x value) value {
	a, u := m.abs(x), m.mul(x, x)
	negative := func() mask { return m.compare(lt, x, m.set(0)) }
	tail := m.upperTail(a, m.choose(negative(), x, m.set(1)))
	y := m.choose(negative(), tail, m.mul(x, m.sub(m.set(1), tail)))
	p := m.horner(u, 0x1.3645f2p-21, -0x1.42c666p-17, 0x1.e7884p-14, -0x1.378682p-10, 0x1.46d55cp-7,
		-0x1.10586p-4, 0x1.988454p-2)
	y = m.choose(m.compare(lt, a, m.set(1.25)), m.mul(x, m.fma(p, x, m.set(0.5))), y)
	y = m.choose(m.compare(lt, x, m.set(-15)), m.bits(0x80000000), y)
	return m.choose(m.isNaN(x), x, y)
}

func (m *machine) geluTanh(x value) value {
	v := m.mul(x, m.fma(m.mul(x, x), m.set(0x1.2444f2p-4), m.set(0x1.988454p+0)))
	y := m.mul(x, m.sigmoid(v))
	y = m.choose(m.compare(gt, x, m.set(15)), x, y)
	y = m.choose(m.compare(lt, x, m.set(-15)), m.bits(0x80000000), y)
	return m.choose(m.isNaN(x), x, y)
}

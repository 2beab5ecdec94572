package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Register is a general or vector register.
type Register = reg.Register

// value is a vector of floats or of integers.
type value = reg.VecVirtual

// mask says which lanes a comparison holds for: a mask register of AVX-512, or a
// vector.
type mask = reg.Register

// machine writes vector operations for one set of instructions. Their names are
// those of the C text that backend cpu generates.
type machine struct {
	name string
	wide bool // 16 lanes and mask registers
}

func (m *machine) instructions() string {
	if m.wide {
		return "AVX-512"
	}
	return "AVX2 and FMA"
}

func (m *machine) lanes() int {
	if m.wide {
		return 16
	}
	return 8
}

func (m *machine) vector() value {
	if m.wide {
		return ZMM()
	}
	return YMM()
}

func (m *machine) load(at Mem) value {
	r := m.vector()
	VMOVUPS(at, r)
	return r
}

func (m *machine) store(x value, at Mem) { VMOVUPS(x, at) }
func (m *machine) move(x, to value)      { VMOVUPS(x, to) }

// set is a number in all lanes; bits is one by its bits.
func (m *machine) set(x float64) value { return m.bits(math.Float32bits(float32(x))) }

func (m *machine) bits(b uint32) value {
	r := m.vector()
	VBROADCASTSS(constant(b), r)
	return r
}

var constants = make(map[uint32]Mem)

func constant(b uint32) Mem {
	at, ok := constants[b]
	if !ok {
		at = ConstData(fmt.Sprintf("c%08x", b), U32(b))
		constants[b] = at
	}
	return at
}

func (m *machine) add(a, b value) value  { return m.two(VADDPS, a, b) }
func (m *machine) sub(a, b value) value  { return m.two(VSUBPS, a, b) }
func (m *machine) mul(a, b value) value  { return m.two(VMULPS, a, b) }
func (m *machine) div(a, b value) value  { return m.two(VDIVPS, a, b) }
func (m *machine) and(a, b value) value  { return m.two(VANDPS, a, b) }
func (m *machine) or(a, b value) value   { return m.two(VORPS, a, b) }
func (m *machine) xor(a, b value) value  { return m.two(VXORPS, a, b) }
func (m *machine) addi(a, b value) value { return m.two(VPADDD, a, b) }
func (m *machine) subi(a, b value) value { return m.two(VPSUBD, a, b) }

// two writes an instruction whose second operand comes first.
func (m *machine) two(f func(...Op), a, b value) value {
	r := m.vector()
	f(b, a, r)
	return r
}

func (m *machine) sqrt(x value) value {
	r := m.vector()
	VSQRTPS(x, r)
	return r
}

// fma is a*b + c, rounded once.
func (m *machine) fma(a, b, c value) value {
	r := m.vector()
	VMOVUPS(c, r)
	VFMADD231PS(b, a, r)
	return r
}

// horner is c[0] x^n + c[1] x^(n-1) + ...
func (m *machine) horner(x value, c ...float64) value {
	p := m.set(c[0])
	for _, k := range c[1:] {
		p = m.fma(p, x, m.set(k))
	}
	return p
}

func (m *machine) shiftLeft(x value, n int) value {
	r := m.vector()
	VPSLLD(Imm(uint64(n)), x, r)
	return r
}

func (m *machine) shiftRight(x value, n int) value {
	r := m.vector()
	VPSRAD(Imm(uint64(n)), x, r)
	return r
}

func (m *machine) toInt(x value) value {
	r := m.vector()
	VCVTTPS2DQ(x, r)
	return r
}

func (m *machine) toFloat(x value) value {
	r := m.vector()
	VCVTDQ2PS(x, r)
	return r
}

func (m *machine) abs(x value) value { return m.and(x, m.bits(0x7fffffff)) }
func (m *machine) neg(x value) value { return m.xor(x, m.bits(0x80000000)) }

func (m *machine) copysign(x, sign value) value {
	return m.or(m.abs(x), m.and(sign, m.bits(0x80000000)))
}

// Comparisons. All are false beside a NaN, but ne.
const (
	eq = 0x00
	lt = 0x11
	le = 0x12
	ne = 0x04
	ge = 0x1d
	gt = 0x1e
)

func (m *machine) compare(how uint8, a, b value) mask {
	if m.wide {
		k := K()
		VCMPPS(Imm(uint64(how)), b, a, k)
		return k
	}
	r := YMM()
	VCMPPS(Imm(uint64(how)), b, a, r)
	return r
}

// choose is a where the mask holds and b elsewhere.
func (m *machine) choose(c mask, a, b value) value {
	r := m.vector()
	if m.wide {
		VBLENDMPS(a, b, c, r)
	} else {
		VBLENDVPS(c, a, b, r)
	}
	return r
}

// either holds where one of two masks does.
func (m *machine) either(a, b mask) mask {
	if m.wide {
		k := K()
		KORW(a, b, k)
		return k
	}
	r := YMM()
	VORPS(a, b, r)
	return r
}

// bitsOf has all bits set in the lanes that a mask holds for; maskOf is its
// inverse.
func (m *machine) bitsOf(c mask) value {
	if !m.wide {
		return c.(value)
	}
	r := m.vector()
	VPMOVM2D(c, r)
	return r
}

func (m *machine) maskOf(x value) mask {
	if !m.wide {
		return x
	}
	k := K()
	VPMOVD2M(x, k)
	return k
}

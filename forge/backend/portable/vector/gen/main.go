// Command gen writes the assembly of package vector: its functions and its
// matrix tiles, once for AVX-512 and once for AVX2 with fused multiply-add.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func main() {
	machines := []*machine{{name: "AVX512", wide: true}, {name: "AVX2"}}
	for _, m := range machines {
		for _, f := range unary {
			m.pointwise(f.name, 1, f.of1)
		}
		for _, f := range binary {
			m.pointwise(f.name, 2, f.of2)
		}
		m.where()
		m.fill()
		for _, f := range folds {
			m.fold(f.name, f.of2)
		}
		for _, t := range m.tiles() {
			m.tile(t[0], t[1])
		}
	}
	if err := writeTable("../tables_amd64.go", machines); err != nil {
		panic(err)
	}
	Generate()
}

// pointwise writes a function that sets dst to f of one or two operands. All
// slices have the length of dst, a multiple of 16.
func (m *machine) pointwise(name string, operands int, f func(m *machine, x []value) value) {
	names := []string{"x", "y"}[:operands]
	signature := "func(dst"
	for _, n := range names {
		signature += ", " + n
	}
	TEXT(name+m.name, NOSPLIT, signature+" []float32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s%s is %s with %s.", name, m.name, name, m.instructions()))
	dst := Load(Param("dst").Base(), GP64())
	n := Load(Param("dst").Len(), GP64())
	pointers := make([]Register, operands)
	for i, p := range names {
		pointers[i] = Load(Param(p).Base(), GP64())
	}
	m.loop(n, func(i Register) {
		args := make([]value, operands)
		for k, p := range pointers {
			args[k] = m.load(Mem{Base: p, Index: i, Scale: 4})
		}
		m.store(f(m, args), Mem{Base: dst, Index: i, Scale: 4})
	})
	m.end()
}

// where writes the function that chooses by masks.
func (m *machine) where() {
	TEXT("where"+m.name, NOSPLIT, "func(dst, c, x, y []float32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("where%s is where with %s.", m.name, m.instructions()))
	dst, n := Load(Param("dst").Base(), GP64()), Load(Param("dst").Len(), GP64())
	c, x, y := Load(Param("c").Base(), GP64()), Load(Param("x").Base(), GP64()), Load(Param("y").Base(), GP64())
	m.loop(n, func(i Register) {
		at := func(p Register) value { return m.load(Mem{Base: p, Index: i, Scale: 4}) }
		m.store(m.choose(m.maskOf(at(c)), at(x), at(y)), Mem{Base: dst, Index: i, Scale: 4})
	})
	m.end()
}

// fill writes the function that sets all of dst to a number.
func (m *machine) fill() {
	TEXT("fill"+m.name, NOSPLIT, "func(dst []float32, x float32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("fill%s is fill with %s.", m.name, m.instructions()))
	dst, n := Load(Param("dst").Base(), GP64()), Load(Param("dst").Len(), GP64())
	at, err := Param("x").Resolve()
	if err != nil {
		panic(err)
	}
	x := m.vector()
	VBROADCASTSS(at.Addr, x)
	m.loop(n, func(i Register) { m.store(x, Mem{Base: dst, Index: i, Scale: 4}) })
	m.end()
}

// fold writes a function that combines x, vector by vector, into acc.
func (m *machine) fold(name string, f func(m *machine, x []value) value) {
	TEXT(name+m.name, NOSPLIT, "func(acc *[16]float32, x []float32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s%s is %s with %s.", name, m.name, name, m.instructions()))
	acc, x, n := Load(Param("acc"), GP64()), Load(Param("x").Base(), GP64()), Load(Param("x").Len(), GP64())
	sums := make([]value, 16/m.lanes())
	for k := range sums {
		sums[k] = m.load(Mem{Base: acc, Disp: 4 * k * m.lanes()})
	}
	m.loopBy(n, 16, func(i Register) {
		for k, s := range sums {
			m.move(f(m, []value{s, m.load(Mem{Base: x, Index: i, Scale: 4, Disp: 4 * k * m.lanes()})}), s)
		}
	})
	for k, s := range sums {
		m.store(s, Mem{Base: acc, Disp: 4 * k * m.lanes()})
	}
	m.end()
}

func (m *machine) loop(n Register, body func(i Register)) { m.loopBy(n, m.lanes(), body) }

// loopBy writes a loop of i from 0 to n in steps.
func (m *machine) loopBy(n Register, step int, body func(i Register)) {
	i := GP64()
	XORQ(i, i)
	JMP(LabelRef("check"))
	Label("next")
	body(i)
	ADDQ(Imm(uint64(step)), i)
	Label("check")
	CMPQ(i, n)
	JLT(LabelRef("next"))
}

func (m *machine) end() {
	VZEROUPPER()
	RET()
}

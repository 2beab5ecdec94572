package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// tiles are the register tiles, rows by groups of 16 columns: as many sums as
// there are registers beside those of a row of B and an element of A.
func (m *machine) tiles() [][2]int {
	most := map[int]int{1: 6, 2: 3, 3: 2, 4: 1}
	if m.wide {
		most = map[int]int{1: 8, 2: 8, 3: 8, 4: 6, 6: 4, 8: 3}
	}
	var list [][2]int
	for _, columns := range []int{1, 2, 3, 4, 6, 8} {
		for rows := 1; rows <= most[columns]; rows++ {
			list = append(list, [2]int{rows, columns})
		}
	}
	return list
}

// tile writes C = bias + A B for a tile of registers.
func (m *machine) tile(rows, groups int) {
	name := fmt.Sprintf("tile%dx%d%s", rows, groups, m.name)
	TEXT(name, NOSPLIT, "func(a *float32, lda, ska int, b *float32, ldb, k int, bias, c *float32, ldc int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s is a [Tile] of %d rows and %d columns with %s.", name, rows, 16*groups, m.instructions()))
	nv := 16 * groups / m.lanes()
	bytes := 4 * m.lanes()
	sums := make([][]value, rows)
	bias := Load(Param("bias"), GP64())
	for r := range sums {
		sums[r] = make([]value, nv)
		for j := range nv {
			sums[r][j] = m.vector()
		}
	}
	TESTQ(bias, bias)
	JZ(LabelRef("zero"))
	for j := range nv {
		VMOVUPS(Mem{Base: bias, Disp: j * bytes}, sums[0][j])
		for r := 1; r < rows; r++ {
			VMOVUPS(sums[0][j], sums[r][j])
		}
	}
	JMP(LabelRef("start"))
	Label("zero")
	for r := range rows {
		for j := range nv {
			VXORPS(sums[r][j], sums[r][j], sums[r][j])
		}
	}
	Label("start")
	stride := func(name string) Register {
		r := Load(Param(name), GP64())
		SHLQ(Imm(2), r)
		return r
	}
	b, ldb, ska, k := Load(Param("b"), GP64()), stride("ldb"), stride("ska"), Load(Param("k"), GP64())
	a := rowsFrom(Load(Param("a"), GP64()), stride("lda"), rows)
	JMP(LabelRef("check"))
	Label("next")
	m.step(sums, a, Mem{Base: b})
	ADDQ(ldb, b)
	for _, base := range a.bases {
		ADDQ(ska, base)
	}
	DECQ(k)
	Label("check")
	CMPQ(k, Imm(0))
	JGT(LabelRef("next"))
	c := rowsFrom(Load(Param("c"), GP64()), stride("ldc"), rows)
	for r := range rows {
		for j := range nv {
			at := c.at(r)
			at.Disp = j * bytes
			VMOVUPS(sums[r][j], at)
		}
	}
	m.end()
}

// step adds the products of one column of A and one row of B. The shorter of the
// two stays in registers.
func (m *machine) step(sums [][]value, a matrixRows, b Mem) {
	column := make([]value, len(sums))
	element := func(r int) value {
		if column[r] == nil {
			column[r] = m.vector()
			VBROADCASTSS(a.at(r), column[r])
		}
		return column[r]
	}
	row := make([]value, len(sums[0]))
	part := func(j int) value {
		if row[j] == nil {
			row[j] = m.load(Mem{Base: b.Base, Disp: 4 * j * m.lanes()})
		}
		return row[j]
	}
	if len(column) < len(row) {
		for j := range row {
			for r := range column {
				VFMADD231PS(part(j), element(r), sums[r][j])
			}
		}
		return
	}
	for r := range column {
		for j := range row {
			VFMADD231PS(part(j), element(r), sums[r][j])
		}
	}
}

// matrixRows addresses the rows of a matrix, four from each base register.
type matrixRows struct {
	bases       []Register
	stride, by3 Register
}

func rowsFrom(first, stride Register, rows int) matrixRows {
	m := matrixRows{bases: []Register{first}, stride: stride}
	if rows > 3 {
		m.by3 = GP64()
		LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, m.by3)
	}
	for len(m.bases)*4 < rows {
		next := GP64()
		LEAQ(Mem{Base: m.bases[len(m.bases)-1], Index: stride, Scale: 4}, next)
		m.bases = append(m.bases, next)
	}
	return m
}

// at is the first element of a row.
func (m matrixRows) at(row int) Mem {
	base := m.bases[row/4]
	switch row % 4 {
	case 0:
		return Mem{Base: base}
	case 3:
		return Mem{Base: base, Index: m.by3, Scale: 1}
	}
	return Mem{Base: base, Index: m.stride, Scale: uint8(row % 4)}
}

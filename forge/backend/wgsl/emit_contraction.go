package wgsl

import (
	"errors"
	"fmt"
	"slices"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// tile is the schedule of a contraction: what an invocation computes, and how many of them
// make a workgroup.
type tile struct {
	rows, columns int // of an invocation, the columns in vectors of four
	down, along   int // invocations of a workgroup
	depth         int // of the blocks that a workgroup keeps in its memory; 0 for none
}

// Tiles. Those of large products share what they read by way of workgroup memory, those of
// small ones read it where it stands.
var (
	largeTile  = tile{rows: 8, columns: 2, down: 8, along: 8, depth: 16}
	smallTiles = []tile{{4, 1, 8, 8, 0}, {2, 1, 8, 8, 0}}
	fewRows    = tile{1, 1, 4, 16, 0}
	oneRow     = tile{1, 1, 1, 64, 0}
)

// fewTiles is the number of workgroups below which a smaller tile is taken.
const fewTiles = 16

func (t tile) m() int { return t.rows * t.down }
func (t tile) n() int { return 4 * t.columns * t.along }

// tileFor picks the tile of a contraction.
func tileFor(c *loop.Contraction) tile {
	switch {
	case c.M == 1:
		return oneRow
	case c.M >= largeTile.m() && c.N >= largeTile.n() && c.K >= 2*largeTile.depth:
		return largeTile
	}
	for _, t := range smallTiles {
		if c.M >= t.m()/2 && product(c.Batch)*ceil(c.M, t.m())*ceil(c.N, t.n()) >= fewTiles {
			return t
		}
	}
	return fewRows
}

// contractionEmitter writes a product of matrices. Sums run in the order of the depth.
type contractionEmitter struct {
	*emitter
	c     *loop.Contraction
	t     tile
	batch []string
}

func (e *emitter) contraction() (geometry, error) {
	c := e.kernel.Contraction
	if c.Elem == tensor.F64 {
		return geometry{}, errors.New("WGSL has no f64")
	}
	if err := supports(c.Epilogue); err != nil {
		return geometry{}, err
	}
	e.count(c.Epilogue)
	x := &contractionEmitter{emitter: e, c: c, t: tileFor(c)}
	for i := range c.Batch {
		x.batch = append(x.batch, fmt.Sprintf("b%d", i))
	}
	return x.emit(), nil
}

func (x *contractionEmitter) emit() geometry {
	c, t := x.c, x.t
	down, along := ceil(c.M, t.m()), ceil(c.N, t.n())
	g := geometry{groups: product(c.Batch) * down * along, workgroup: [3]int{t.along, t.down, 1}}
	how := "they read the matrices where these are: the product is small"
	if t.depth > 0 {
		how = fmt.Sprintf("blocks of depth %d in workgroup memory", t.depth)
	}
	g.reason = fmt.Sprintf("tiles of %d x %d, %d x %d of each invocation; %s", t.m(), t.n(), t.rows, 4*t.columns, how)
	m, k, n := axis{"m", c.M, t.m()}, axis{"k", c.K, max(4, t.depth)}, axis{"n", c.N, t.n()}
	x.reader("a", &c.A, m, k)
	x.reader("b", &c.B, k, n)
	x.begin(g)
	dims := append(slices.Clone(c.Batch), down, along)
	at := append(slices.Clone(x.batch), "top", "left")
	x.coordinates(group, at, dims)
	copy(x.batch, at)
	x.places(at[len(at)-2], at[len(at)-1])
	for i := range t.rows {
		for j := range t.columns {
			x.Line("var c%d_%d = vec4f();", i, j)
		}
	}
	if t.depth > 0 {
		x.blocks()
	} else {
		x.Open("for (var k = 0; k < %d; k += 4)", c.K)
		x.products(x.direct)
		x.Close()
	}
	x.finish()
	x.Close()
	g.storage = x.bytes
	return g
}

// places declares where the results of a workgroup and of an invocation begin.
func (x *contractionEmitter) places(top, left string) {
	x.Line("let first_m = %s * %d;", top, x.t.m())
	x.Line("let first_n = %s * %d;", left, x.t.n())
	x.Line("let own_m = i32(lane / %du) * %d;", x.t.along, x.t.rows)
	x.Line("let own_n = i32(lane %% %du) * %d;", x.t.along, 4*x.t.columns)
}

// axis is a dimension of a product, which tiles cover in steps.
type axis struct {
	name       string
	size, step int
}

// inside is the condition that there is an element; empty where tiles end with the axis.
func (a axis) inside() string {
	if a.size%a.step == 0 {
		return ""
	}
	return fmt.Sprintf("%s < %d", a.name, a.size)
}

// reader writes the function that gives four neighbours in a row of a matrix, zeros where
// there are none.
func (x *contractionEmitter) reader(name string, a *loop.Access, row, column axis) {
	o := x.operands[a.Param]
	params := ""
	vars := make([]string, len(x.batch))
	for i, b := range x.batch {
		vars[i] = "0"
		if x.c.Batch[i] > 1 {
			vars[i] = b
			params += b + ": i32, "
		}
	}
	vars = append(vars, row.name, column.name)
	x.Open("fn read_%s(%s%s: i32, %s: i32) -> vec4f", name, params, row.name, column.name)
	if inside := both(row.inside(), column.inside()); inside != "" {
		x.Line("if (!(%s)) { return vec4f(); }", inside)
	}
	if o.vector {
		x.Line("return %s;", o.four(vectorPlace(vars, a, o.base)))
	} else {
		x.four(o, affine(vars, a.Offset+o.base, a.Strides), a.Strides[len(a.Strides)-1], column)
	}
	x.Close()
	x.WriteByte('\n')
}

// four returns four elements one by one, from a place on.
func (x *contractionEmitter) four(o operand, place string, step int, column axis) {
	x.Line("let at = %s;", place)
	x.Line("var v = vec4f(%s, 0, 0, 0);", o.element("at", false))
	for i, lane := range []string{"y", "z", "w"} {
		text := fmt.Sprintf("v.%s = %s;", lane, o.element(fmt.Sprintf("at + %d", (i+1)*step), false))
		if column.inside() != "" {
			text = fmt.Sprintf("if (%s + %d < %d) { %s }", column.name, i+1, column.size, text)
		}
		x.Line("%s", text)
	}
	x.Line("return v;")
}

// four is a vector of elements as they are computed with.
func (o operand) four(at string) string {
	text := fmt.Sprintf("%s[%s]", o.array, at)
	if o.elem == ElemF32 {
		return text
	}
	return fmt.Sprintf("halves_%v(%s)", o.dtype, text)
}

// vectorPlace is the number of a vector: all steps but the last, which is 1, are multiples
// of four.
func vectorPlace(vars []string, a *loop.Access, base int) string {
	last := len(vars) - 1
	steps := make([]int, len(vars))
	for i := range last {
		steps[i] = a.Strides[i] / 4
	}
	return fmt.Sprintf("%s + %s / 4", affine(vars, (a.Offset+base)/4, steps), vars[last])
}

// vectors reports whether rows of a matrix can be read four elements at a time.
func vectors(a *loop.Access, columns int) bool {
	last := len(a.Strides) - 1
	whole := a.Strides[last] == 1 && a.Offset%4 == 0 && columns%4 == 0 && len(a.Guards)+len(a.Gathers) == 0
	for _, s := range a.Strides[:last] {
		whole = whole && s%4 == 0
	}
	return whole
}

// call is a use of a reader.
func (x *contractionEmitter) call(name, row, column string) string {
	params := ""
	for i, b := range x.batch {
		if x.c.Batch[i] > 1 {
			params += b + ", "
		}
	}
	return fmt.Sprintf("read_%s(%s%s, %s)", name, params, row, column)
}

// direct gives vectors of the matrices where they are.
func (x *contractionEmitter) direct(name string, i, j int) string {
	if name == "a" {
		return x.call(name, plus("first_m + own_m", i), "k")
	}
	return x.call(name, plus("k", i), plus("first_n + own_n", 4*j))
}

func plus(text string, n int) string {
	if n == 0 {
		return text
	}
	return fmt.Sprintf("%s + %d", text, n)
}

// products adds the products of four steps of the depth.
func (x *contractionEmitter) products(read func(name string, i, j int) string) {
	for i := range x.t.rows {
		x.Line("let a%d = %s;", i, read("a", i, 0))
	}
	for k, lane := range []string{"x", "y", "z", "w"} {
		for j := range x.t.columns {
			x.Line("let b%d_%d = %s;", k, j, read("b", k, j))
		}
		for i := range x.t.rows {
			for j := range x.t.columns {
				x.Line("c%d_%d = fma(vec4f(a%d.%s), b%d_%d, c%d_%d);", i, j, i, lane, k, j, i, j)
			}
		}
	}
}

// blocks writes the loop over the depth in which a workgroup shares blocks of both
// matrices.
func (x *contractionEmitter) blocks() {
	t := x.t
	size := t.down * t.along
	deep, wide := t.depth/4, t.n()/4 // vectors of a row of each block
	x.share("block_a", "vec4f", t.m()*deep)
	x.share("block_b", "vec4f", t.depth*wide)
	x.Open("for (var start = 0; start < %d; start += %d)", x.c.K, t.depth)
	for e := 0; e < t.m()*deep; e += size {
		at := plus("i32(lane)", e)
		x.Line("block_a[%s] = %s;", at, x.call("a", fmt.Sprintf("first_m + (%s) / %d", at, deep), fmt.Sprintf("start + (%s) %% %d * 4", at, deep)))
	}
	for e := 0; e < t.depth*wide; e += size {
		at := plus("i32(lane)", e)
		x.Line("block_b[%s] = %s;", at, x.call("b", fmt.Sprintf("start + (%s) / %d", at, wide), fmt.Sprintf("first_n + (%s) %% %d * 4", at, wide)))
	}
	x.Line("workgroupBarrier();")
	x.Open("for (var k = 0; k < %d; k++)", deep)
	x.products(func(name string, i, j int) string {
		if name == "a" {
			return fmt.Sprintf("block_a[(own_m + %d) * %d + k]", i, deep)
		}
		return fmt.Sprintf("block_b[(k * 4 + %d) * %d + own_n / 4 + %d]", i, wide, j)
	})
	x.Close()
	x.Line("workgroupBarrier();")
	x.Close()
}

// finish stores the epilogues of the sums.
func (x *contractionEmitter) finish() {
	c, t := x.c, x.t
	sums := ""
	for i := range t.rows {
		for j := range t.columns {
			sums += fmt.Sprintf("c%d_%d, ", i, j)
		}
	}
	x.Line("var sums = array<vec4f, %d>(%s);", t.rows*t.columns, sums[:len(sums)-2])
	x.Open("for (var i = 0; i < %d; i++)", t.rows)
	x.Line("let m = first_m + own_m + i;")
	if c.M%t.m() != 0 {
		x.Line("if (m >= %d) { break; }", c.M)
	}
	x.Open("for (var j = 0; j < %d; j++)", 4*t.columns)
	x.Line("let n = first_n + own_n + j;")
	if c.N%t.n() != 0 {
		x.Line("if (n >= %d) { break; }", c.N)
	}
	x.vars = append(slices.Clone(x.batch), "m", "n")
	x.forget()
	x.Line("var sum = sums[i * %d + j / 4][j %% 4];", t.columns)
	x.conclude(c.Bias, c.Epilogue, &c.Out)
	x.Close()
	x.Close()
}

// conclude adds the bias to the variable sum and stores its epilogue.
func (e *emitter) conclude(bias *loop.Access, epilogue *loop.Expr, out *loop.Access) {
	if bias != nil {
		e.Line("sum += %s;", e.read(&loop.Expr{Op: loop.Load, Type: tensor.F32, Access: bias}, ""))
	}
	e.acc = "sum"
	value := e.acc
	if epilogue != nil {
		value = e.eval(epilogue)
	}
	e.write(out, value, "")
}

package loop

import (
	"errors"

	"forgekernel/forge/tensor"
)

// between is the condition low <= x <= high.
func between(x *Expr, low, high int) *Expr {
	return apply("and", apply("ge", x, integer(low)), apply("le", x, integer(high)))
}

// rowInteger loads the integer that operand i, [] or [B], has for each row, over the
// dimensions of a loop whose first is the rows.
func (l *lowering) rowInteger(i, dims int) *Expr {
	v := l.node.In[i]
	a := &Access{Param: l.param(v, false), Strides: make([]int, dims)}
	copy(a.Strides, l.layout(v))
	return cast(tensor.I64, l.load(a))
}

// tokens is what the kernels of appending have in common: a loop over rows, heads,
// tokens and channels.
type tokens struct {
	*lowering
	shape    []int // of the new tokens: B, G, T, D
	capacity int   // positions of a sequence
	first    int   // the operand with the position of the first token
}

// sequence requires that the positions of each row are possible, and returns the
// position of a token, and the condition that it is no padding, nil for always.
func (t *tokens) sequence(nest *Nest, dims, token int) (position, real *Expr) {
	start := t.rowInteger(t.first, dims)
	nest.add(Stage{Expr: between(start, 0, t.capacity), Once: true, Require: true})
	position = apply("add", start, index(token, dims))
	if t.first+1 < len(t.node.In) {
		length := t.rowInteger(t.first+1, dims)
		nest.add(Stage{Expr: between(length, 0, t.capacity), Once: true, Require: true})
		real = apply("lt", position, length)
	}
	return position, real
}

// store is the stage that copies the tokens to the cache, at the places that gathers
// give.
func (t *tokens) store(nest *Nest, out *Access, real *Expr, gathers ...Gather) {
	out.Gathers = gathers
	x := t.move(t.operand(1, t.shape))
	nest.add(Stage{Expr: x, Store: out, When: real})
}

func (l *lowering) tokens(first, capacity int) (*tokens, error) {
	t := &tokens{l, l.node.In[1].Spec.Shape, capacity, first}
	if l.node.In[1].Spec.Elements() == 0 {
		return nil, errors.New("there is nothing to append; only the positions are checked")
	}
	return t, nil
}

// append lowers kv_append, whose result is the cache itself: token t of row b goes to
// position pos[b]+t.
func (l *lowering) append() error {
	cache := l.node.In[0].Spec.Shape
	t, err := l.tokens(2, cache[2])
	if err != nil {
		return err
	}
	nest := &Nest{Outer: t.shape[:3], Line: t.shape[3:]}
	l.kernel.Nest = nest
	out := l.outBits()
	step := out.Strides[2]
	out.Strides[2] = 0
	position, real := t.sequence(nest, 4, 2)
	t.store(nest, out, real, Gather{position, step, cache[2]})
	return nil
}

// pagedAppend lowers paged_kv_append. No two tokens may have one place: each writes
// its number to its place in a table as large as the pool, and then finds it there.
func (l *lowering) pagedAppend() error {
	pool := l.node.In[0].Spec.Shape
	width := l.node.In[2].Spec.Shape[1]
	t, err := l.tokens(3, width*pool[2])
	if err != nil {
		return err
	}
	l.checkTable(t, pool)
	l.begin()
	owners := &Local{Name: "owners", DType: tensor.I64, Elements: pool[0] * pool[2]}
	rows := []int{t.shape[0], t.shape[2]}
	for _, written := range []bool{true, false} {
		nest := &Nest{Outer: rows, Line: []int{1}}
		l.kernel.Nest = nest
		position, real := t.sequence(nest, 3, 1)
		block, place := t.block(position, 3, pool)
		owner := &Access{Param: l.addParam(Param{Local: owners, Written: written}), Strides: make([]int, 3)}
		owner.Gathers = []Gather{{block, pool[2], pool[0]}, {place, 1, pool[2]}}
		number := &Expr{Op: Index, Type: tensor.I64, Affine: Affine{Strides: []int{rows[1], 1, 0}}}
		if written {
			nest.add(Stage{Expr: number, Store: owner, When: real})
		} else {
			nest.add(Stage{Expr: apply("eq", l.load(owner), number), Require: true, When: real})
		}
		l.begin()
	}
	nest := &Nest{Outer: t.shape[:3], Line: t.shape[3:]}
	l.kernel.Nest = nest
	out := l.outBits()
	steps := [2]int{out.Strides[0], out.Strides[2]}
	out.Strides[0], out.Strides[2] = 0, 0
	position, real := t.sequence(nest, 4, 2)
	block, place := t.block(position, 4, pool)
	t.store(nest, out, real, Gather{block, steps[0], pool[0]}, Gather{place, steps[1], pool[2]})
	return nil
}

// checkTable requires that the table names a block of the pool for every position up
// to the last token of a row, in a nest over rows and entries.
func (l *lowering) checkTable(t *tokens, pool []int) {
	table := l.node.In[t.first-1]
	nest := &Nest{Outer: table.Spec.Shape[:1], Line: table.Spec.Shape[1:]}
	l.kernel.Nest = nest
	end, real := t.end(nest, 2)
	entry := &Expr{Op: Index, Type: tensor.I64, Affine: Affine{Strides: []int{0, pool[2]}}}
	block := cast(tensor.I64, l.load(&Access{Param: l.param(table, false), Strides: l.layout(table)}))
	unused := apply("ge", entry, end)
	nest.add(Stage{Expr: apply("or", unused, between(block, 0, pool[0]-1)), Require: true, When: real})
}

// end requires that the tokens of each row have positions in the cache, in a loop
// whose first dimension is the rows. It returns the position after the last token,
// and the condition that there are any, nil for always.
func (t *tokens) end(nest *Nest, dims int) (end, real *Expr) {
	start := t.rowInteger(t.first, dims)
	nest.add(Stage{Expr: between(start, 0, t.capacity), Once: true, Require: true})
	end = apply("add", start, integer(t.shape[2]))
	if t.first+1 < len(t.node.In) {
		length := t.rowInteger(t.first+1, dims)
		nest.add(Stage{Expr: between(length, 0, t.capacity), Once: true, Require: true})
		end, real = apply("minimum", end, length), apply("lt", start, length)
	}
	nest.add(Stage{Expr: apply("le", end, integer(t.capacity)), Once: true, Require: true, When: real})
	return end, real
}

// block is the block that holds a position of a row, and the place there.
func (t *tokens) block(position *Expr, dims int, pool []int) (block, place *Expr) {
	table := t.node.In[2]
	size := integer(pool[2])
	number := apply("div", position, size)
	steps := t.layout(table)
	a := &Access{Param: t.param(table, false), Strides: make([]int, dims)}
	a.Strides[0] = steps[0]
	a.Gathers = []Gather{{number, steps[1], table.Spec.Shape[1]}}
	return cast(tensor.I64, t.load(a)), apply("sub", position, apply("mul", number, size))
}

package triton

import (
	"fmt"
	"strings"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// tile is the block of points that a program of Triton has at a time: rows of outer
// points by columns of the line. A nest of single elements, and a product, have no rows.
type tile struct {
	batch   int    // loop dimensions, the first, in which the block is a single point
	outer   int    // the first that runs along the columns; those before it run along the rows
	rows    string // the condition under which a row of the block exists; empty for always
	columns string // the same of a column
	passes  bool   // a block is a part of a line, which each stage passes over
	flat    []int  // the strides of dense elements, whose index is the number of the column
}

// spans reports whether something differs along the rows and along the columns.
func (e *emitter) spans(varies func(dim int) bool) (rows, columns bool) {
	for i, v := range e.vars {
		if i < e.batch || v == "0" || !varies(i) {
			continue
		}
		if i < e.outer {
			rows = true
		} else {
			columns = true
		}
	}
	return rows, columns
}

// exists is the condition under which there are the points of a part of the block.
func (e *emitter) exists(rows, columns bool) string {
	var list []string
	if rows {
		list = append(list, e.rows)
	}
	if columns {
		list = append(list, e.columns)
	}
	return both(list...)
}

// locate gives the address of an access and the condition under which there is one.
func (e *emitter) locate(a *loop.Access) (at, condition string) {
	index := e.affine(a.Offset, a.Strides)
	rows, columns := e.spans(a.Varies)
	condition = e.exists(rows, columns)
	for i := range a.Gathers {
		g := &a.Gathers[i]
		place := e.eval(g.Index)
		if !isName(place) {
			place = e.name("place", place)
		}
		e.Line("fault(fault_ptr, step, %s)", both(e.exists(e.spans(g.Index.Varies)), fmt.Sprintf("(%s < 0) | (%s >= %d)", place, place, g.Size)))
		condition = both(condition, fmt.Sprintf("%s >= 0", place), fmt.Sprintf("%s < %d", place, g.Size))
		index += fmt.Sprintf(" + %s * %d", place, g.Step)
	}
	for _, g := range a.Guards {
		place := factor(e.affine(g.Offset, g.Strides))
		condition = both(condition, fmt.Sprintf("%s >= 0", place), fmt.Sprintf("%s < %d", place, g.Size))
	}
	if len(a.Gathers)+len(a.Guards) > 0 {
		condition = e.condition(condition)
	}
	// An address has the shape of its condition.
	plain := &loop.Access{Strides: a.Strides, Gathers: a.Gathers}
	r, c := e.spans(plain.Varies)
	if r != rows {
		index += " + 0 * row"
	}
	switch {
	case c == columns:
	case e.flat != nil:
		index += " + 0 * offset"
	default:
		index += " + 0 * column"
	}
	return e.out.Arguments[a.Param].Name + " + " + strings.TrimPrefix(index, "0 + "), condition
}

// condition is a variable for a condition, one for equal ones.
func (e *emitter) condition(text string) string {
	if e.loads[text] == "" {
		e.loads[text] = e.name("exists", text)
	}
	return e.loads[text]
}

func isName(text string) bool { return word.FindString(text) == text }

// load reads an element. Where there is none the value is that of elsewhere.
func (e *emitter) load(x *loop.Expr) string {
	at, condition := e.locate(x.Access)
	key := loadKey(at, condition, x.Type)
	if v := e.loads[key]; v != "" {
		return v
	}
	if e.stored[x.Access.Param] {
		e.Line("tl.debug_barrier()  # what other threads of the program stored is read")
		clear(e.stored)
	}
	stored := e.kernel.Params[x.Access.Param].DType()
	text := "tl.load(" + at
	if condition != "" {
		text += fmt.Sprintf(", mask=%s, other=%s", condition, zero(stored))
	}
	text += ")"
	if stored != x.Type {
		text += fmt.Sprintf(".to(%s)", dtypes[x.Type])
	}
	if len(x.Args) > 0 && condition != "" {
		text = fmt.Sprintf("tl.where(%s, %s, %s)", condition, text, e.eval(x.Args[0]))
	}
	v := e.name(e.base(x.Access.Param), text)
	e.loads[key] = v
	return v
}

func loadKey(at, condition string, t tensor.DType) string {
	return at + "|" + condition + "|" + t.String()
}

// zero is the number 0 of a type.
func zero(t tensor.DType) string {
	switch {
	case t == tensor.Bool:
		return "False"
	case t.IsFloat():
		return "0.0"
	}
	return "0"
}

// store writes the value of x through an access. What the same block loads from there
// afterwards is that value. A later stage may store over it before anyone else looks.
func (e *emitter) store(a *loop.Access, x *loop.Expr, value string, over bool) {
	at, condition := e.locate(a)
	loadable := loadKey(at, condition, x.Type)
	if rows, _ := e.spans(a.Varies); !rows && e.rows != "" { // a value has rows, if only one
		at, condition = at+" + 0 * row", both(e.rows, condition)
	}
	stored := e.kernel.Params[a.Param].DType()
	loaded := value
	if stored != x.Type {
		value = fmt.Sprintf("%s.to(%s)", factor(value), dtypes[stored])
		loaded = fmt.Sprintf("%s.to(%s)", value, dtypes[x.Type])
	}
	if !over {
		mask := ""
		if condition != "" {
			mask = ", mask=" + condition
		}
		e.Line("tl.store(%s, %s%s)", at, value, mask)
		e.stored[a.Param] = true
	}
	if len(a.Gathers) == 0 {
		e.loads[loadable] = loaded
	}
}

package triton

import (
	"fmt"
	"reflect"
	"slices"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// Sizes of nests.
const (
	// longestLine is the number of elements up to which a line stays in registers.
	longestLine = 16 << 10
	// passBlock is the number of elements of a longer line that are read at a time.
	passBlock = 4096
	// acrossRows is the number of neighbouring lines that are read together where their
	// elements, and not those of a line, are neighbours in memory.
	acrossRows = 64
)

// nest writes a kernel of stages.
func (e *emitter) nest() error {
	n := e.kernel.Nest
	for _, s := range n.Stages {
		if err := supports(s.Expr, s.When); err != nil {
			return err
		}
		if s.Reduce == loop.Sum && s.Expr.Type == tensor.F64 {
			return fmt.Errorf("sums of f64 are in the order of the reference, which Triton's are not")
		}
		e.count(s.Expr, s.When)
	}
	if s := n.Stages; len(s) == 1 && !s[0].Once && s[0].Reduce == loop.NoReduction {
		e.elements(s[0])
	} else {
		e.lines()
	}
	return nil
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// coordinates declares the variables of the point with number at in a grid of dims.
func (e *emitter) coordinates(at, prefix string, first int, dims []int) {
	count := product(dims)
	for i, d := range dims {
		count /= max(d, 1)
		text := at
		if count > 1 {
			text += fmt.Sprintf(" // %d", count)
		}
		if product(dims[:i]) > 1 {
			text += fmt.Sprintf(" %% %d", d)
		}
		switch {
		case d < 2:
			text = "0"
		case text != at:
			text = e.name(fmt.Sprintf("%s%d", prefix, first+i), text)
		}
		e.vars = append(e.vars, text)
	}
}

// index writes the numbers of the points of a block along one axis.
func (e *emitter) index(name, text string) {
	if e.wide {
		text = fmt.Sprintf("(%s).to(tl.int64)", text)
	}
	e.Line("%s = %s", name, text)
}

// elements writes programs of a run of elements each.
func (e *emitter) elements(s loop.Stage) {
	n := e.kernel.Nest
	dims := slices.Concat(n.Outer, n.Line)
	count := product(dims)
	e.begin("BLOCK")
	e.index("offset", "tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)")
	e.Line("inside = offset < %d", count)
	e.columns, e.flat = "inside", tensor.Strides(dims)
	e.coordinates("offset", "i", 0, dims)
	if s.When != nil {
		e.columns = e.name("when", both(e.columns, e.eval(s.When)))
	}
	e.visit(s)
	for _, l := range []struct{ block, warps int }{{1024, 4}, {512, 4}, {2048, 8}, {256, 2}, {4096, 8}} {
		e.out.Candidates = append(e.out.Candidates, Launch{
			Grid: [3]int{(count + l.block - 1) / l.block, 1, 1}, Constants: []Constant{{"BLOCK", l.block}}, Warps: l.warps, Stages: 1,
		})
	}
}

// visit evaluates a stage for a block of elements.
func (e *emitter) visit(s loop.Stage) string {
	value := e.eval(s.Expr)
	if s.Require {
		e.Line("fault(fault_ptr, step, %s)", both(e.exists(e.spans(s.Expr.Varies)), factor(value)+" == 0"))
	}
	if s.Store != nil {
		if !isName(value) && s.Reduce != loop.NoReduction {
			value = e.name(e.base(s.Store.Param), value)
		}
		e.store(s.Store, s.Expr, value, e.over(s))
	}
	return value
}

// over reports whether the block, which still holds what the stage stores, stores
// something else there later.
func (e *emitter) over(s loop.Stage) bool {
	if e.passes || s.When != nil || len(s.Store.Gathers) > 0 {
		return false
	}
	after := false
	for _, t := range e.kernel.Nest.Stages {
		if after && t.When == nil && t.Store != nil && !t.Once && t.Store.Param == s.Store.Param && reflect.DeepEqual(t.Store, s.Store) {
			return true
		}
		after = after || t.Expr == s.Expr
	}
	return false
}

// lines writes programs of a block of rows each.
func (e *emitter) lines() {
	n := e.kernel.Nest
	rows, line := product(n.Outer), product(n.Line)
	across := e.across()
	e.passes = line > longestLine || across && line > acrossRows
	e.begin("ROWS", "BLOCK")
	e.index("row", "tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]")
	e.Line("rows = row < %d", rows)
	e.outer, e.rows = len(n.Outer), "rows"
	e.coordinates("row", "i", 0, n.Outer)
	if !e.passes {
		e.column("tl.arange(0, BLOCK)[None, :]", line)
	}
	for i, s := range n.Stages {
		before := e.rows
		if s.When != nil {
			e.rows = e.name("when", both(e.rows, e.eval(s.When)))
		}
		e.stage(i, s, line)
		if e.rows != before {
			e.rows = before
			e.forget()
		}
	}
	e.proposeRows(rows, line, across)
}

// across reports whether neighbouring outer points, rather than those of a line, are
// neighbours in memory.
func (e *emitter) across() bool {
	n := e.kernel.Nest
	outer, last := len(n.Outer), len(n.Outer)+len(n.Line)-1
	found := false
	n.Stages[0].Expr.Walk(func(x *loop.Expr) {
		if x.Op == loop.Load && outer > 0 {
			found = found || x.Access.Strides[last] > 1 && x.Access.Strides[outer-1] == 1
		}
	})
	return found
}

// column declares the columns of a block.
func (e *emitter) column(text string, line int) {
	e.index("column", text)
	e.Line("columns = column < %d", line)
	e.columns = "columns"
	e.coordinates("column", "j", 0, e.kernel.Nest.Line)
}

// stage writes a stage; in passes, one over the line is a loop.
func (e *emitter) stage(i int, s loop.Stage, line int) {
	name := ""
	if s.Reduce != loop.NoReduction {
		name = unique(fmt.Sprintf("%s_%d", s.Reduce, i), e.taken)
	}
	switch {
	case s.Once:
		if e.passes {
			e.vars = e.vars[:e.outer]
			for range e.kernel.Nest.Line { // whose variables have no values between passes
				e.vars = append(e.vars, "0")
			}
		}
		if value := e.visit(s); isName(value) {
			name = value
		} else {
			name = e.name(fmt.Sprintf("once_%d", i), value)
		}
	case e.passes:
		e.pass(name, s, line)
	case name != "":
		e.Line("%s = %s", name, fold(s, e.folded(s, e.visit(s))))
	default:
		e.visit(s)
	}
	e.stages = append(e.stages, name)
}

// folded is the value of a stage with what changes nothing where the line has ended.
func (e *emitter) folded(s loop.Stage, value string) string {
	return fmt.Sprintf("tl.where(columns, %s, %s)", value, constant(s.Reduce.Start(s.Expr.Type)))
}

// fold makes one number of each row.
func fold(s loop.Stage, value string) string {
	if s.Reduce == loop.Sum {
		return fmt.Sprintf("tl.sum(%s, axis=1, keep_dims=True)", value)
	}
	return fmt.Sprintf("tl.reduce(%s, 1, %s, keep_dims=True)", value, functions[s.Reduce.Combine()][s.Expr.Type])
}

// pass writes a loop over the line in blocks.
func (e *emitter) pass(name string, s loop.Stage, line int) {
	if name != "" {
		e.Line("%s = tl.full((ROWS, BLOCK), %s, %s)", name, constant(s.Reduce.Start(s.Expr.Type)), dtypes[s.Expr.Type])
	}
	e.barrier(s)
	e.Line("for start in range(0, %d, BLOCK):", line)
	e.Depth++
	e.forget()
	e.vars = e.vars[:e.outer]
	e.column("start + tl.arange(0, BLOCK)[None, :]", line)
	switch value := e.visit(s); s.Reduce {
	case loop.NoReduction:
	case loop.Sum:
		e.Line("%s += %s", name, e.folded(s, value))
	default:
		e.Line("%s = %s(%s, %s)", name, functions[s.Reduce.Combine()][s.Expr.Type], name, e.folded(s, value))
	}
	e.Depth--
	e.forget()
	if name != "" {
		e.Line("%s = %s", name, fold(s, name))
	}
}

// barrier waits, before a pass that reads what an earlier one stored, for the other
// threads of the program.
func (e *emitter) barrier(s loop.Stage) {
	reads := false
	s.Expr.Walk(func(x *loop.Expr) { reads = reads || x.Op == loop.Load && e.stored[x.Access.Param] })
	if reads {
		e.Line("tl.debug_barrier()  # what other threads of the program stored is read")
		clear(e.stored)
	}
}

// proposeRows lists the blocks of rows.
func (e *emitter) proposeRows(rows, line int, across bool) {
	type block struct{ rows, columns, warps int }
	var list []block
	switch width := ceilPower(line); {
	case across:
		list = []block{{acrossRows, min(width, 32), 4}, {32, min(width, 64), 4}, {128, min(width, 16), 4}, {acrossRows, min(width, 64), 8}}
	case e.passes:
		list = []block{{1, passBlock, 8}, {1, passBlock / 2, 4}, {1, 2 * passBlock, 16}, {1, passBlock / 4, 4}}
	default:
		for _, elements := range []int{1024, 2048, 4096, 512} {
			b := block{max(1, elements/width), width, min(16, max(1, max(elements, width)/512))}
			if slices.Contains(list, b) {
				b.warps *= 2
			}
			list = append(list, b)
		}
	}
	for _, b := range list {
		b.rows = min(b.rows, ceilPower(rows))
		l := Launch{
			Grid: [3]int{(rows + b.rows - 1) / b.rows, 1, 1}, Constants: []Constant{{"ROWS", b.rows}, {"BLOCK", b.columns}},
			Warps: b.warps, Stages: 1,
		}
		if !slices.ContainsFunc(e.out.Candidates, func(c Launch) bool { return c.String() == l.String() }) {
			e.out.Candidates = append(e.out.Candidates, l)
		}
	}
}

// ceilPower is the smallest power of two that is not less than n.
func ceilPower(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}

package eval

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"sort"

	"golang.org/x/tools/go/ssa"
)

// A debugger, and whoever looks at the calls of a panic, must know where the
// statements of a function begin and where its variables are. SSA has done away
// with most variables; what is left of them are its debug references, which say
// which value a name has where it is used or set. Each becomes a [binding]:
// from here on the variable is there. Where bindings of several ways meet and
// no phi joins them, nobody uses the variable any more and its value is not
// known; that is said, never guessed.

// variable is a local variable of a function.
type variable struct {
	name     string
	typ      types.Type
	from, to int          // where its name can be used, in the source
	memory   bool         // it has an address, since a closure or a pointer refers to it
	constant *types.Const // it is one, and no variable
}

// binding says where a variable is from an instruction of its block on.
type binding struct {
	ip        int // before this instruction
	variable  int
	place     place         // of the value, or of the address
	memory    bool          // place is of the address
	writeOnce bool          // where nobody may write
	constant  reflect.Value // instead of place
}

// stop is the beginning of a statement.
type stop struct {
	ip     int // before this instruction
	offset int
	line   int
	bound  int // how many of the block's bindings are in effect
}

// statement is the extent of a statement that does something itself.
type statement struct {
	from, to token.Pos
	outer    int // index of the statement around it, or -1
	defines  bool
}

func (s *statement) contains(pos token.Pos) bool { return s.from <= pos && pos < s.to }

// statements lists those of a unit, by their beginnings.
func (c *compiler) statements(u *Unit) []statement {
	if list, ok := c.stmts[u]; ok {
		return list
	}
	var list []statement
	add := func(n ast.Node, defines bool) {
		list = append(list, statement{from: n.Pos(), to: n.End(), outer: -1, defines: defines})
	}
	for _, f := range u.Files {
		var comm ast.Stmt // of the select that is being visited
		ast.Inspect(f, func(n ast.Node) bool {
			if n != nil && n == comm {
				return true
			}
			switch n := n.(type) {
			case *ast.BlockStmt, *ast.LabeledStmt, *ast.EmptyStmt, *ast.BranchStmt:
			case *ast.CaseClause: // what it compares is part of the switch
			case *ast.CommClause:
				comm = n.Comm
			case *ast.DeclStmt:
				for _, spec := range n.Decl.(*ast.GenDecl).Specs {
					add(spec, true)
					c.noteConstants(u, spec)
				}
			case *ast.AssignStmt:
				add(n, true)
			case ast.Stmt:
				add(n, false)
			}
			return true
		})
	}
	sort.SliceStable(list, func(i, j int) bool {
		return list[i].from < list[j].from || list[i].from == list[j].from && list[i].to > list[j].to
	})
	var open []int
	for i := range list {
		for len(open) > 0 && list[open[len(open)-1]].to <= list[i].from {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			list[i].outer = open[len(open)-1]
		}
		open = append(open, i)
	}
	c.stmts[u] = list
	return list
}

// noteConstants keeps the constants of a function, of which SSA knows nothing.
func (c *compiler) noteConstants(u *Unit, spec ast.Spec) {
	v, ok := spec.(*ast.ValueSpec)
	if !ok {
		return
	}
	for _, name := range v.Names {
		if k, ok := u.Info.Defs[name].(*types.Const); ok && k.Name() != "_" {
			c.consts[u] = append(c.consts[u], localConst{k, spec.End(), k.Parent().End()})
		}
	}
}

type localConst struct {
	*types.Const
	from, to token.Pos // where its name can be used
}

// statementAt finds the innermost statement around a position.
func (b *builder) statementAt(pos token.Pos) *statement {
	list := b.statements(b.unitOf(b.ssa))
	i := sort.Search(len(list), func(i int) bool { return list[i].from > pos }) - 1
	for i >= 0 && list[i].to <= pos {
		i = list[i].outer
	}
	if i < 0 {
		return nil
	}
	return &list[i]
}

// debugInfo collects what is known about a function's variables.
type debugInfo struct {
	index  map[token.Pos]int // of variables, see declaration
	body   token.Pos         // statements before it are around a function literal
	loops  []*ast.BlockStmt  // bodies that are functions of their own
	latest *statement        // of the block that is being translated
}

// surveyVariables lists the variables of the function that have names.
func (b *builder) surveyVariables() {
	b.debug = debugInfo{index: map[token.Pos]int{}}
	switch syntax := b.ssa.Syntax().(type) {
	case *ast.FuncLit:
		b.debug.body = syntax.Body.Pos()
	case *ast.RangeStmt:
		b.debug.body = syntax.Body.Pos()
	}
	for _, f := range b.ssa.AnonFuncs {
		if r, ok := f.Syntax().(*ast.RangeStmt); ok {
			b.debug.loops = append(b.debug.loops, r.Body)
		}
	}
	if b.fn.source == nil {
		return
	}
	for _, p := range b.ssa.Params {
		if obj, ok := p.Object().(*types.Var); ok && obj != nil {
			b.addVariable(obj, p.Type())
		}
	}
	results := b.ssa.Signature.Results()
	for r := range results.Variables() {
		b.addVariable(r, r.Type())
	}
	memory := map[token.Pos]bool{}
	b.eachInstr(func(in ssa.Instruction) {
		switch in := in.(type) {
		case *ssa.Alloc:
			memory[declared(in)] = true
		case *ssa.DebugRef:
			obj, ok := in.Object().(*types.Var)
			if !ok || obj.IsField() || b.isGlobal(obj) {
				return
			}
			t := in.X.Type()
			if in.IsAddr {
				t = t.Underlying().(*types.Pointer).Elem()
			}
			b.addVariable(obj, t)
		}
	})
	for i := range b.fn.vars {
		v := &b.fn.vars[i]
		v.memory = b.freeVar(v.name) != nil
	}
	for pos, i := range b.debug.index {
		b.fn.vars[i].memory = b.fn.vars[i].memory || memory[pos]
	}
	b.surveyConstants()
}

// surveyConstants lists the constants that can be used in the function.
func (b *builder) surveyConstants() {
	syntax := b.ssa.Syntax()
	if syntax == nil {
		return
	}
	u := b.unitOf(b.ssa)
	b.statements(u)
	for _, k := range b.consts[u] {
		if k.from >= syntax.End() || k.to <= syntax.Pos() {
			continue
		}
		if from, to := b.offset(k.from), b.offset(k.to); from >= 0 && to >= 0 {
			b.fn.vars = append(b.fn.vars, variable{name: k.Name(), typ: k.Type(), from: int(from), to: int(to), constant: k.Const})
		}
	}
}

func (b *builder) eachInstr(f func(ssa.Instruction)) {
	for _, blk := range b.ssa.Blocks {
		for _, in := range blk.Instrs {
			f(in)
		}
	}
}

// isGlobal reports whether a variable is the session's; := may have defined it.
func (b *builder) isGlobal(obj *types.Var) bool {
	if obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope() {
		return true
	}
	_, global := b.unitOf(b.ssa).Vars[obj]
	return global
}

// freeVar returns a captured variable. One of the function's own that has the
// name of a captured one hides it from here on.
func (b *builder) freeVar(name string) *ssa.FreeVar {
	for _, v := range b.ssa.FreeVars {
		if v.Name() == name {
			return v
		}
	}
	return nil
}

func (b *builder) addVariable(obj *types.Var, t types.Type) {
	if obj.Name() == "" || obj.Name() == "_" {
		return
	}
	from := declaration(obj)
	if _, known := b.debug.index[from]; known {
		return
	}
	v := variable{name: obj.Name(), typ: t, from: 0, to: len(b.fn.source.Text)}
	scope := obj.Parent()
	if scope == nil { // of an instance, which has results of its own
		scope = b.scope()
	}
	if st := b.statementAt(from); st != nil && st.defines && (scope == nil || !st.contains(scope.Pos())) { // else a literal in it has the parameter
		from = st.to
	}
	if at := b.offset(from); at >= 0 {
		v.from = int(at)
	}
	if scope != nil && scope.End().IsValid() {
		if at := b.offset(scope.End()); at >= 0 {
			v.to = int(at)
		}
	}
	b.debug.index[declaration(obj)] = len(b.fn.vars)
	b.fn.vars = append(b.fn.vars, v)
}

// declaration is where a variable is declared: one of a type switch in each of its
// clauses, which share the name.
func declaration(obj types.Object) token.Pos {
	if scope := obj.Parent(); scope != nil && scope.Pos() > obj.Pos() {
		return scope.Pos()
	}
	return obj.Pos()
}

// declared is where the variable is declared that an address or a phi is of, by the
// names of it and of what is loaded from it.
func declared(v ssa.Value) token.Pos {
	uses := slices.Clone(*v.Referrers())
	for _, use := range *v.Referrers() {
		if load, ok := use.(*ssa.UnOp); ok {
			uses = append(uses, *load.Referrers()...)
		}
	}
	for _, use := range uses {
		if ref, ok := use.(*ssa.DebugRef); ok && ref.Object() != nil && ref.Object().Pos() == v.Pos() {
			return declaration(ref.Object())
		}
	}
	return v.Pos()
}

// scope is that of the function's parameters; nil when it is made up.
func (b *builder) scope() *types.Scope {
	scopes := b.unitOf(b.ssa).Info.Scopes
	switch syntax := b.ssa.Syntax().(type) {
	case *ast.FuncDecl:
		return scopes[syntax.Type]
	case *ast.FuncLit:
		return scopes[syntax.Type]
	}
	return nil
}

// beginBlock binds what has its place when a block begins: parameters and
// captured variables, and the variables whose values phis join.
func (b *builder) beginBlock(i int, blk *ssa.BasicBlock) {
	b.debug.latest = nil
	if i == 0 {
		for _, p := range b.ssa.Params {
			if obj, ok := p.Object().(*types.Var); ok && obj != nil { // wrappers have made-up ones
				b.bind(obj.Pos(), b.places[p], false)
			}
		}
		for r := range b.ssa.Signature.Results().Variables() {
			b.bindZero(r)
		}
		for k := range b.fn.vars {
			if v := b.freeVar(b.fn.vars[k].name); v != nil {
				b.block.bindings = append(b.block.bindings, binding{variable: k, place: b.places[v], memory: true})
			}
		}
	}
	for _, in := range blk.Instrs {
		phi, ok := in.(*ssa.Phi)
		if !ok {
			break
		}
		at := declared(phi)
		if k, known := b.debug.index[at]; known && b.fn.vars[k].name == phi.Comment {
			b.bind(at, b.places[phi], b.fn.vars[k].memory)
		}
	}
	for _, p := range blk.Preds {
		b.block.preds = append(b.block.preds, p.Index)
	}
}

// bindZero binds a result that has a name and no address, whose value at first SSA
// does not show.
func (b *builder) bindZero(r *types.Var) {
	k, known := b.debug.index[r.Pos()]
	if !known || b.fn.vars[k].memory {
		return
	}
	b.block.bindings = append(b.block.bindings, binding{variable: k, constant: fresh(b.typ(r.Type(), b.pos))})
}

func (b *builder) bind(pos token.Pos, pl place, memory bool) {
	if k, known := b.debug.index[pos]; known {
		b.block.bindings = append(b.block.bindings, binding{ip: len(b.block.code), variable: k, place: pl, memory: memory})
	}
}

// beforeInstruction notes the beginning of a statement.
func (b *builder) beforeInstruction(in ssa.Instruction) {
	switch in := in.(type) {
	case *ssa.Phi:
		return
	case *ssa.DebugRef:
		if in.Object() == nil { // of an expression whose parts have been met
			return
		}
	}
	if !in.Pos().IsValid() || b.fn.source == nil {
		return
	}
	st := b.statementAt(in.Pos())
	if st == nil || st == b.debug.latest || st.from < b.debug.body || b.isInLoop(st) {
		return
	}
	b.debug.latest = st
	at := b.offset(st.from)
	if at < 0 {
		return
	}
	b.block.stops = append(b.block.stops, stop{
		ip: len(b.block.code), offset: int(at), line: b.lineAt(int(at)), bound: len(b.block.bindings),
	})
}

// isInLoop reports whether the body of a loop over a function has begun a statement
// to do, and the function around it goes on with: a return, say.
func (b *builder) isInLoop(st *statement) bool {
	return slices.ContainsFunc(b.debug.loops, func(body *ast.BlockStmt) bool { return body.Pos() <= st.from && st.from < body.End() })
}

// lineAt is the line of the notebook cell at an offset of the function's source.
func (b *builder) lineAt(offset int) int {
	src := b.fn.source
	starts, ok := b.lines[src]
	if !ok {
		for i, ch := range []byte(src.Text) {
			if ch == '\n' {
				starts = append(starts, i+1)
			}
		}
		if b.lines == nil {
			b.lines = map[*Source][]int{}
		}
		b.lines[src] = starts
	}
	return src.Line + sort.SearchInts(starts, offset+1)
}

// afterInstruction binds the variable that an instruction sets or shows.
func (b *builder) afterInstruction(in ssa.Instruction) {
	switch in := in.(type) {
	case *ssa.Alloc:
		at := declared(in)
		if k, known := b.debug.index[at]; known && b.fn.vars[k].name == in.Comment {
			b.bind(at, b.places[in], true)
			b.block.bindings[len(b.block.bindings)-1].writeOnce = b.writeOnce[in]
		}
	case *ssa.Extract:
		b.bindClause(in)
	case *ssa.DebugRef:
		obj, ok := in.Object().(*types.Var)
		if !ok {
			return
		}
		at := declaration(obj)
		k, known := b.debug.index[at]
		if !known || b.fn.vars[k].memory || in.IsAddr {
			return
		}
		var value reflect.Value
		switch x := in.X.(type) {
		case *ssa.Const:
			value = b.constValue(x, b.typ(x.Type(), b.pos))
		case *ssa.Function: // that captures nothing, and may only be called
			t := b.typ(x.Type(), b.pos)
			value = box(t, b.funcValue(x, t))
		}
		if value.IsValid() {
			b.block.bindings = append(b.block.bindings, binding{ip: len(b.block.code), variable: k, constant: value})
			return
		}
		b.bind(at, b.places[in.X], false) // a place without a type means that it is not known
	}
}

// bindClause binds the variable of a type switch as soon as its clause has it, which
// SSA shows where it is used.
func (b *builder) bindClause(in *ssa.Extract) {
	if _, ok := in.Tuple.(*ssa.TypeAssert); !ok {
		return
	}
	for _, use := range *in.Referrers() {
		ref, ok := use.(*ssa.DebugRef)
		if !ok || ref.Object() == nil {
			continue
		}
		if at := declaration(ref.Object()); at != ref.Object().Pos() {
			b.bind(at, b.places[in], false)
			return
		}
	}
}

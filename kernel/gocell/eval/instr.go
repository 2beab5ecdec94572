package eval

import (
	"go/token"
	"go/types"
	"reflect"

	"golang.org/x/tools/go/ssa"
)

// instruction translates one SSA instruction.
func (b *builder) instruction(in ssa.Instruction) {
	if _, debug := in.(*ssa.DebugRef); !debug && in.Pos().IsValid() {
		b.pos, b.block.placed = in.Pos(), true
	}
	switch in := in.(type) {
	case *ssa.Phi, *ssa.DebugRef: // phis are moves at the end of the blocks before
	case *ssa.Alloc:
		b.alloc(in)
	case *ssa.BinOp:
		b.binary(in)
	case *ssa.UnOp:
		b.unary(in)
	case *ssa.Call:
		b.call(in)
	case *ssa.Go:
		b.goStmt(in)
	case *ssa.Defer:
		b.deferStmt(in)
	case *ssa.RunDefers:
		b.emit(runDefers)
	case *ssa.ChangeType:
		b.changeType(in)
	case *ssa.ChangeInterface:
		b.copyValue(b.val(in.X), b.places[in])
	case *ssa.Convert:
		b.convert(in)
	case *ssa.SliceToArrayPointer:
		b.sliceToArrayPointer(in)
	case *ssa.MakeInterface:
		b.makeInterface(in)
	case *ssa.TypeAssert:
		b.typeAssert(in)
	case *ssa.MakeClosure:
		b.makeClosure(in)
	case *ssa.MakeMap, *ssa.MakeChan, *ssa.MakeSlice:
		b.makeContainer(in.(ssa.Value))
	case *ssa.Slice:
		b.slice(in)
	case *ssa.Field:
		b.field(in)
	case *ssa.FieldAddr:
		b.fieldAddr(in)
	case *ssa.Index:
		b.index(in)
	case *ssa.IndexAddr:
		b.indexAddr(in)
	case *ssa.Lookup:
		b.lookup(in)
	case *ssa.MapUpdate:
		b.mapUpdate(in)
	case *ssa.Range:
		b.rangeOver(in)
	case *ssa.Next:
		b.next(in)
	case *ssa.Extract:
		if from, to := b.tuples[in.Tuple][in.Index], b.places[in]; from.i != to.i {
			b.copyValue(from, to)
		}
	case *ssa.Store:
		b.store(in)
	case *ssa.Send:
		b.send(in)
	case *ssa.Select:
		b.selectStmt(in)
	default:
		b.terminator(in)
	}
}

// terminator translates the last instruction of a block.
func (b *builder) terminator(in ssa.Instruction) {
	switch in := in.(type) {
	case *ssa.Jump:
		b.jump(in.Block())
	case *ssa.If:
		b.block.next = b.branch(in.Cond, b.edge(in.Block(), 0), b.edge(in.Block(), 1))
		b.choose(in)
	case *ssa.Return:
		b.block.next = b.giveBack(in)
	case *ssa.Panic:
		if misuse := b.loopMisuse(in); misuse != nil {
			b.block.next = func(fr *frame) int { panic(misuse(fr)) }
			break
		}
		x := b.val(in.X)
		b.block.next = func(fr *frame) int { panic(panicValue(fr.v[x.i])) }
	default:
		refuse(b.pos, "internal error: instruction %s is not known", in)
	}
	b.block.offsets = append(b.block.offsets, b.offset(b.pos))
}

// giveBack returns what ends a call.
func (b *builder) giveBack(in *ssa.Return) func(*frame) int {
	results := b.vals(in.Results)
	if len(results) == 1 && results[0].class == num {
		i := results[0].i
		return func(fr *frame) int {
			fr.result = fr.n[i]
			return ended
		}
	}
	return func(fr *frame) int {
		fr.ret = results
		return ended
	}
}

// edge is what leads from a block to a successor: the moves of the successor's
// phis, all at once, and on the way back of a loop a poll.
type edge struct {
	target int
	moves  []move
	back   bool
}

func (b *builder) edge(from *ssa.BasicBlock, k int) edge {
	to := from.Succs[k]
	return edge{to.Index, b.phiMoves(from, to, k), b.isRetreat(from, to)}
}

// isPlain reports whether nothing is to be done on an edge.
func (e edge) isPlain() bool { return len(e.moves) == 0 && !e.back }

// follow returns what does the edge's work and tells its target.
func (e edge) follow() func(*frame) int {
	target, moves := e.target, e.moves
	switch {
	case e.isPlain():
		return func(*frame) int { return target }
	case len(moves) == 0:
		return func(fr *frame) int {
			if fr.th.run.attention.Load() {
				return fr.attend(target)
			}
			return target
		}
	}
	back := e.back
	return func(fr *frame) int {
		for _, m := range moves {
			m.do(fr, fr)
		}
		if back && fr.th.run.attention.Load() {
			return fr.attend(target)
		}
		return target
	}
}

// phiMoves orders the parallel moves of an edge, through fresh places where
// one phi's source is another's destination.
func (b *builder) phiMoves(from, to *ssa.BasicBlock, k int) []move {
	if _, ok := to.Instrs[0].(*ssa.Phi); !ok {
		return nil
	}
	pred := predIndex(from, to, k)
	var direct []move
	for _, in := range to.Instrs {
		phi, ok := in.(*ssa.Phi)
		if !ok {
			break
		}
		src, dst := b.val(phi.Edges[pred]), b.places[phi]
		if src.i != dst.i || src.class != dst.class {
			direct = append(direct, move{dst.class, src.i, dst.i})
		}
	}
	overlap := false
	for i, m := range direct {
		for _, later := range direct[i+1:] {
			overlap = overlap || later.class == m.class && later.from == m.to
		}
	}
	if !overlap {
		return direct
	}
	var out, back []move
	for _, m := range direct {
		pl := b.place(classTypes[m.class])
		out = append(out, move{m.class, m.from, pl.i})
		back = append(back, move{m.class, pl.i, m.to})
	}
	return append(out, back...)
}

// predIndex finds an edge among the predecessors of its target; both branches
// of an If may lead to one block.
func predIndex(from, to *ssa.BasicBlock, k int) int {
	nth := 0
	for _, s := range from.Succs[:k] {
		if s == to {
			nth++
		}
	}
	for i, p := range to.Preds {
		if p == from {
			if nth == 0 {
				return i
			}
			nth--
		}
	}
	return 0
}

func (b *builder) copyValue(src, dst place) {
	m := move{dst.class, src.i, dst.i}
	switch dst.class {
	case num:
		b.emit(func(fr *frame) { fr.n[m.to] = fr.n[m.from] })
	case ptr:
		b.emit(func(fr *frame) { fr.p[m.to] = fr.p[m.from] })
	case str:
		b.emit(func(fr *frame) { fr.s[m.to] = fr.s[m.from] })
	case lst:
		b.emit(func(fr *frame) { fr.l[m.to] = fr.l[m.from] })
	default:
		b.emit(func(fr *frame) { fr.v[m.to] = fr.v[m.from] })
	}
}

func (b *builder) changeType(in *ssa.ChangeType) {
	src, dst := b.val(in.X), b.places[in]
	if dst.class != ref || dst.isInterface() {
		b.copyValue(src, dst)
		return
	}
	b.emit(func(fr *frame) { fr.v[dst.i] = retag(dst.typ, fr.v[src.i]) })
}

func (b *builder) makeInterface(in *ssa.MakeInterface) {
	src, dst := b.val(in.X), b.places[in]
	if c, ok := in.X.(*ssa.Const); ok && src.class != ref {
		value := b.constValue(c, src.typ)
		value = snapshot(src.typ, value.Addr().UnsafePointer())
		b.emit(func(fr *frame) { fr.v[dst.i] = value })
		return
	}
	b.emit(func(fr *frame) { fr.v[dst.i] = fr.get(src) })
}

// panicValue is the operand of a panic statement as compiled code sees it.
func panicValue(v reflect.Value) any {
	if !v.IsValid() {
		return goPanic(func() { panic(nil) })
	}
	return v.Interface()
}

// goPanic returns the value that Go itself panics with.
func goPanic(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// learn tells the type table what reflection knows of the compiled symbols
// that an instruction uses.
func (b *builder) learn(in ssa.Instruction) {
	switch in := in.(type) {
	case ssa.CallInstruction:
		if fn := in.Common().StaticCallee(); fn != nil {
			b.learnFunc(fn)
		}
	case *ssa.FieldAddr:
		ptr := in.X.Type().Underlying().(*types.Pointer)
		b.learnField(ptr.Elem(), in.Field)
	case *ssa.Field:
		b.learnField(in.X.Type(), in.Field)
	}
	for _, op := range in.Operands(nil) {
		switch v := (*op).(type) {
		case *ssa.Global:
			b.variable(v)
		case *ssa.Function: // as a value
			b.learnFunc(v)
		}
	}
}

func (b *builder) learnFunc(fn *ssa.Function) {
	if fn.Origin() != nil || len(fn.Blocks) > 0 {
		return
	}
	if t, ok := b.hostFuncType(fn); ok {
		b.e.types.Learn(fn.Signature, t)
	}
}

func (b *builder) learnField(t types.Type, i int) {
	s, ok := t.Underlying().(*types.Struct)
	if named, isNamed := types.Unalias(t).(*types.Named); ok && isNamed && !b.isOwn(named.Obj().Pkg()) {
		if r := b.typ(t, b.pos); r.Kind() == reflect.Struct && i < r.NumField() {
			b.e.types.Learn(s.Field(i).Type(), r.Field(i).Type)
		}
	}
}

var iterType = reflect.TypeFor[pointer]()

// classTypes has a type of each class.
var classTypes = [classes]reflect.Type{intType, iterType, stringType, reflect.TypeFor[[]int](), reflect.TypeFor[any]()}

func runDefers(fr *frame) {
	fr.runDefers()
	if p := fr.panicked; p != nil {
		if !p.recovered {
			panic(rethrow{p})
		}
		fr.th.unpend(p)
		fr.panicked = nil
	}
}

var comparisons = map[token.Token]bool{
	token.EQL: true, token.NEQ: true, token.LSS: true, token.LEQ: true, token.GTR: true, token.GEQ: true,
}

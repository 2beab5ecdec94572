package eval

import (
	"go/constant"
	"go/token"
	"go/types"
	"reflect"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Func is a translated function.
type Func struct {
	name   string
	goName string  // what Go calls it
	source *Source // nil for wrappers
	begins int     // where in the source
	loopIn *Func   // whose loop over a function this is the body of

	sizes [classes]int // of the banks
	wide  bool         // it uses others than those of numbers and pointers
	// Constants are copied into each frame; they begin at these indices, after
	// the parameters and captured variables.
	firstConstant [classes]int
	initN         []uint64
	initP         []pointer
	initS         []string
	nils          int // slices
	initV         []reflect.Value
	constants     bool // there are any numbers or pointers

	params, free []place
	vars         []variable // that have names
	results      []reflect.Type
	blocks       []block
	numeric      bool // its one result is a number
	wrapper      bool // it only calls another with the same arguments
	hasDefer     bool
	recovers     bool             // it calls recover
	recoverBlock int              // -1 when results are zero after recovery
	unsigned     map[[2]int]uint8 // blocks and instructions with unsigned bounds, see unsignedBounds
}

type instr func(*frame)

// block is a straight run of instructions; next moves the values of phi
// instructions and returns the block that follows, negative at a return.
type block struct {
	code    []instr
	offsets []int32 // of each instruction and of next, in the source
	placed  bool    // they are its own, not left over from another block
	next    func(*frame) int
	walk    func(*frame) int // next without the work of other blocks, if that differs

	stops    []stop
	bindings []binding
	preds    []int
}

func (b *block) offset(ip int) int {
	for ; ip >= 0; ip-- {
		if o := b.offsets[ip]; o >= 0 {
			return int(o)
		}
	}
	return 0
}

// builder translates one function.
type builder struct {
	*compiler
	ssa    *ssa.Function
	fn     *Func
	places map[ssa.Value]place
	tuples map[ssa.Value][]place
	folded map[ssa.Instruction]bool
	shared map[ssa.Value]*ssa.Phi // values that live in the place of a phi
	// What calls of append take over, see appending.
	appended  map[*ssa.Call][]*ssa.Store
	delayed   map[ssa.Instruction]*ssa.Call
	updates   map[*ssa.Store]*ssa.BinOp // see update
	order     map[*ssa.BasicBlock]int   // see isRetreat
	indices   map[ssa.Instruction]int   // see indexOf
	chosen    map[*ssa.BasicBlock]bool  // tests of a switch that the block which begins it does, see choose
	numbered  int
	writeOnce map[*ssa.Alloc]bool // variables that nobody changes, see findWriteOnce
	block     *block
	pos       token.Pos
	debug     debugInfo

	home     *types.Scope // see findHome
	homeArgs []types.Type
	homeSeen map[types.Type]bool
}

func newBuilder(c *compiler, fn *ssa.Function) *builder {
	return &builder{
		compiler: c, ssa: fn, fn: c.funcs[fn], places: map[ssa.Value]place{}, tuples: map[ssa.Value][]place{},
		folded: map[ssa.Instruction]bool{}, shared: map[ssa.Value]*ssa.Phi{},
		appended: map[*ssa.Call][]*ssa.Store{}, delayed: map[ssa.Instruction]*ssa.Call{}, writeOnce: map[*ssa.Alloc]bool{}, updates: map[*ssa.Store]*ssa.BinOp{},
		indices: map[ssa.Instruction]int{}, chosen: map[*ssa.BasicBlock]bool{},
	}
}

func (b *builder) translate() {
	b.pos = b.ssa.Pos()
	b.fn.wrapper = isWrapper(b.ssa)
	b.findHome()
	b.fn.source = b.sourceOf(b.ssa)
	if isLoopBody(b.ssa) {
		b.fn.loopIn = b.funcs[b.ssa.Parent()]
	}
	if b.fn.source != nil {
		b.fn.goName, b.fn.begins = goName(b.ssa, b.unit.Main), int(b.offset(b.pos))
	}
	for _, p := range b.ssa.Params {
		b.fn.params = append(b.fn.params, b.reserve(p))
	}
	for _, v := range b.ssa.FreeVars {
		b.fn.free = append(b.fn.free, b.reserve(v))
	}
	res := b.ssa.Signature.Results()
	for i := range res.Len() {
		b.fn.results = append(b.fn.results, b.typ(res.At(i).Type(), b.pos))
	}
	b.fn.numeric = len(b.fn.results) == 1 && classOf(b.fn.results[0]) == num
	b.fn.firstConstant = b.fn.sizes
	b.constants()
	b.fn.constants = len(b.fn.initN)+len(b.fn.initP) > 0
	for _, blk := range b.ssa.Blocks {
		b.fold(blk)
	}
	b.share()
	b.findWriteOnce()
	b.reserveAll()
	b.surveyVariables()
	b.fn.recoverBlock = -1
	b.fn.blocks = make([]block, len(b.ssa.Blocks))
	for i, blk := range b.ssa.Blocks {
		if blk == b.ssa.Recover {
			b.fn.recoverBlock = i
		}
		b.block = &b.fn.blocks[i]
		b.beginBlock(i, blk)
		for _, in := range blk.Instrs {
			b.beforeInstruction(in)
			if !b.folded[in] {
				from := len(b.block.code)
				b.instruction(in)
				b.noteUnsigned(in, i, from)
			}
			b.afterInstruction(in)
		}
		if n := len(b.block.offsets); n == len(b.block.code) {
			b.block.offsets = append(b.block.offsets, b.offset(b.pos))
		}
	}
}

// isWrapper reports whether a function is made to call another: for a promoted or a
// bound method, a method as a function of its receiver, or a method of a generic
// type that a later cell gave its code.
func isWrapper(fn *ssa.Function) bool {
	kind, _, made := strings.Cut(fn.Synthetic, " for ")
	return made && (kind == "wrapper" || kind == "thunk" || kind == "bound method wrapper") || isForwarding(fn)
}

func isForwarding(fn *ssa.Function) bool {
	return len(fn.Params) > 0 && strings.HasPrefix(fn.Params[0].Name(), Forwarding)
}

// Forwarding begins the names of the parameters of a method that only calls the
// function which has its code now.
const Forwarding = "arg·"

// sourceOf finds the text of a function by the positions in it; wrappers have
// none.
func (b *builder) sourceOf(fn *ssa.Function) *Source {
	if isForwarding(fn) || fn.Synthetic != "" && fn.Synthetic != "package initializer" && fn.Origin() == nil && fn.Parent() == nil {
		return nil
	}
	if fn.Name() == b.unit.Main && fn.Parent() == nil {
		return b.unit.Source
	}
	at := b.unitOf(fn).Position
	if s, _, ok := at(fn.Pos()); ok {
		return s
	}
	for _, blk := range fn.Blocks {
		for _, in := range blk.Instrs {
			if s, _, ok := at(in.Pos()); ok {
				return s
			}
		}
	}
	return nil
}

// unitOf returns the unit whose syntax a function was built from.
func (b *builder) unitOf(fn *ssa.Function) *Unit {
	for fn.Parent() != nil {
		fn = fn.Parent()
	}
	if fn.Origin() != nil {
		fn = fn.Origin()
	}
	if fn.Pkg != nil {
		if u := b.units[fn.Pkg.Pkg]; u != nil {
			return u
		}
	}
	return b.unit
}

func (b *builder) offset(pos token.Pos) int32 {
	if b.fn.source != nil && pos.IsValid() {
		if s, at, ok := b.unitOf(b.ssa).Position(pos); ok && s == b.fn.source {
			return int32(at)
		}
	}
	return -1
}

// emit adds an instruction.
func (b *builder) emit(in instr) {
	b.block.code = append(b.block.code, in)
	b.block.offsets = append(b.block.offsets, b.offset(b.pos))
}

// place makes room for a value of a type.
func (b *builder) place(t reflect.Type) place {
	pl := place{class: classOf(t), typ: t}
	pl.i = b.fn.sizes[pl.class]
	b.fn.sizes[pl.class]++
	b.fn.wide = b.fn.wide || pl.class > ptr
	return pl
}

func (b *builder) reserve(v ssa.Value) place {
	if phi := b.shared[v]; phi != nil {
		if _, done := b.places[phi]; !done {
			b.reserve(phi)
		}
		b.places[v] = b.places[phi]
		return b.places[v]
	}
	if pl, done := b.places[v]; done {
		return pl
	}
	pl := b.place(b.typ(v.Type(), b.pos))
	b.places[v] = pl
	return pl
}

// reserveComponent leaves a component of a tuple where the tuple has it: when an
// instruction gives the tuple again, nobody can look at the former component,
// since every use is behind the instruction that extracts it.
func (b *builder) reserveComponent(in *ssa.Extract) {
	if b.shared[in] == nil {
		b.places[in] = b.reserveTuple(in.Tuple)[in.Index]
	}
	b.reserve(in)
}

// reserveAll makes room for the results of all instructions.
func (b *builder) reserveAll() {
	for _, blk := range b.ssa.Blocks {
		for _, in := range blk.Instrs {
			if _, debug := in.(*ssa.DebugRef); debug {
				continue
			}
			if in.Pos().IsValid() {
				b.pos = in.Pos()
			}
			for _, op := range in.Operands(nil) {
				if g, ok := (*op).(*ssa.Global); ok && b.places[g].typ == nil {
					b.reserve(g)
				}
			}
			v, ok := in.(ssa.Value)
			if !ok {
				continue
			}
			if _, iterator := v.(*ssa.Range); iterator {
				b.places[v] = b.place(iterType)
				continue
			}
			if _, ok := v.Type().(*types.Tuple); ok {
				b.reserveTuple(v)
			} else if in, ok := v.(*ssa.Extract); ok {
				b.reserveComponent(in)
			} else {
				b.reserve(v)
			}
		}
	}
}

func (b *builder) reserveTuple(v ssa.Value) []place {
	if list, done := b.tuples[v]; done {
		return list
	}
	tuple := v.Type().(*types.Tuple)
	list := make([]place, tuple.Len())
	for i := range list {
		list[i] = b.place(b.typ(tupleType(tuple.At(i).Type()), b.pos))
	}
	b.tuples[v] = list
	return list
}

// tupleType replaces the type of a component that nobody uses.
func tupleType(t types.Type) types.Type {
	if basic, ok := t.(*types.Basic); ok && basic.Kind() == types.Invalid {
		return types.Typ[types.Int]
	}
	return t
}

// constants makes room for all constants and functions that are operands.
func (b *builder) constants() {
	for _, blk := range b.ssa.Blocks {
		for _, in := range blk.Instrs {
			if _, debug := in.(*ssa.DebugRef); debug {
				continue
			}
			if in.Pos().IsValid() {
				b.pos = in.Pos()
			}
			b.learn(in)
			for i, op := range in.Operands(nil) {
				if *op != nil && !isCallee(in, i, *op) && !isImmediate(in, i) && !b.isStoredNumber(in, i) {
					b.constant(*op)
				}
			}
		}
	}
}

// isCallee reports whether an operand is called and needs no func value.
func isCallee(in ssa.Instruction, i int, v ssa.Value) bool {
	call, ok := in.(ssa.CallInstruction)
	if !ok || i != 0 || call.Common().IsInvoke() {
		return false
	}
	_, static := v.(*ssa.Function)
	return static
}

func (b *builder) constant(v ssa.Value) {
	if _, done := b.places[v]; done {
		return
	}
	switch v := v.(type) {
	case *ssa.Const:
		pl := b.reserve(v)
		value := b.constValue(v, pl.typ)
		switch pl.class {
		case num:
			b.fn.initN = append(b.fn.initN, number(value))
		case ptr:
			b.fn.initP = append(b.fn.initP, word(value))
		case str:
			b.fn.initS = append(b.fn.initS, value.String())
		case lst: // nil, the one constant slice
			b.fn.nils++
		default:
			b.fn.initV = append(b.fn.initV, dynamic(value))
		}
	case *ssa.Function:
		pl := b.reserve(v)
		b.fn.initP = append(b.fn.initP, b.funcValue(v, pl.typ))
	}
}

func (b *builder) constValue(c *ssa.Const, t reflect.Type) reflect.Value {
	if c.Value == nil {
		return b.zero(t)
	}
	v := fresh(t)
	switch k := t.Kind(); {
	case k == reflect.Bool:
		v.SetBool(constant.BoolVal(c.Value))
	case k == reflect.String:
		v.SetString(constStringValue(c))
	case isSigned(k):
		v.SetInt(c.Int64())
	case isUnsigned(k):
		v.SetUint(c.Uint64())
	case isFloat(k):
		v.SetFloat(c.Float64())
	case k == reflect.UnsafePointer:
		n := uintptr(c.Uint64())
		v.SetPointer(*(*pointer)(pointer(&n)))
	case k == reflect.Complex64 || k == reflect.Complex128:
		v.SetComplex(c.Complex128())
	default:
		refuse(b.pos, "constant %s of type %s is not supported", c.Value, t)
	}
	return v
}

// zero is one value for all zero constants of a type: each mention of a large array
// is a constant of its own.
func (c *compiler) zero(t reflect.Type) reflect.Value {
	v, made := c.zeros[t]
	if !made {
		v = fresh(t)
		c.zeros[t] = v
	}
	return v
}

func constStringValue(c *ssa.Const) string {
	if c.Value.Kind() == constant.Int { // string(65), folded
		n, _ := constant.Int64Val(c.Value)
		return string(rune(n))
	}
	return constant.StringVal(c.Value)
}

// val returns the place of an operand, reading a variable's address first.
func (b *builder) val(v ssa.Value) place {
	if g, ok := v.(*ssa.Global); ok {
		pl, done := b.places[v]
		if !done {
			refuse(b.pos, "internal error: variable %s has no place", g.Name())
		}
		variable := b.variable(g)
		b.emit(func(fr *frame) { fr.p[pl.i] = variable.addr.Load().p })
		return pl
	}
	pl, ok := b.places[v]
	if !ok {
		refuse(b.pos, "internal error: %s %s has no place", reflect.TypeOf(v), v)
	}
	return pl
}

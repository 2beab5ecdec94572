package check

import "forgekernel/forge/backend/wgsl/shader/syntax"

// Op tells expressions apart.
type Op uint8

const (
	Const     Op = iota // Words
	Override            // Var, whose value a pipeline sets
	VarRef              // the memory of Var
	Value               // the value of Var, a let or a parameter
	Load                // the value in memory Args[0]
	Index               // element Args[1] of Args[0], a value or memory
	Member              // field N of Args[0], a value or memory
	Swizzle             // the components Pick of vector Args[0], a value
	Unary               // Name, one of - ! ~, on each component
	Binary              // Name on each component, or a product of matrices
	Logical             // Name, && or ||, of Args[0] and, where it matters, Args[1]
	Call                // Fn with Args
	Builtin             // the builtin function Name with Args
	Compose             // the words of all Args in a row
	Convert             // each component to the scalar type of Type
	Bitcast             // the bits of Args[0] as Type
	AddressOf           // a pointer to memory Args[0]
	Deref               // the memory that pointer Args[0] points to
)

// Expr is a typed expression. Memory has a type of kind Ref.
type Expr struct {
	Op    Op
	Type  *Type
	Pos   syntax.Pos
	Args  []*Expr
	Words []uint64
	Var   *Var
	Fn    *Func
	Name  string
	N     int
	Pick  []uint8
}

// Var is a variable, a value with a name, or a parameter.
type Var struct {
	Name    string
	Pos     syntax.Pos
	Keyword string // var, let, const, override, param
	Type    *Type  // of the value, or what the memory holds
	Space   Space
	Access  Access
	Init    *Expr // nil where there is none

	Group, Binding uint32 // of uniform and storage variables
	ID             int    // of an override with @id, else -1
	Builtin        string // of a parameter of an entry point

	root *Var // of a let that is a pointer
}

// Func is a function.
type Func struct {
	Name      string
	Pos       syntax.Pos
	Params    []*Var
	Result    *Type
	Body      *Stmt
	Compute   bool
	Workgroup [3]*Expr // of an entry point; nil is 1
	Inputs    []string // the builtin values that an entry point takes

	decl   *syntax.Function
	uses   []*Var  // module variables named in the body
	calls  []*Func // in the order of the text
	access map[*Var]access
	effect effect
}

// StmtOp tells statements apart.
type StmtOp uint8

const (
	Block   StmtOp = iota // Body
	Declare               // Var with its Init
	Store                 // X, memory, becomes Y; a nil X drops Y
	If                    // X, Then, Else or nil
	Switch                // X, Cases
	Loop                  // Body, then Continuing, until break or BreakIf Y
	Break
	Continue
	Return // X or nil
	Eval   // X, a call
)

// Stmt is a checked statement.
type Stmt struct {
	Op         StmtOp
	Pos        syntax.Pos
	Var        *Var
	X, Y       *Expr
	Body       []*Stmt
	Then, Else *Stmt // Blocks
	Continuing *Stmt // a Block, or nil
	Cases      []Case
}

// Case is a clause of a switch; Default says that the clause takes what no
// other does.
type Case struct {
	Words   []uint64
	Default bool
	Body    *Stmt
}

// Module is a checked module.
type Module struct {
	Vars      []*Var // of the module, in the order of the text
	Overrides []*Var
	Funcs     []*Func
}

// Entry finds an entry point, or the only one where the name is empty.
func (m *Module) Entry(name string) *Func {
	var found *Func
	for _, f := range m.Funcs {
		if !f.Compute || name != "" && f.Name != name {
			continue
		}
		if found != nil {
			return nil
		}
		found = f
	}
	return found
}

// Reaches lists the module's variables that a function or what it calls names,
// in the order of their declaration.
func (m *Module) Reaches(f *Func) []*Var {
	named := map[*Var]bool{}
	for _, v := range f.named() {
		named[v] = true
	}
	var list []*Var
	for _, v := range m.Vars {
		if named[v] {
			list = append(list, v)
		}
	}
	return list
}

// named lists the module's variables that a function names, and then those of
// what it calls, each once.
func (f *Func) named() []*Var {
	funcs, vars := map[*Func]bool{}, map[*Var]bool{}
	var list []*Var
	var visit func(*Func)
	visit = func(f *Func) {
		if funcs[f] {
			return
		}
		funcs[f] = true
		for _, v := range f.uses {
			if !vars[v] {
				vars[v] = true
				list = append(list, v)
			}
		}
		for _, g := range f.calls {
			visit(g)
		}
	}
	visit(f)
	return list
}

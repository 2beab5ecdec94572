// Package eval runs checked Go syntax. It is the engine of Go cells: it needs
// no toolchain, and it gives the answers that Go gives.
//
// A cell is translated by golang.org/x/tools/go/ssa, which has already lowered
// generics, range loops, closures, method sets and the order of evaluation;
// what remains are about 35 instructions. Each becomes a Go closure over a
// [frame], whose values lie in five banks by class. Values are real Go values
// of real reflect types (package rtype), so they pass to compiled code and back
// without conversion.
//
// One ssa program is made per cell and dropped once translated. What cells
// share is small: a [Var] holds the storage of a session variable, a [Func] cell
// the present code of a session function or method, and both can be given new
// content while old code refers to them.
//
// Every loop and call polls one flag, and channel operations wait for it too:
// that is how an interrupt stops user code and leaves its state whole.
package eval

import (
	"context"
	"go/ast"
	"go/token"
	"go/types"
	"io"
	"reflect"
	"sync"
	"sync/atomic"

	"golang.org/x/tools/go/types/typeutil"

	"forgekernel/display"
	"forgekernel/kernel/gocell/rtype"
)

// Host gives the engine compiled packages.
type Host interface {
	// Symbol returns an exported function (a func), variable (a pointer to it)
	// or type (a nil pointer to it) of a package.
	Symbol(path, name string) (reflect.Value, bool)
}

// Options connects an engine with its surroundings; every field but Sink is
// required.
type Options struct {
	Host   Host
	Writer func(cell uint64, stream string) io.Writer
	Stdin  func(ctx context.Context, prompt string, password bool) (string, error)
	Async  func(cell uint64, err *Panic)
	// Sink receives what a cell displays; nil means the process-wide sink.
	Sink     func(cell uint64) display.Sink
	Debugger *Debugger // looks at the session's goroutines
	// Hidden supplies functions that only the front end can name in a unit.
	Hidden map[string]func(call Call, args []reflect.Value)
}

// Call says on whose behalf a hidden function runs.
type Call struct {
	Cell uint64
	Data any // as given to Program.Run
}

// Engine holds the code and types of one session.
type Engine struct {
	opts  Options
	types rtype.Table

	mu      sync.Mutex // guards compilation and the maps below
	methods map[*types.Func]*Code
	sets    map[methodKey]*closure // the methods of made types
	// The code of methods of instances, by receiver type and method name.
	instances typeutil.Map          // *types.Named -> map[string]*instance
	failed    map[*types.Func]error // generic methods that no longer compile
	altered   map[*types.Func]bool  // methods that had another signature before
	// alterations counts them, so that calls look again for what they call.
	alterations atomic.Int64
	compile     *compiler    // the compilation that runs
	shapes      sync.RWMutex // guards the methods of declared types
	uniques     sync.Map     // what unique.Make made
	// maxStack is what cells believe to be the limit of a stack: a lower one would
	// end the process, not the cell.
	maxStack atomic.Int64
	own      sync.Map // paths of packages that are interpreted

	renewed atomic.Bool         // some types have generations
	current atomic.Pointer[run] // of the latest cell
	debug   *Debugger
	args    *Var // os.Args: a cell has a name and no arguments
	threads threadList
	runs    runList
	passing passing
	stdin   stdin
}

// New returns an engine for one session.
func New(opts Options) *Engine {
	e := &Engine{opts: opts, debug: opts.Debugger, methods: map[*types.Func]*Code{}, sets: map[methodKey]*closure{}, failed: map[*types.Func]error{}, altered: map[*types.Func]bool{}}
	e.maxStack.Store(1_000_000_000)
	e.types.Host = e.hostType
	e.types.Own = e.isInterpreted
	e.types.Number = e.localNumber
	e.Interpret("main")
	e.types.Method = e.reflectMethod
	e.current.Store(e.newRun(0, "", nil))
	e.debug.engine.Store(e)
	e.args = e.HostVar(types.NewSlice(types.Typ[types.String]), reflect.ValueOf([]string{"cell"}))
	return e
}

// Source is a text that code was written in.
type Source struct {
	Name string // "cell 3"
	File string // how a debugger calls the notebook cell
	Line int    // number of its first line in the notebook cell
	Text string
}

// Unit is one checked package to translate.
type Unit struct {
	Fset  *token.FileSet
	Pkg   *types.Package
	Files []*ast.File
	Info  *types.Info
	// Outer holds stand-ins for the session's variables and functions, which
	// Vars and Funcs resolve; they also resolve this unit's own ones.
	Outer *types.Package
	Vars  map[*types.Var]*Var
	Funcs map[*types.Func]*Code
	// Position finds the source of a position; false for made-up syntax.
	Position func(token.Pos) (*Source, int, bool)
	// Generic lists earlier units whose generic declarations this one may need.
	Generic []*Unit
	// Forwarded lists methods of generic types that this unit gives new code:
	// their instances are translated again.
	Forwarded []*types.Func
	// Renewed lists types whose methods have changed, see Engine.Renew.
	Renewed []types.Type
	// Abandoned tells that nobody waits for the program any more.
	Abandoned func() bool
	// Init makes the program one that initialises the package's variables and
	// calls its init functions.
	Init bool
	// Main names the function to run; empty when there is nothing to run. Source
	// is what it was written in.
	Main   string
	Source *Source

	locals    []token.Pos // of the types that its functions declare, once that was asked for
	mentioned mentions    // what its syntax uses, once that was asked for
}

// mentions are objects of compiled packages.
type mentions map[*types.Package]map[types.Object]bool

// Var is the storage of a session variable.
type Var struct {
	typ  types.Type
	addr atomic.Pointer[storage]
}

type storage struct {
	p pointer
	t reflect.Type
}

// Code is the present code of a session function or method.
type Code struct {
	Name string
	fn   atomic.Pointer[Func]
	fail atomic.Pointer[error]
}

// Fail makes every later call panic with err, until the code is linked again.
func (c *Code) Fail(err error) {
	c.fail.Store(&err)
	if old := c.fn.Load(); old != nil {
		failing := *old
		failing.hasDefer, failing.source = false, nil // a trace shows who called
		failing.blocks = []block{{next: func(*frame) int { panic(err) }, offsets: []int32{-1}}}
		c.fn.Store(&failing)
	}
}

// NewVar returns a variable; compiling a unit that names it makes its storage.
func NewVar(t types.Type) *Var { return &Var{typ: t} }

// settle gives a variable zeroed storage, or the present generation of its type.
func (v *Var) settle(t reflect.Type) {
	switch s := v.addr.Load(); {
	case s == nil:
		v.addr.Store(&storage{alloc(t), t})
	case s.t != t && s.t.Size() == t.Size():
		v.addr.Store(&storage{s.p, t})
	}
}

// HostVar returns storage that holds a host value.
func (e *Engine) HostVar(t types.Type, value reflect.Value) *Var {
	e.types.Learn(t, value.Type())
	v := &Var{typ: t}
	v.Set(value)
	return v
}

// Set gives the variable a value of its type; those who took its address keep
// the former storage.
func (v *Var) Set(value reflect.Value) {
	p := reflect.New(value.Type())
	p.Elem().Set(value)
	v.addr.Store(&storage{p.UnsafePointer(), value.Type()})
}

// Clear makes the variable zero.
func (v *Var) Clear() {
	if x := v.Value(); x.IsValid() {
		x.SetZero()
	}
}

// Value returns what the variable holds now.
func (v *Var) Value() reflect.Value {
	s := v.addr.Load()
	if s == nil {
		return reflect.Value{}
	}
	return at(s.t, s.p)
}

// Interpret says that a package's types and functions are those of its source.
func (e *Engine) Interpret(path string) {
	e.own.Store(path, true)
}

func (e *Engine) isInterpreted(path string) bool {
	_, own := e.own.Load(path)
	return own
}

// MethodCode returns the code of a method of a declared type.
func (e *Engine) MethodCode(m *types.Func) *Code {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.methodCode(m)
}

func (e *Engine) methodCode(m *types.Func) *Code {
	c := e.methods[m]
	if c == nil {
		c = &Code{Name: m.Name()}
		e.methods[m] = c
	}
	return c
}

// Renew prepares for methods of declared types that are added or get another
// signature: types made of those are made anew by the unit that declares the
// methods, which lists them as renewed.
func (e *Engine) Renew(changed ...*types.Named) []types.Type {
	for _, named := range changed {
		if named.TypeParams().Len() > 0 || e.types.Known(named) {
			e.renewed.Store(true)
			return e.types.Renew(changed...)
		}
	}
	return nil
}

// Alter gives a method whose signature has changed a code of its own. Those who
// hold the former method go on with its code: a bound method, say. undo takes
// that back.
func (e *Engine) Alter(m *types.Func) (undo func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before, was := e.methods[m], e.altered[m]
	delete(e.methods, m)
	e.altered[m] = true
	e.alterations.Add(1)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.methods[m], e.altered[m] = before, was
	}
}

// Reshape changes declared types while no goroutine asks what they implement.
// The change is given the types that the engine knows.
func (e *Engine) Reshape(change func(known []types.Type)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shapes.Lock()
	defer e.shapes.Unlock()
	known := e.types.All()
	e.instances.Iterate(func(t types.Type, methods any) {
		known = append(known, t)
		for _, i := range methods.(map[string]*instance) {
			known = append(known, i.recv)
		}
	})
	change(known)
}

// hostType looks up a compiled type.
func (e *Engine) hostType(path, name string) (reflect.Type, bool) {
	if e.isInterpreted(path) {
		return nil, false
	}
	v, ok := e.opts.Host.Symbol(path, name)
	if !ok || v.Kind() != reflect.Pointer || !v.IsNil() {
		return nil, false
	}
	return v.Type().Elem(), true
}

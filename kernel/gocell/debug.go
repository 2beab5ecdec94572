package gocell

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"

	"forgekernel/kernel/gocell/eval"
)

// Debugger halts cells and looks into them. A session has one; its methods may
// be called at any time, those that look at a [Call] until that goes on.
type Debugger struct {
	*eval.Debugger
	s *Session
}

// Debugger returns the session's debugger.
func (s *Session) Debugger() *Debugger { return &Debugger{s.debug, s} }

// Call is one call of user code: of a halted goroutine, or on the way to a panic.
type Call struct {
	Frame
	File       string // as in Cell.File
	activation eval.Activation
}

// Variable is a variable that a debugger looks at.
type Variable struct {
	Name string
	Type string
	// Value is invalid for an interface that holds nothing, and when Gone says
	// that nothing uses the variable any more, so that its value is not kept.
	Value     reflect.Value
	Gone      bool
	Interface bool // it is one: Value is what it holds
}

func calls(list []eval.Activation) []Call {
	var out []Call
	for _, a := range list {
		l, ok := a.Location()
		if !ok {
			continue
		}
		c := Call{Frame: Frame{Cell: l.Source.Name, Func: functionName(l), Text: lineAt(l.Source, l.Offset)}, File: l.Source.File, activation: a}
		c.Line, c.Col = position(l.Source, l.Offset)
		c.Omitted = a.Omitted
		out = append(out, c)
	}
	return out
}

// Stack lists the calls of a halted goroutine, innermost first. False means that
// it is not halted.
func (d *Debugger) Stack(thread uint64) ([]Call, bool) {
	list, ok := d.Debugger.Stack(thread)
	return calls(list), ok
}

// Panicked is the latest panic that ended a cell or a goroutine, with its calls
// and their variables as they were, innermost first; nil before the first.
func (s *Session) Panicked() (*PanicError, []Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.panicked == nil {
		return nil, nil
	}
	return panicError(s.panicked), calls(s.panicked.Calls)
}

func (s *Session) keepCalls(err error) {
	var p *eval.Panic
	if errors.As(err, &p) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.panicked = p
	}
}

// Variables lists the call's local variables.
func (c Call) Variables() []Variable {
	var list []Variable
	for _, l := range c.activation.Locals() {
		if l.Const != nil {
			continue
		}
		list = append(list, Variable{
			Name: l.Name, Type: types.TypeString(l.Type, qualify), Value: l.Value, Gone: !l.Value.IsValid() && !l.Nil, Interface: types.IsInterface(l.Type),
		})
	}
	return list
}

// Globals lists the session's variables, by name.
func (s *Session) Globals() []Variable {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Variable
	for _, name := range slices.Sorted(maps.Keys(s.scope.symbols)) {
		if sym := s.scope.symbols[name]; sym.kind == "var" {
			list = append(list, Variable{Name: name, Type: sym.describe(), Value: sym.variable.Value(), Interface: types.IsInterface(sym.obj.Type())})
		}
	}
	return list
}

// Errors of what looks at halted code.
var (
	errGone = errors.New("the code has gone on since")
	errRuns = errors.New("code runs that does not stop for a look: it can be paused")
)

// Evaluate computes an expression where a call stands, or with the session's
// variables alone when call is nil, while all else is held. No display is made
// of its values.
func (s *Session) Evaluate(ctx context.Context, expr string, call *Call) (Result, error) {
	return s.evaluate(ctx, expr, call, shownValues{plain: true})
}

// Render is Evaluate with the display of the values.
func (s *Session) Render(ctx context.Context, expr string, call *Call) (Result, error) {
	return s.evaluate(ctx, expr, call, shownValues{})
}

func (s *Session) evaluate(ctx context.Context, expr string, call *Call, shown shownValues) (Result, error) {
	x, err := parser.ParseExpr(expr)
	if err != nil {
		return Result{}, fmt.Errorf("%q is not a Go expression: %w", expr, err)
	}
	result := Result{}
	shown.result = &result
	err = s.held(ctx, call, func() error {
		scope, _, err := s.within(freeNames(x), call)
		if err != nil {
			return err
		}
		return s.runIn(ctx, scope, expr, shown)
	})
	if err == nil && !result.HasValue {
		err = fmt.Errorf("%s has no value", expr)
	}
	return result, err
}

// held calls f while everything is held and a call stands where it did.
func (s *Session) held(ctx context.Context, call *Call, f func() error) (err error) {
	s.debug.Hold(ctx, func(w eval.World) {
		switch {
		case call != nil && !s.debug.Stands(call.activation):
			err = errGone
		case ctx.Err() != nil: // what runs has not had its time to stop
			err = errAbandoned
		case !w.Still:
			err = errRuns
		default:
			err = f()
		}
	})
	return err
}

// runIn runs a line in a scope.
func (s *Session) runIn(ctx context.Context, scope *scope, line string, shown shownValues) error {
	p, err := s.prepareIn(ctx, scope, line)
	if err != nil {
		return err
	}
	if len(s.turn()) == 0 { // else what initialises packages may be halted, and does not go on
		if err := s.initialise(ctx, p.starting, 0); err != nil {
			return runError(err)
		}
	}
	if err := p.program.Peek(ctx, "expression", 0, &shown); err != nil {
		return runError(err)
	}
	return nil
}

// Assign gives a variable, or a part of one, the value of an expression where a
// call stands, or with the session's variables alone when call is nil. The operator
// is = or one of +=, -= and so on.
func (s *Session) Assign(ctx context.Context, variable string, op token.Token, expr string, call *Call) error {
	to, err := parser.ParseExpr(variable)
	if err != nil {
		return fmt.Errorf("cannot assign to %q: %w", variable, err)
	}
	x, err := parser.ParseExpr(expr)
	if err != nil {
		return fmt.Errorf("%q is not a Go expression: %w", expr, err)
	}
	return s.held(ctx, call, func() error {
		scope, locals, err := s.within(freeNames(&ast.BinaryExpr{X: to, Op: token.ADD, Y: x}), call)
		if err != nil {
			return err
		}
		if err := s.runIn(ctx, scope, fmt.Sprintf("%s %s %s", variable, op, expr), shownValues{quiet: true}); err != nil {
			return err
		}
		root := rootName(to)
		if v := locals[root]; v != nil {
			return call.activation.Assign(root, v.Value())
		}
		return nil
	})
}

// rootName is the variable that an assignment changes or begins at.
func rootName(x ast.Expr) string {
	for {
		switch e := x.(type) {
		case *ast.Ident:
			return e.Name
		case *ast.SelectorExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.ParenExpr:
			x = e.X
		case *ast.StarExpr:
			x = e.X
		default:
			return ""
		}
	}
}

// within is the session's scope with the variables of a call in it, of which
// those that are used must be known.
func (s *Session) within(used map[string]bool, call *Call) (*scope, map[string]*eval.Var, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	scope, locals := *s.scope, map[string]*eval.Var{}
	scope.symbols = maps.Clone(s.scope.symbols)
	if call == nil {
		return &scope, locals, nil
	}
	for _, l := range call.activation.Locals() {
		if l.Const != nil {
			scope.symbols[l.Name] = &symbol{name: l.Name, kind: "const", obj: l.Const, cell: call.Cell}
			continue
		}
		s.scope.grown.renew(l.Type)
		v := s.engine.Storage(l)
		if v == nil && used[l.Name] {
			return nil, nil, fmt.Errorf("%s is optimized out here: it is not used after this line", l.Name)
		}
		if v != nil {
			scope.symbols[l.Name] = &symbol{name: l.Name, kind: "var", obj: types.NewVar(token.NoPos, nil, l.Name, l.Type), cell: call.Cell, variable: v}
			locals[l.Name] = v
		}
	}
	return &scope, locals, nil
}

// prepareIn checks a line in another scope; nothing of it is left behind.
func (s *Session) prepareIn(ctx context.Context, scope *scope, line string) (*prepared, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	within := &Session{opts: s.opts, engine: s.engine, debug: s.debug, scope: scope, sourceUnits: s.sourceUnits, mods: s.mods}
	return within.prepare(ctx, &eval.Source{Name: "expression", Line: 1, Text: line}, new(atomic.Bool))
}

// CopyToGlobals makes a variable of the session out of a call's local variable.
func (s *Session) CopyToGlobals(name string, call Call, as string) error {
	if !token.IsIdentifier(as) || as == "_" {
		return fmt.Errorf("%q is not a name", as)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range call.activation.Locals() {
		if l.Name != name || l.Const != nil {
			continue
		}
		v := s.engine.Storage(l)
		if v == nil {
			return fmt.Errorf("%s is optimized out here: it is not used after this line", name)
		}
		v = v.Copy()
		s.scope.grown.renew(l.Type)
		old := s.scope.symbols[as]
		s.scope.symbols[as] = &symbol{name: as, kind: "var", obj: types.NewVar(token.NoPos, nil, as, l.Type), cell: call.Cell, variable: v}
		if old != nil && old.variable != nil && types.Identical(old.obj.Type(), l.Type) {
			old.variable.Set(v.Value())
			s.scope.symbols[as].variable = old.variable
			return nil
		}
		return s.refit(as)
	}
	return fmt.Errorf("there is no variable %s at %s:%d", name, call.Cell, call.Line)
}

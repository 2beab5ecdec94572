package gocell

import (
	"context"
	"errors"
	"fmt"
	"go/types"
	"io"
	"maps"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"forgekernel/display"
	"forgekernel/kernel/gocell/eval"
	"forgekernel/kernel/gocell/hostpkg"
)

// Session is a Go session. Its methods may be called at any time, also while
// cells run, and cells may run beside one another: each is checked against what
// those before it declared, whether they have ended or not, and shares its
// variables with them as goroutines do.
type Session struct {
	opts Options

	mu          sync.Mutex // guards what follows, but not running code
	engine      *eval.Engine
	debug       *eval.Debugger
	panicked    *eval.Panic // the latest one
	scope       *scope
	sourceUnits map[string]*eval.Unit
	mods        *modules
	starting    []*modulePackage // translated, not initialised
	// It holds an element while packages are initialised.
	initialising chan struct{}
}

// New returns an empty session. It fails when the binary carries no data about
// packages.
func New(opts Options) (*Session, error) {
	if err := hostpkg.Ready(); err != nil {
		return nil, err
	}
	if opts.Writer == nil {
		stdout, stderr := os.Stdout, os.Stderr // cells may change the variables
		opts.Writer = func(_ uint64, stream string) io.Writer {
			if stream == "stderr" {
				return stderr
			}
			return stdout
		}
	}
	if opts.Stdin == nil {
		opts.Stdin = func(context.Context, string, bool) (string, error) {
			return "", errors.New("this cell cannot ask for input")
		}
	}
	if opts.Async == nil {
		opts.Async = func(uint64, error) {}
	}
	s := &Session{opts: opts, debug: eval.NewDebugger()}
	s.start()
	return s, nil
}

func (s *Session) start() {
	s.scope = newScope()
	s.sourceUnits = map[string]*eval.Unit{}
	s.starting, s.initialising = nil, make(chan struct{}, 1)
	s.mods = &modules{getting: make(chan struct{}, 1)}
	s.engine = eval.New(eval.Options{
		Host: host{}, Writer: s.opts.Writer, Stdin: s.opts.Stdin, Sink: s.opts.Sink, Debugger: s.debug,
		Async: func(cell uint64, p *eval.Panic) {
			s.keepCalls(p)
			s.opts.Async(cell, panicError(p))
		},
		Hidden: map[string]func(eval.Call, []reflect.Value){
			showName: func(call eval.Call, args []reflect.Value) { call.Data.(*shownValues).set(args[0]) },
		},
	})
}

// shownValues receives the value of the last expression and makes its display
// while the cell still runs: a Display method is code of the cell, too.
type shownValues struct {
	quiet   bool
	plain   bool // the values are all that is wanted
	errLast bool // the last value is of type error
	result  *Result
}

func (v *shownValues) set(list reflect.Value) {
	if v.quiet {
		return
	}
	values := slices.Clone(list.Interface().([]any))
	n := len(values)
	noError := v.errLast && values[n-1] == nil
	if n == 1 && noError {
		return
	}
	v.result.HasValue, v.result.Values = true, values
	if v.plain {
		return
	}
	if n == 2 && noError {
		if b := display.ToBundle(values[0]); isRich(b) {
			v.result.Bundle = b
			return
		}
	}
	v.result.Bundle = bundle(values)
}

// Run checks and runs one cell. Its error is a *CompileError, *PanicError,
// *ExitError or *InterruptError; cancelling ctx interrupts the cell.
func (s *Session) Run(ctx context.Context, cell Cell) (Result, error) {
	src := &eval.Source{Name: cell.Name, File: cell.File, Line: max(cell.Line, 1), Text: cell.Source}
	p, err := s.prepareUntil(ctx, src)
	if err != nil {
		return Result{}, err
	}
	result := Result{Warnings: p.warnings}
	p.shown.result = &result
	if err := s.initialise(ctx, p.starting, cell.ID); err != nil {
		s.forget(p, eval.Progress{})
		s.keepCalls(err)
		return Result{Warnings: p.warnings}, runError(err)
	}
	at, err := p.program.Run(ctx, cell.Name, cell.ID, &p.shown)
	if err != nil {
		s.forget(p, at)
		s.keepCalls(err)
		return Result{Warnings: p.warnings}, runError(err)
	}
	return result, nil
}

// prepared is a cell that has been checked, translated and linked.
type prepared struct {
	program  *eval.Program
	warnings []display.Diagnostic
	shown    shownValues
	starting []*modulePackage      // to be initialised before it runs
	defines  map[string]definedVar // those that a failure may take back
}

// definedVar is a variable that a cell defines, and what had its name before.
type definedVar struct {
	by          span // the definition
	now, former *symbol
}

// prepareUntil is prepare with an interrupt. What is fetched ends; the checker cannot
// be stopped: it is left behind, and what it finds is dropped.
func (s *Session) prepareUntil(ctx context.Context, src *eval.Source) (*prepared, error) {
	type outcome struct {
		p     *prepared
		err   error
		crash string
	}
	var decided atomic.Bool
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if r := recover(); r != nil {
				o.crash = fmt.Sprintf("%v\n%s", r, debug.Stack())
			}
			done <- o
		}()
		o.p, o.err = s.prepare(ctx, src, &decided)
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		if decided.CompareAndSwap(false, true) {
			return nil, errAbandoned
		}
		o = <-done // it is being committed
	}
	if o.crash != "" {
		panic(o.crash)
	}
	return o.p, o.err
}

var errAbandoned error = &InterruptError{What: "checking the cell"}

// prepare does everything up to running; when it fails nothing has changed. It
// fails when decided is set or ctx ends before the cell is committed, and else sets
// decided.
func (s *Session) prepare(ctx context.Context, src *eval.Source, decided *atomic.Bool) (p *prepared, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mods.begin()
	defer func() { s.mods.end(err) }()
	if decided.Load() {
		return nil, errAbandoned
	}
	c, faults := s.newCheck(ctx, src)
	c.decided = decided
	done := false
	defer func() { // also when the checker or the engine fails on this cell
		if !done {
			c.rollback()
		}
	}()
	if len(faults) == 0 {
		faults = c.run()
	}
	if len(faults) > 0 {
		return nil, c.compileError(faults)
	}
	if p, err = c.commit(); err != nil {
		return nil, err
	}
	p.starting, done = s.needed(c), true
	return p, nil
}

func (c *check) rollback() {
	for _, m := range c.methods {
		if m.object != nil {
			c.s.engine.Reshape(func([]types.Type) { m.rollback() })
		}
	}
	c.renewGrown()
	for _, f := range slices.Backward(c.undo) {
		f()
	}
}

// forget takes back the names that a failed cell did not get to define.
func (s *Session) forget(p *prepared, at eval.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, d := range p.defines {
		done := d.by.to <= at.Offset || at.Past && d.by.from <= at.Offset
		if done || s.scope.symbols[name] != d.now { // or a cell beside it defined it again
			continue
		}
		if d.former != nil {
			s.scope.symbols[name] = d.former
		} else {
			delete(s.scope.symbols, name)
		}
	}
}

// Symbols lists what the session holds, sorted by name.
func (s *Session) Symbols() []Symbol {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Symbol
	for _, name := range slices.Sorted(maps.Keys(s.scope.symbols)) {
		sym := s.scope.symbols[name]
		item := Symbol{Name: name, Kind: sym.kind, Type: sym.describe()}
		if k, ok := sym.obj.(*types.Const); ok {
			item.Value = k.Val().String()
		}
		list = append(list, item)
	}
	return list
}

func (sym *symbol) describe() string {
	if sym.kind == "import" {
		return sym.path
	}
	if sym.kind == "type" {
		return types.TypeString(sym.obj.Type().Underlying(), qualify)
	}
	return types.TypeString(sym.obj.Type(), qualify)
}

// qualify names packages in types as people do; the session's own has no name.
func qualify(p *types.Package) string {
	if p.Path() == "main" {
		return ""
	}
	return p.Name()
}

// Reset forgets everything and stops the goroutines of all cells.
func (s *Session) Reset() {
	s.mu.Lock()
	former := s.mods
	s.engine.Stop()
	s.panicked = nil
	s.start()
	s.mu.Unlock()
	former.drop()
}

// Goroutines lists the goroutines that cells have left running.
func (s *Session) Goroutines() []Goroutine {
	s.mu.Lock()
	engine := s.engine
	s.mu.Unlock()
	var list []Goroutine
	for _, g := range engine.Goroutines() {
		item := Goroutine{ID: g.ID, Cell: g.Cell, State: g.State, Func: functionName(g.Where)}
		if g.Where.Source != nil {
			item.Line, _ = position(g.Where.Source, g.Where.Offset)
		}
		list = append(list, item)
	}
	return list
}

// StopGoroutine stops a goroutine by its number, and with it all others that its
// cell started. It reports whether there is one.
func (s *Session) StopGoroutine(id uint64) bool {
	s.mu.Lock()
	engine := s.engine
	s.mu.Unlock()
	return engine.StopGoroutine(id)
}

// isRich reports whether a display is more than text.
func isRich(b display.Bundle) bool {
	_, text := b.Data["text/plain"]
	return len(b.Data) > 1 || !text
}

// bundle shows the values of the last expression.
func bundle(values []any) display.Bundle {
	if len(values) == 1 {
		return display.ToBundle(values[0])
	}
	var list []display.Bundle
	for _, v := range values {
		if v == nil {
			list = append(list, display.Text("<nil>")) // as Go prints it, after a value and its error
			continue
		}
		list = append(list, display.ToBundle(v))
	}
	return display.Join(list...)
}

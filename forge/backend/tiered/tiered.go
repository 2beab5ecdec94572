// Package tiered runs a program at once and ever better: on a backend that is
// ready in milliseconds, while another compiles in the background.
//
// The second form of a program takes over, between two runs, when it has given
// the right results on the program's own shapes ([check]). When it cannot be
// compiled or its results are wrong, the first one goes on; the reason is told once
// and stands in [Executable.Notes] and [Executable.Kernels].
//
// Compilations belong to a [Work], which ends them with its context; [Process] is
// that of programs that name none.
package tiered

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/portable"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Backend compiles every program twice.
type Backend struct {
	First, Second backend.Backend
	Work          *Work
}

var (
	_ backend.Backend  = (*Backend)(nil)
	_ backend.Changing = (*Executable)(nil)
	_ backend.Noted    = (*Executable)(nil)
	_ backend.Into     = (*Executable)(nil)
)

// New returns the backend that starts on vector functions of Go and goes on in C,
// where threads may share a kernel.
func New(threads int) *Backend {
	first, second := portable.New(), cpu.New()
	first.Workers, second.Threads = threads, threads
	return &Backend{First: first, Second: second, Work: Process}
}

// Name is "tiered".
func (b *Backend) Name() string { return "tiered" }

// Native is the backend of the second form, if it makes machine code; else nil.
func (b *Backend) Native() *cpu.Backend {
	native, _ := b.Second.(*cpu.Backend)
	return native
}

// Compile returns as soon as the first form is ready. What goes wrong with the
// second is told through the sink of ctx, whose end does not stop it.
func (b *Backend) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	first, err := b.First.Compile(ctx, g)
	if err != nil {
		return nil, err
	}
	return b.Improve(ctx, first, g), nil
}

// Improve is Compile for a program that is compiled in its first form.
func (b *Backend) Improve(ctx context.Context, first backend.Executable, g *ir.Graph) *Executable {
	x := &Executable{second: b.Second, settled: make(chan struct{})}
	x.current.Store(&first)
	for _, n := range g.Nodes {
		if n.Op.Effect {
			x.settle(nil, fmt.Errorf("%v exchanges data with other ranks, so the program cannot be tried on its own", n.Out[0]))
			return x
		}
	}
	own := g.Clone()
	b.Work.start(context.WithoutCancel(ctx), func(ctx context.Context) {
		second, err := x.improve(ctx, own, first)
		if err != nil && ctx.Err() == nil {
			tell(ctx, own.Name, err)
		}
		x.settle(second, err)
	})
	return x
}

// Executable is a program in two forms. It is safe for concurrent use.
type Executable struct {
	second  backend.Backend
	current atomic.Pointer[backend.Executable]
	settled chan struct{} // closed when it is known what becomes of the second form
	err     error         // why there is none; set before settled is closed
}

// improve compiles and checks the second form.
func (x *Executable) improve(ctx context.Context, g *ir.Graph, first backend.Executable) (backend.Executable, error) {
	if ctx.Err() != nil { // as for thousands that waited for their turn
		return nil, context.Cause(ctx)
	}
	second, err := x.second.Compile(ctx, g)
	if err != nil {
		return nil, err
	}
	if err := check(ctx, g, first, second); err != nil {
		if kept, ok := second.(interface{ Forget() }); ok && ctx.Err() == nil {
			kept.Forget()
		}
		return nil, fmt.Errorf("backend %s compiled the program wrongly: %w", x.second.Name(), err)
	}
	return second, nil
}

// settle publishes what became of the second form.
func (x *Executable) settle(second backend.Executable, err error) {
	if err == nil {
		x.current.Store(&second)
	}
	x.err = err
	close(x.settled)
}

// Current is the form that the next run takes.
func (x *Executable) Current() backend.Executable { return *x.current.Load() }

// Settle waits until it is known what becomes of the second form, and returns why
// there is none, or the cause that ended ctx.
func (x *Executable) Settle(ctx context.Context) error {
	select {
	case <-x.settled:
		return x.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Run computes the outputs in the form that is best by now.
func (x *Executable) Run(ctx context.Context, inputs ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	return x.Current().Run(ctx, inputs...)
}

// RunInto is Run with results in memory of the caller; see [backend.Into].
func (x *Executable) RunInto(ctx context.Context, outputs, inputs []*tensor.Tensor) error {
	return backend.RunInto(ctx, x.Current(), outputs, inputs)
}

// Graph is the program in execution order.
func (x *Executable) Graph() *ir.Graph { return x.Current().Graph() }

// Kernels tells what runs each node now, and why that is so.
func (x *Executable) Kernels() []backend.Kernel {
	list := x.Current().Kernels()
	note := x.state()
	if note == "" {
		return list
	}
	for i := range list {
		if list[i].Kernel != "" {
			list[i].Reason += "; " + note
		}
	}
	return list
}

// state is why the first form runs, in a clause; empty when it does not.
func (x *Executable) state() string {
	select {
	case <-x.settled:
	default:
		return fmt.Sprintf("until backend %s has compiled the program", x.second.Name())
	}
	if x.err != nil {
		return fmt.Sprintf("backend %s has no form of the program", x.second.Name())
	}
	return ""
}

// Notes tell how far the program has come.
func (x *Executable) Notes() []string {
	select {
	case <-x.settled:
	default:
		return []string{fmt.Sprintf("Backend %s compiles the program in the background; until then the first form runs.", x.second.Name())}
	}
	if x.err != nil {
		return []string{fmt.Sprintf("The first form of the program stays: %v.", x.err)}
	}
	if c, ok := x.Current().(interface{ Cached() bool }); ok && c.Cached() {
		return []string{fmt.Sprintf("Backend %s runs the program, which it found compiled; its results were compared with those of the first form.", x.second.Name())}
	}
	return []string{fmt.Sprintf("Backend %s runs the program since it was compiled; its results were compared with those of the first form.", x.second.Name())}
}

// Work is compilations in the background, which end with its context.
type Work struct {
	ctx   context.Context
	stop  context.CancelCauseFunc
	slots chan struct{}
	mu    sync.Mutex // guards running against Stop
	all   sync.WaitGroup
}

// maxCompilations is how many run at once; others wait for their turn.
const maxCompilations = 2

// errStopped ends compilations whose work was stopped.
var errStopped = errors.New("the process ends")

// Process is the work of the process.
var Process = NewWork(context.Background())

// NewWork returns work that ends with ctx.
func NewWork(ctx context.Context) *Work {
	w := &Work{slots: make(chan struct{}, maxCompilations)}
	w.ctx, w.stop = context.WithCancelCause(ctx)
	return w
}

// Stop ends all compilations, and waits until they have cleared up.
func (w *Work) Stop() {
	w.mu.Lock()
	w.stop(errStopped)
	w.mu.Unlock()
	w.all.Wait()
}

// start runs f when there is a slot, under the values of ctx. Work that has ended
// calls f with a context that has ended too.
func (w *Work) start(ctx context.Context, f func(context.Context)) {
	ctx, cancel := context.WithCancelCause(ctx)
	unlink := context.AfterFunc(w.ctx, func() { cancel(context.Cause(w.ctx)) })
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil {
		cancel(context.Cause(w.ctx))
		f(ctx)
		return
	}
	w.all.Go(func() {
		defer cancel(nil)
		defer unlink()
		select {
		case w.slots <- struct{}{}:
			defer func() { <-w.slots }()
		case <-ctx.Done():
		}
		f(ctx)
	})
}

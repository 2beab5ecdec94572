package cuda

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Executable is a program on a device. Runs share the constants, and each has a frame
// of its own.
type Executable struct {
	*program
	device *resources
}

var _ backend.Into = (*Executable)(nil)

// resources are what an executable holds of the device; they outlive it until the work
// in flight is done.
type resources struct {
	m         *memory
	c         *driver.Context
	module    *driver.Module
	beside    []*driver.Module   // of steps with code of their own
	constants map[int]*uploaded  // by buffer
	functions []*driver.Function // of the steps; nil for calls of libraries
	mu        sync.Mutex
	free      []*frame
	users     int // runs in flight and bindings
	closed    bool
}

func newExecutable(ctx context.Context, m *memory, p *program, cubin []byte) (*Executable, error) {
	d := &resources{m: m, c: m.c, constants: make(map[int]*uploaded)}
	if err := d.load(ctx, p, cubin); err != nil {
		d.close()
		return nil, err
	}
	x := &Executable{program: p, device: d}
	runtime.AddCleanup(x, func(d *resources) { go d.close() }, d)
	return x, nil
}

// load makes what all runs share.
func (d *resources) load(ctx context.Context, p *program, cubin []byte) error {
	for i, b := range p.Buffers {
		if b.Constant == nil || b.Constant.Len() == 0 {
			continue
		}
		k, err := d.m.take(ctx, b.Constant)
		if err != nil {
			return err
		}
		d.constants[i] = k
	}
	return d.c.Do(ctx, func() (err error) {
		if d.module, err = d.c.Load(cubin); err != nil {
			return err
		}
		d.functions = make([]*driver.Function, len(p.steps))
		for i := range p.steps {
			if err := d.function(i, &p.steps[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// function finds the kernel of a step.
func (d *resources) function(i int, s *step) error {
	if s.call != nil {
		return nil
	}
	var f *driver.Function
	var err error
	if s.machine == nil {
		f, err = d.module.Function(s.name)
	} else {
		var m *driver.Module
		if m, f, err = s.machine.load(d.c); m != nil {
			d.beside = append(d.beside, m)
		}
	}
	if err != nil {
		return err
	}
	d.functions[i] = f
	if s.shared > 0 { // with what the text declares it may be more than 48 KiB
		return f.AllowShared(s.shared)
	}
	return nil
}

// use keeps what is held of the device until leave.
func (d *resources) use() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errClosed
	}
	d.users++
	return nil
}

func (d *resources) leave() {
	d.mu.Lock()
	d.users--
	last := d.closed && d.users == 0
	d.mu.Unlock()
	if last {
		d.giveBack()
	}
}

// close gives all back once no run and no binding needs it.
func (d *resources) close() {
	d.mu.Lock()
	last := !d.closed && d.users == 0
	d.closed = true
	d.mu.Unlock()
	if last {
		d.giveBack()
	}
}

// giveBack has nobody to tell an error, which the next call of the device repeats.
func (d *resources) giveBack() {
	for _, f := range d.free {
		_ = d.end(f)
	}
	for _, k := range d.constants {
		_ = d.m.drop(k)
	}
	for _, m := range append(d.beside, d.module) {
		if m != nil {
			_ = d.c.Do(context.Background(), m.Close)
		}
	}
}

// end closes a frame with its stream.
func (d *resources) end(f *frame) error {
	return d.c.Do(context.Background(), func() error { return errors.Join(f.close(), f.stream.Close()) })
}

// frame returns one that no run has. The caller uses the resources.
func (x *Executable) frame(ctx context.Context) (*frame, error) {
	d := x.device
	d.mu.Lock()
	if n := len(d.free); n > 0 {
		f := d.free[n-1]
		d.free = d.free[:n-1]
		d.mu.Unlock()
		return f, nil
	}
	d.mu.Unlock()
	var f *frame
	err := d.c.Do(ctx, func() error {
		s, err := d.c.NewStream()
		if err != nil {
			return err
		}
		if f, err = x.newFrame(ctx, x.unbound(), s); err != nil {
			return errors.Join(err, s.Close())
		}
		return nil
	})
	return f, err
}

// Close gives back what the program holds of the device, once runs that are under way and
// bindings have ended; it does not run again. A program that nobody has any more is
// closed by itself.
func (x *Executable) Close() error {
	x.device.close()
	return nil
}

// Graph is the program in execution order.
func (x *Executable) Graph() *ir.Graph { return x.Program.Graph }

// Kernels tells what runs each node.
func (x *Executable) Kernels() []backend.Kernel { return append([]backend.Kernel{}, x.kernels...) }

// Run computes the outputs of the graph. When ctx ends the device goes on in memory of
// its own, and Run returns at once.
func (x *Executable) Run(ctx context.Context, inputs ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	return x.Program.Run(inputs, func(outputs []*tensor.Tensor) error { return x.run(ctx, outputs, inputs, false) })
}

// RunInto is Run with results in memory of the caller; see [backend.Into]. It allocates
// nothing once there are as many frames as runs at a time.
func (x *Executable) RunInto(ctx context.Context, outputs, inputs []*tensor.Tensor) error {
	if err := backend.CheckInputs(x.Program.Graph, inputs); err != nil {
		return err
	}
	if err := backend.CheckOutputs(x.Program.Graph, outputs); err != nil {
		return err
	}
	return x.run(ctx, outputs, inputs, true)
}

// run runs the program in a frame. Outputs of the caller are checked to be apart.
func (x *Executable) run(ctx context.Context, outputs, inputs []*tensor.Tensor, check bool) error {
	d := x.device
	if err := d.use(); err != nil {
		return err
	}
	f, err := x.frame(ctx)
	if err != nil {
		d.leave()
		return err
	}
	if check {
		if err := x.CheckApart(&f.apart, outputs, inputs); err != nil {
			d.release(f)
			return err
		}
	}
	x.fill(f, inputs)
	if err := x.launch(ctx, f); err != nil {
		go d.abandon(f)
		return err
	}
	defer d.release(f)
	if err := f.given(); err != nil {
		return err
	}
	if step := f.fault(); x.canFail && step != noFault {
		f.setFault(noFault)
		return x.explain(ctx, step, inputs)
	}
	x.take(f, outputs)
	return nil
}

// launch runs a frame and waits for the device.
func (x *Executable) launch(ctx context.Context, f *frame) error {
	if o := backend.ObserverOf(ctx); o != nil {
		return x.observed(ctx, f, o)
	}
	over := false
	err := x.device.c.Do(ctx, func() (err error) {
		if err = f.graph.Launch(f.stream); err == nil {
			over, err = f.stream.Spin(ctx)
		}
		return err
	})
	if err != nil || over {
		return err
	}
	return f.stream.Wait(ctx)
}

// explain is the error of a run in which a step found one, which the interpreter tells.
func (x *Executable) explain(ctx context.Context, step int, inputs []*tensor.Tensor) error {
	exe, err := interp.New().Compile(ctx, x.Program.Graph)
	if err == nil {
		_, err = exe.Run(ctx, inputs...)
	}
	if err == nil {
		err = fmt.Errorf("kernel %s found an error that the interpreter does not", x.steps[min(step, len(x.steps)-1)].name)
	}
	return err
}

// release keeps a frame for the next run.
func (d *resources) release(f *frame) {
	d.mu.Lock()
	d.free = append(d.free, f)
	d.mu.Unlock()
	d.leave()
}

// abandon keeps a frame once the device is done with it. One whose stream cannot be
// asked is lost with the context.
func (d *resources) abandon(f *frame) {
	if err := f.stream.Wait(context.Background()); err == nil {
		f.setFault(noFault)
		d.release(f)
	}
}

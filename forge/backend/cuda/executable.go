package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Executable is a program on a device. Runs share the constants, and each has a frame
// of its own.
type Executable struct {
	*program
	device *resources
}

// resources are what an executable holds of the device; they outlive it until the work
// in flight is done.
type resources struct {
	c         *driver.Context
	module    *driver.Module
	stream    *driver.Stream // for what is made once
	constants map[int]*driver.Memory
	functions []*driver.Function // of the steps
	mu        sync.Mutex
	free      []*frame
	closed    bool
}

// frame is the memory of one run at a time, and the run itself as a graph.
type frame struct {
	stream *driver.Stream
	memory *driver.Memory
	host   *driver.Host // the inputs, the word of faults and the outputs
	graph  *driver.Graph
	done   *driver.Event
}

// noFault is the word of faults before a run: each byte is 0x7f.
const noFault = 0x7f7f7f7f

func newExecutable(ctx context.Context, c *driver.Context, p *program, cubin []byte) (*Executable, error) {
	d := &resources{c: c, constants: make(map[int]*driver.Memory)}
	if err := c.Do(ctx, func() error { return d.load(p, cubin) }); err != nil {
		d.close()
		return nil, err
	}
	x := &Executable{program: p, device: d}
	runtime.AddCleanup(x, func(d *resources) { go d.close() }, d)
	return x, nil
}

// load makes what all runs share.
func (d *resources) load(p *program, cubin []byte) (err error) {
	if d.stream, err = d.c.NewStream(); err != nil {
		return err
	}
	if d.module, err = d.c.Load(cubin); err != nil {
		return err
	}
	for _, s := range p.steps {
		f, err := d.module.Function(s.name)
		if err != nil {
			return err
		}
		d.functions = append(d.functions, f)
	}
	for i, b := range p.Buffers {
		if b.Constant == nil || b.Constant.Len() == 0 {
			continue
		}
		raw := planned.Bytes(b.Constant)
		m, err := d.stream.Alloc(int64(len(raw)))
		if err != nil {
			return err
		}
		d.constants[i] = m
		if err := d.stream.Upload(m, 0, raw); err != nil {
			return err
		}
	}
	return d.stream.Synchronize()
}

// close gives all back that no run has. Frames of runs that go on follow by themselves.
func (d *resources) close() {
	d.mu.Lock()
	frames := d.free
	d.free, d.closed = nil, true
	d.mu.Unlock()
	// Nobody is left to be told an error, which the next call of the device repeats.
	_ = d.c.Do(context.Background(), func() error {
		var err error
		for _, f := range frames {
			err = errors.Join(err, f.close())
		}
		for _, m := range d.constants {
			err = errors.Join(err, d.stream.Free(m))
		}
		if d.module != nil {
			err = errors.Join(err, d.module.Close())
		}
		if d.stream != nil {
			err = errors.Join(err, d.stream.Close())
		}
		return err
	})
}

func (f *frame) close() error {
	var err error
	if f.graph != nil {
		err = errors.Join(err, f.graph.Close())
	}
	if f.memory != nil {
		err = errors.Join(err, f.stream.Free(f.memory))
	}
	if f.host != nil {
		err = errors.Join(err, f.host.Free())
	}
	if f.done != nil {
		err = errors.Join(err, f.done.Close())
	}
	if f.stream != nil {
		err = errors.Join(err, f.stream.Close())
	}
	return err
}

// frame returns one that no run has; it is made within Do.
func (x *Executable) frame() (*frame, error) {
	d := x.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.free); n > 0 {
		f := d.free[n-1]
		d.free = d.free[:n-1]
		return f, nil
	}
	f := &frame{}
	if err := x.prepare(f); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// prepare makes the memory of a frame and captures its run.
func (x *Executable) prepare(f *frame) (err error) {
	c := x.device.c
	if f.stream, err = c.NewStream(); err != nil {
		return err
	}
	if f.done, err = c.NewEvent(false); err != nil {
		return err
	}
	if f.memory, err = f.stream.Alloc(x.bytes); err != nil {
		return err
	}
	if f.host, err = c.NewHost(int(x.end)); err != nil {
		return err
	}
	if err := f.stream.Synchronize(); err != nil {
		return err
	}
	f.graph, err = f.stream.Capture(func() error { return x.work(f) })
	return err
}

// work puts one run into the stream: inputs and the word of faults to the device, the
// kernels, the word and the outputs back.
func (x *Executable) work(f *frame) error {
	if err := f.stream.Upload(f.memory, 0, f.host.Bytes[:x.inputs]); err != nil {
		return err
	}
	for i, s := range x.steps {
		var words []uint64
		for _, at := range s.args {
			words = append(words, x.address(f, at))
		}
		words = append(words, f.memory.Address+uint64(x.faults), uint64(i))
		grid := driver.Grid{Blocks: [3]uint32{uint32(s.blocks), 1, 1}, Threads: [3]uint32{uint32(s.threads), 1, 1}}
		if err := f.stream.Launch(x.device.functions[i], grid, driver.NewArguments(words...)); err != nil {
			return err
		}
	}
	return f.stream.Download(f.host.Bytes[x.faults:x.end], f.memory, x.faults)
}

// address is where a place is on the device; 0 for what has no memory.
func (x *Executable) address(f *frame, at planned.Place) uint64 {
	switch {
	case at.Buffer < 0:
		return 0
	case x.Buffers[at.Buffer].Constant != nil:
		if m := x.device.constants[at.Buffer]; m != nil {
			return m.Address + uint64(at.Offset)
		}
		return 0
	}
	return f.memory.Address + uint64(x.offsets[at.Buffer]+at.Offset)
}

// Graph is the program in execution order.
func (x *Executable) Graph() *ir.Graph { return x.Program.Graph }

// Kernels tells what runs each node.
func (x *Executable) Kernels() []backend.Kernel { return append([]backend.Kernel{}, x.kernels...) }

// Run computes the outputs of the graph. When ctx ends the device goes on in memory of
// its own, and Run returns at once.
func (x *Executable) Run(ctx context.Context, inputs ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	return x.Program.Run(inputs, func(outputs []*tensor.Tensor) error { return x.run(ctx, outputs, inputs) })
}

func (x *Executable) run(ctx context.Context, outputs, inputs []*tensor.Tensor) error {
	var f *frame
	err := x.device.c.Do(ctx, func() (err error) { f, err = x.frame(); return err })
	if err != nil {
		return err
	}
	x.fill(f, inputs)
	err = x.device.c.Do(ctx, func() error {
		return errors.Join(f.graph.Launch(f.stream), f.stream.Record(f.done))
	})
	if err == nil {
		err = x.device.c.Wait(ctx, f.done)
	}
	if err != nil {
		go x.device.abandon(f)
		return err
	}
	defer x.device.release(f)
	if step := binary.NativeEndian.Uint32(f.host.Bytes[x.faults:]); x.canFail && step != noFault {
		return x.explain(ctx, int(step), inputs)
	}
	x.take(f, outputs)
	return nil
}

// fill copies inputs to pinned memory.
func (x *Executable) fill(f *frame, inputs []*tensor.Tensor) {
	for i := range x.Buffers {
		if b := &x.Buffers[i]; b.Input >= 0 {
			copy(f.host.Bytes[x.offsets[i]:], planned.Bytes(inputs[b.Input]))
		}
	}
	binary.NativeEndian.PutUint32(f.host.Bytes[x.faults:], noFault)
}

// take copies outputs from pinned memory.
func (x *Executable) take(f *frame, outputs []*tensor.Tensor) {
	for i := range x.Buffers {
		if b := &x.Buffers[i]; b.Result >= 0 {
			copy(planned.Bytes(outputs[b.Result]), f.host.Bytes[x.offsets[i]:])
		}
	}
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
	closed := d.closed
	if !closed {
		d.free = append(d.free, f)
	}
	d.mu.Unlock()
	if closed {
		_ = d.c.Do(context.Background(), f.close) // see close
	}
}

// abandon keeps a frame once the device is done with it. One whose event cannot be
// asked for is lost with the context.
func (d *resources) abandon(f *frame) {
	if err := d.c.Wait(context.Background(), f.done); err == nil {
		d.release(f)
	}
}

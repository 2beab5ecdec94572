package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/cuda/peer"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/plan"
	"forgekernel/forge/tensor"
)

// frame is the memory of one run at a time, and the run itself as a graph.
type frame struct {
	binding
	layout
	stream  *driver.Stream
	memory  *driver.Memory // nil when the run needs none
	host    *driver.Host   // what comes and goes, where it is on the device; then the word of faults
	buffers []uint64       // the addresses, 0 for what has no elements
	graph   *driver.Graph
	peers   []*peer.Memory // by which its steps exchange tensors
	laps    *laps          // nil until there is an observer
	apart   planned.Frame  // for checks
}

// noFault is the word of faults before a run: no step has this number.
const noFault = 1<<31 - 1

// newFrame makes a frame within Do.
func (x *Executable) newFrame(ctx context.Context, b binding, s *driver.Stream) (*frame, error) {
	f := &frame{binding: b, layout: x.layOut(b), stream: s}
	err := x.reserve(f)
	if err == nil {
		err = x.capture(ctx, f)
	}
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// reserve takes the memory of a frame.
func (x *Executable) reserve(f *frame) (err error) {
	if f.bytes > 0 {
		if f.memory, err = f.stream.Alloc(f.bytes); err != nil {
			return err
		}
		if err := f.stream.Fill(f.memory, f.counters, f.bytes-f.counters, 0); err != nil {
			return err
		}
	}
	if f.host, err = x.device.c.NewHost(int(f.end) + plan.Align); err != nil {
		return err
	}
	f.setFault(noFault)
	f.buffers = make([]uint64, len(x.Buffers))
	for i := range f.buffers {
		f.buffers[i] = x.locate(f, i)
	}
	return f.stream.Synchronize()
}

// capture makes the graph of a frame's run.
func (x *Executable) capture(ctx context.Context, f *frame) (err error) {
	f.graph, err = f.stream.Capture(func() error { return x.work(ctx, f, nil) })
	return err
}

// locate is where a buffer is on the device.
func (x *Executable) locate(f *frame, i int) uint64 {
	b := &x.Buffers[i]
	if b.Constant != nil {
		return x.device.constants[i].address()
	}
	if h := f.holder(b); h != nil {
		return h.address()
	}
	if f.at[i] < 0 {
		return 0
	}
	if f.direct && f.goes(b) {
		return f.host.Address() + uint64(f.at[i])
	}
	return f.memory.Address + uint64(f.at[i])
}

// address is where a place of a step is.
func (f *frame) address(at planned.Place) uint64 {
	var base uint64
	switch {
	case at.Buffer >= 0:
		base = f.buffers[at.Buffer]
	case f.memory == nil: // the run needs none of its own
	case at.Buffer == inScratch:
		base = f.memory.Address + uint64(f.scratch)
	case at.Buffer == inCounters:
		base = f.memory.Address + uint64(f.counters)
	}
	if base == 0 {
		return 0
	}
	return base + uint64(at.Offset)
}

// work puts one run into the stream: what comes to the device, the steps, and what goes
// back. Between steps it calls lap, if there is one.
func (x *Executable) work(ctx context.Context, f *frame, lap func(i int) error) error {
	if err := x.bring(f); err != nil {
		return err
	}
	for i := range x.steps {
		if lap != nil {
			if err := lap(i); err != nil {
				return err
			}
		}
		early := i > 0 && lap == nil && x.unit.target.early() && x.steps[i-1].waits()
		if err := x.put(ctx, f, i, early); err != nil {
			return err
		}
	}
	if lap != nil {
		if err := lap(len(x.steps)); err != nil {
			return err
		}
	}
	if f.out == f.end || f.direct {
		return nil
	}
	return f.stream.Download(f.host.Bytes[f.out:f.end], f.memory, f.out)
}

// bring puts the inputs of a run where its steps want them.
func (x *Executable) bring(f *frame) error {
	if f.in > 0 {
		if err := f.stream.Upload(f.memory, 0, f.host.Bytes[:f.in]); err != nil {
			return err
		}
	}
	for i := range x.Buffers {
		b := &x.Buffers[i]
		if !b.Updated {
			continue
		}
		from, to := f.inputs[b.Input], f.holder(b)
		size := x.size(b)
		var err error
		switch {
		case size == 0 || from == to && to != nil:
		case from != nil && to != nil:
			err = f.stream.Copy(to.memory, 0, from.memory, 0, int(size))
		case from != nil:
			err = f.stream.Copy(f.memory, f.at[i], from.memory, 0, int(size))
		case to != nil:
			err = f.stream.Copy(to.memory, 0, f.memory, f.at[i], int(size))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// waits reports whether a step is a kernel that waits for those before it: those in CUDA C
// do, and others may not.
func (s *step) waits() bool { return s.call == nil && s.machine == nil }

// put puts one step into the stream. It may begin early where the one before is a kernel
// that waits, too, and so ends after all before it.
func (x *Executable) put(ctx context.Context, f *frame, i int, early bool) error {
	words, err := x.words(ctx, f, i)
	if err != nil {
		return err
	}
	if call := x.steps[i].call; call != nil {
		return call(ctx, f.stream, words)
	}
	s := &x.steps[i]
	grid := driver.Grid{Blocks: s.grid, Threads: s.threads, Shared: uint32(s.shared), Early: early && s.waits()}
	args := driver.NewArguments(words...)
	for j, b := range s.boxes {
		if err := args.Describe(x.device.c, j, b); err != nil {
			return err
		}
	}
	return f.stream.Launch(x.device.functions[i], grid, args)
}

// words are the arguments of a step.
func (x *Executable) words(ctx context.Context, f *frame, i int) ([]uint64, error) {
	s := &x.steps[i]
	words := make([]uint64, 0, len(s.args)+2)
	for _, at := range s.args {
		words = append(words, f.address(at))
	}
	if s.mailboxes != nil {
		m, err := s.mailboxes.of(ctx)
		if err != nil {
			return nil, err
		}
		if words = m.Words(words); !slices.Contains(f.peers, m) {
			f.peers = append(f.peers, m)
		}
	}
	fault := f.host.Address() + uint64(f.end)
	switch {
	case s.call != nil:
		return words, nil
	case s.machine != nil:
		return s.machine.arguments(words, fault, uint64(i)), nil
	}
	return append(words, fault, uint64(i)), nil
}

// given is why a run that has ended has no results: its ranks gave up.
func (f *frame) given() error {
	for _, m := range f.peers {
		if err := m.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (f *frame) setFault(step uint32) {
	binary.NativeEndian.PutUint32(f.host.Bytes[f.end:], step)
}

// fault is the first step of the latest run that found an error; noFault for none.
func (f *frame) fault() int { return int(binary.NativeEndian.Uint32(f.host.Bytes[f.end:])) }

// fill copies inputs to pinned memory, but for those that are nil.
func (x *Executable) fill(f *frame, inputs []*tensor.Tensor) {
	for i := range x.Buffers {
		if b := &x.Buffers[i]; f.in > 0 && f.comes(b) && f.at[i] >= 0 && inputs[b.Input] != nil {
			copy(f.host.Bytes[f.at[i]:], planned.Bytes(inputs[b.Input]))
		}
	}
}

// take copies outputs from pinned memory.
func (x *Executable) take(f *frame, outputs []*tensor.Tensor) {
	for i := range x.Buffers {
		if b := &x.Buffers[i]; f.goes(b) && f.at[i] >= 0 {
			copy(planned.Bytes(outputs[b.Result]), f.host.Bytes[f.at[i]:])
		}
	}
}

// close gives the memory back, but not the stream. It is called within Do.
func (f *frame) close() error {
	var err error
	if f.graph != nil {
		err = errors.Join(err, f.graph.Close())
	}
	if f.laps != nil {
		err = errors.Join(err, f.laps.close())
	}
	if f.memory != nil {
		err = errors.Join(err, f.stream.Free(f.memory))
	}
	if f.host != nil {
		err = errors.Join(err, f.host.Free())
	}
	return err
}

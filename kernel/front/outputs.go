package front

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"forgekernel/kernel/link"
	"forgekernel/kernel/wire"
)

// keptOutputs is how many cells keep their own output for what their
// goroutines show later; those of older cells goes to the latest cell.
const keptOutputs = 256

// outputs finds the target of what the session shows.
type outputs struct {
	iopub *iopub
	limit atomic.Int64 // bytes of text per cell; 0 is none

	mu          sync.Mutex
	cells       map[uint64]*target
	order       []uint64
	latest      *target
	patience    context.Context // of cells that begin now, see hurry
	endPatience context.CancelFunc
}

func newOutputs(p *iopub, limit int64) *outputs {
	o := &outputs{iopub: p, cells: map[uint64]*target{}}
	o.limit.Store(limit)
	o.patience, o.endPatience = context.WithCancel(p.ctx)
	return o
}

// begin makes the target of a cell that starts now. From here on it also gets
// what does not know its cell.
func (o *outputs) begin(cell uint64, request *wire.Message) *target {
	// Only the header is needed, and kept for long.
	parent := &wire.Message{Header: request.Header, RawHeader: request.RawHeader}
	t := &target{iopub: o.iopub, parent: parent}
	t.cellOutput = newCellOutput(o.limit.Load, func(stream, text string) {
		t.show("stream", wire.Stream{Name: stream, Text: text})
	})
	o.mu.Lock()
	t.patience = o.patience
	before := o.latest
	o.cells[cell] = t
	o.latest = t
	if o.order = append(o.order, cell); len(o.order) > keptOutputs {
		delete(o.cells, o.order[0])
		o.order = o.order[1:]
	}
	o.mu.Unlock()
	if before != nil {
		before.flush(false)
	}
	return t
}

// flush publishes the text that all cells have printed so far.
func (o *outputs) flush() {
	o.mu.Lock()
	var all []*target
	for _, cell := range o.order {
		all = append(all, o.cells[cell])
	}
	o.mu.Unlock()
	for _, t := range all {
		t.flush(false)
	}
}

// hurry lets what the cells so far show wait for clients only a moment longer:
// somebody wants them to end.
func (o *outputs) hurry() {
	o.mu.Lock()
	defer o.mu.Unlock()
	time.AfterFunc(hurryTime, o.endPatience)
	o.patience, o.endPatience = context.WithCancel(o.iopub.ctx)
}

// of returns the target of a cell, or the latest; nil before the first.
func (o *outputs) of(cell uint64) *target {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.cells[cell]; t != nil {
		return t
	}
	return o.latest
}

// print takes what the session wrote to a pipe. What it prints before the first
// cell has no parent and so cannot be shown.
func (o *outputs) print(stream string, text []byte) time.Duration {
	t := o.of(0)
	if t == nil {
		return 0
	}
	return t.write(stream, text)
}

func (o *outputs) unprint(stream string) []byte {
	if t := o.of(0); t != nil {
		return t.unprinted(stream)
	}
	return nil
}

// show publishes one frame of output after everything that was printed before
// it, and acknowledges it: the cell waits for that even if the frame was bad.
func (o *outputs) show(s *session, t *target, f link.Frame) error {
	err := o.publish(s, t, f)
	if f.Seq != 0 {
		err = errors.Join(err, s.post(link.Ack, f.Cell, f.Seq, nil))
	}
	return err
}

func (o *outputs) publish(s *session, t *target, f link.Frame) error {
	switch f.Kind {
	case link.Stream:
		body, err := link.Decode[link.StreamText](f)
		if err != nil {
			return err
		}
		stream := stdout
		if body.Name == stderr {
			stream = stderr
		}
		s.pipes.drain()
		if wait := t.write(stream, []byte(body.Text)); f.Seq != 0 {
			time.Sleep(min(wait, longPause))
		}
	case link.Display:
		body, err := decodeDisplay(f)
		if err != nil {
			return err
		}
		msgType, content, err := body.message()
		if err != nil {
			return err
		}
		s.pipes.drain()
		t.flush(false)
		t.show(msgType, content)
	case link.Clear:
		body, err := link.Decode[link.ClearBody](f)
		if err != nil {
			return err
		}
		s.pipes.drain()
		t.flush(false)
		t.show("clear_output", wire.ClearOutput{Wait: body.Wait})
	default:
		return errors.New("not a frame of output")
	}
	return nil
}

package driver

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unsafe"
)

// Stream is work that the device does in order.
type Stream struct {
	c      *Context
	handle uintptr
}

// Handle is the CUstream, for other libraries.
func (s *Stream) Handle() uintptr { return s.handle }

// streamNonBlocking keeps a stream apart from the one that has no name.
const streamNonBlocking = 1

// NewStream makes a stream.
func (c *Context) NewStream() (*Stream, error) {
	s := &Stream{c: c}
	if err := c.call("", "cuStreamCreate", uintptr(unsafe.Pointer(&s.handle)), streamNonBlocking); err != nil {
		return nil, err
	}
	return s, nil
}

// Synchronize blocks until the stream is empty. See [Stream.Wait] for a way that ends
// with a context.
func (s *Stream) Synchronize() error { return s.c.call("", "cuStreamSynchronize", s.handle) }

// Query reports whether the stream is empty.
func (s *Stream) Query() (bool, error) { return s.c.ask("cuStreamQuery", s.handle) }

// Close ends the stream; work in it is still done.
func (s *Stream) Close() error { return s.c.call("", "cuStreamDestroy_v2", s.handle) }

// Event is a mark in a stream.
type Event struct {
	c      *Context
	handle uintptr
}

// eventDisableTiming is for marks that are only waited for, which cost less.
const eventDisableTiming = 2

// NewEvent makes an event; one with time can be measured with [Event.Since].
func (c *Context) NewEvent(timed bool) (*Event, error) {
	flags := uintptr(eventDisableTiming)
	if timed {
		flags = 0
	}
	e := &Event{c: c}
	if err := c.call("", "cuEventCreate", uintptr(unsafe.Pointer(&e.handle)), flags); err != nil {
		return nil, err
	}
	return e, nil
}

// Record puts the mark behind the work in a stream so far. In a capture it orders work
// alone, and is no mark of later launches; see [Stream.RecordTime].
func (s *Stream) Record(e *Event) error { return s.c.call("", "cuEventRecord", e.handle, s.handle) }

// recordExternal makes a record in a capture a node of the graph.
const recordExternal = 1

// RecordTime is Record within a capture: each launch of the graph sets the mark.
func (s *Stream) RecordTime(e *Event) error {
	return s.c.call("", "cuEventRecordWithFlags", e.handle, s.handle, recordExternal)
}

// WaitFor lets the stream wait for a mark in another one.
func (s *Stream) WaitFor(e *Event) error {
	return s.c.call("", "cuStreamWaitEvent", s.handle, e.handle, 0)
}

// Query reports whether the device is past the mark.
func (e *Event) Query() (bool, error) { return e.c.ask("cuEventQuery", e.handle) }

// Synchronize blocks until the device is past the mark.
func (e *Event) Synchronize() error { return e.c.call("", "cuEventSynchronize", e.handle) }

// Since is the time of the device between two marks that it is past.
func (e *Event) Since(start *Event) (time.Duration, error) {
	var bits uint32 // of a float of milliseconds
	err := e.c.call("", "cuEventElapsedTime", uintptr(unsafe.Pointer(&bits)), start.handle, e.handle)
	return time.Duration(float64(math.Float32frombits(bits)) * float64(time.Millisecond)), err
}

// Close ends the event.
func (e *Event) Close() error { return e.c.call("", "cuEventDestroy_v2", e.handle) }

// captureThreadLocal forbids what would break a capture to this thread alone.
const captureThreadLocal = 1

// Graph is work that was captured, to be launched as a whole.
type Graph struct {
	Nodes  int
	c      *Context
	handle uintptr // CUgraphExec
	detail string  // in errors
}

// Capture makes a graph of what f puts into the stream, none of which is done. f must
// neither allocate memory nor wait.
func (s *Stream) Capture(f func() error) (*Graph, error) {
	if err := s.c.call("", "cuStreamBeginCapture_v2", s.handle, captureThreadLocal); err != nil {
		return nil, err
	}
	failed := f()
	var graph uintptr
	if err := s.c.call("", "cuStreamEndCapture", s.handle, uintptr(unsafe.Pointer(&graph))); err != nil || graph == 0 {
		return nil, errors.Join(failed, err)
	}
	g := &Graph{c: s.c}
	if failed == nil {
		failed = g.instantiate(graph)
	}
	if err := errors.Join(failed, s.c.call("", "cuGraphDestroy", graph)); err != nil {
		return nil, err
	}
	return g, nil
}

func (g *Graph) instantiate(graph uintptr) error {
	var nodes uint64
	if err := g.c.call("", "cuGraphGetNodes", graph, 0, uintptr(unsafe.Pointer(&nodes))); err != nil {
		return err
	}
	g.Nodes, g.detail = int(nodes), fmt.Sprintf("%d nodes", nodes)
	return g.c.call(g.detail, "cuGraphInstantiateWithFlags", uintptr(unsafe.Pointer(&g.handle)), graph, 0)
}

// Launch puts the work of the graph into a stream.
func (g *Graph) Launch(s *Stream) error {
	return g.c.pair(g.detail, "cuGraphLaunch", g.handle, s.handle)
}

// Close ends the graph; launches of it go on.
func (g *Graph) Close() error { return g.c.call("", "cuGraphExecDestroy", g.handle) }

package sched

import (
	"context"
	"io"
	"iter"
	"sync"
	"time"

	"forgekernel/nebula/sample"
)

// Event is one token of a request, or its end.
type Event struct {
	sample.Choice
	Index  int // of the token among the generated ones, from 0
	At     time.Time
	Finish *Finish // set in the last event, which has no token
}

// Stream gives the tokens of one request. It holds what has not been read, at
// most as many as it may generate, so that a slow reader delays nobody. It is safe
// for concurrent use; events go to one reader each.
type Stream struct {
	end func(Reason, error) // ends the request, unless it has ended

	mu     sync.Mutex
	events []Event // those before next have been read
	next   int
	finish *Finish
	more   chan struct{} // a token for each event, as long as somebody waits
}

// NewStream makes the stream of a request that somebody else schedules. Its end
// is asked for with the reason of the consumer; it has come when the event with
// Finish is pushed.
func NewStream(end func(Reason, error)) *Stream {
	s := newStream()
	s.end = end
	return s
}

func newStream() *Stream { return &Stream{more: make(chan struct{}, 1)} }

// Push adds an event; one with Finish is the last.
func (s *Stream) Push(e Event) {
	s.mu.Lock()
	s.events = append(s.events, e)
	s.finish = e.Finish
	s.mu.Unlock()
	s.signal()
}

func (s *Stream) signal() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Next returns the next event. After the event with Finish it returns io.EOF;
// when ctx ends first it returns the cause, and the request goes on.
func (s *Stream) Next(ctx context.Context) (Event, error) {
	for {
		s.mu.Lock()
		if s.next < len(s.events) {
			e := s.events[s.next]
			if s.next++; s.next == len(s.events) {
				s.events, s.next = s.events[:0], 0
			}
			s.mu.Unlock()
			return e, nil
		}
		ended := s.finish != nil
		s.mu.Unlock()
		if ended {
			s.signal() // for another reader
			return Event{}, io.EOF
		}
		select {
		case <-s.more:
		case <-ctx.Done():
			return Event{}, context.Cause(ctx)
		}
	}
}

// Events gives all events to the last. Leaving the loop early closes the stream.
func (s *Stream) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for {
			e, err := s.Next(context.Background())
			if err != nil {
				return
			}
			if !yield(e) {
				if e.Finish == nil {
					s.Close()
				}
				return
			}
		}
	}
}

// Finish returns how the request ended, or nil while it runs.
func (s *Stream) Finish() *Finish {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finish
}

// Stop ends the request as complete, with the reason Stopped: its consumer has
// seen what it waited for, a stop string for instance. Tokens that were not
// read stay in the stream before its end.
func (s *Stream) Stop() { s.end(Stopped, nil) }

// Close cancels the request unless it has ended.
func (s *Stream) Close() { s.end(Cancelled, context.Canceled) }

package dap

import (
	"context"
	"slices"

	"forgekernel/kernel/gocell"
	"forgekernel/kernel/link"
)

// breakpoint is one as the client gets to know it.
type breakpoint struct {
	ID       int    `json:"id"`
	Verified bool   `json:"verified"`
	Line     int    `json:"line"`
	Source   source `json:"source"`
	Message  string `json:"message,omitempty"`

	asked     link.Breakpoint
	condition *condition // nil: it cannot be one
}

// setBreakpoints replaces those of a file. One on a line without a statement
// moves to the next that has one; those of a cell whose text is not known wait
// for it.
func (s *Server) setBreakpoints(_ context.Context, a struct {
	Source      source            `json:"source"`
	Breakpoints []link.Breakpoint `json:"breakpoints"`
}) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []breakpoint{}
	for _, want := range a.Breakpoints {
		list = append(list, s.newBreakpoint(a.Source.Path, want))
	}
	if delete(s.breakpoints, a.Source.Path); len(list) > 0 {
		s.breakpoints[a.Source.Path] = list
	}
	s.place(a.Source.Path)
	return object{"breakpoints": list}, nil
}

func (s *Server) newBreakpoint(path string, asked link.Breakpoint) breakpoint {
	s.numbers++
	b := breakpoint{ID: s.numbers, Line: asked.Line, Source: source{Path: path}, Message: "no cell has this source yet", asked: asked}
	c, err := newCondition(asked.Condition, asked.HitCondition, asked.LogMessage)
	if err != nil {
		b.Message = err.Error()
		return b
	}
	b.condition = &c
	return b
}

// place halts cells at a file's breakpoints, once its text is known; s.mu is held.
func (s *Server) place(path string) {
	list := s.breakpoints[path]
	var lines, taken []int
	code, known := s.files[path]
	module, imported := "", false
	if !known {
		module, imported = s.opts.Session.ModuleFiles()[path]
	}
	switch {
	case len(list) == 0:
	case known:
		lines = s.opts.Lines(code)
	case imported:
		lines = gocell.FileStopLines(module)
	}
	for i := range list {
		b := &list[i]
		if !known && !imported || b.condition == nil {
			continue
		}
		at, _ := slices.BinarySearch(lines, b.Line)
		if at == len(lines) {
			b.Message = "no statement begins here or later in the cell"
			continue
		}
		b.Line, b.Verified, b.Message = lines[at], true, ""
		taken = append(taken, b.Line)
	}
	s.debug.SetBreakpoints(path, taken)
}

// state is what Restore needs; nil when nobody debugs. s.mu is held.
func (s *Server) state() *link.Debugging {
	if !s.started {
		return nil
	}
	d := &link.Debugging{Client: s.client, Seq: s.seq, Panics: s.panics, Uncaught: s.uncaught, Breakpoints: map[string][]link.Breakpoint{}}
	for thread := range s.halted {
		d.Halted = thread
	}
	for path, list := range s.breakpoints {
		for _, b := range list {
			if b.condition != nil {
				b.asked.Line = b.Line // where it has moved to
				d.Breakpoints[path] = append(d.Breakpoints[path], b.asked)
			}
		}
	}
	return d
}

// Restore debugs as another process did, which has ended; nil does nothing. The
// breakpoints wait for the texts of their cells.
func (s *Server) Restore(d *link.Debugging) {
	if d == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started, s.client, s.panics, s.uncaught, s.seq = true, d.Client, d.Panics, d.Uncaught, d.Seq
	for path, list := range d.Breakpoints {
		for _, asked := range list {
			s.breakpoints[path] = append(s.breakpoints[path], s.newBreakpoint(path, asked))
		}
	}
	s.debug.HaltOnPanic(d.Panics)
	s.debug.HaltOnUncaught(d.Uncaught)
	s.debug.Attach(s.halt)
}

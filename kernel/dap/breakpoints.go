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

	conditional bool
}

// setBreakpoints replaces those of a file. One on a line without a statement
// moves to the next that has one; those of a cell whose text is not known wait
// for it.
func (s *Server) setBreakpoints(_ context.Context, a struct {
	Source      source `json:"source"`
	Breakpoints []struct {
		Line         int    `json:"line"`
		Condition    string `json:"condition"`
		HitCondition string `json:"hitCondition"`
		LogMessage   string `json:"logMessage"`
	} `json:"breakpoints"`
}) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		return nil, errNotStarted
	}
	list := []breakpoint{}
	for _, want := range a.Breakpoints {
		b := s.newBreakpoint(a.Source.Path, want.Line)
		if want.Condition != "" || want.HitCondition != "" || want.LogMessage != "" {
			b.conditional, b.Message = true, "breakpoints with conditions are not supported"
		}
		list = append(list, b)
	}
	if delete(s.breakpoints, a.Source.Path); len(list) > 0 {
		s.breakpoints[a.Source.Path] = list
	}
	s.place(a.Source.Path)
	return object{"breakpoints": list}, nil
}

func (s *Server) newBreakpoint(path string, line int) breakpoint {
	s.numbers++
	return breakpoint{ID: s.numbers, Line: line, Source: source{Path: path}, Message: "no cell has this source yet"}
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
		if !known && !imported || b.conditional {
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
	d := &link.Debugging{Client: s.client, Seq: s.seq, Panics: s.panics, Breakpoints: map[string][]int{}}
	for thread := range s.halted {
		d.Halted = thread
	}
	for path, list := range s.breakpoints {
		for _, b := range list {
			if !b.conditional {
				d.Breakpoints[path] = append(d.Breakpoints[path], b.Line)
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
	s.started, s.client, s.panics, s.seq = true, d.Client, d.Panics, d.Seq
	for path, lines := range d.Breakpoints {
		for _, line := range lines {
			s.breakpoints[path] = append(s.breakpoints[path], s.newBreakpoint(path, line))
		}
	}
	s.debug.HaltOnPanic(d.Panics)
	s.debug.Attach(s.halt)
}

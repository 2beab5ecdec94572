package dap

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"forgekernel/kernel/gocell"
)

type source struct {
	Path string `json:"path"`
	Name string `json:"name,omitempty"`
}

// breakpoint is one as the client gets to know it.
type breakpoint struct {
	ID       int    `json:"id"`
	Verified bool   `json:"verified"`
	Line     int    `json:"line"`
	Source   source `json:"source"`
	Message  string `json:"message,omitempty"`

	condition condition
}

// setBreakpoints replaces those of a file. One on a line without a statement
// moves to the next that has one.
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
	code, known := s.files[a.Source.Path]
	var lines []int
	if known {
		lines = s.opts.Lines(code)
	}
	list, taken := []breakpoint{}, []int{}
	for _, want := range a.Breakpoints {
		s.numbers++
		b := breakpoint{ID: s.numbers, Line: want.Line, Source: source{Path: a.Source.Path}}
		i, _ := slices.BinarySearch(lines, want.Line)
		c, err := newCondition(want.Condition, want.HitCondition, want.LogMessage)
		b.condition = c
		switch {
		case !known:
			b.Message = "no cell has this source"
		case err != nil:
			b.Message = err.Error()
		case i == len(lines):
			b.Message = "no statement begins here or later in the cell"
		default:
			b.Line, b.Verified = lines[i], true
			taken = append(taken, b.Line)
		}
		list = append(list, b)
	}
	s.debug.SetBreakpoints(a.Source.Path, taken)
	if delete(s.breakpoints, a.Source.Path); len(list) > 0 {
		s.breakpoints[a.Source.Path] = list
	}
	return object{"breakpoints": list}, nil
}

func (s *Server) dumpCell(_ context.Context, a struct {
	Code string `json:"code"`
}) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return object{"sourcePath": s.keep(a.Code)}, nil
}

func (s *Server) source(_ context.Context, a struct {
	Source source `json:"source"`
}) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	code, known := s.files[a.Source.Path]
	if !known {
		return nil, fmt.Errorf("there is no source %s", a.Source.Path)
	}
	return object{"content": code, "mimeType": "text/x-go"}, nil
}

// modules are what JupyterLab lists as the kernel's sources: none but cells,
// which it has.
func (s *Server) modules(context.Context, none) (any, error) {
	return object{"modules": []object{}, "totalModules": 0}, nil
}

func (s *Server) stackTrace(_ context.Context, a struct {
	ThreadID   uint64 `json:"threadId"`
	StartFrame int    `json:"startFrame"`
	Levels     int    `json:"levels"`
}) (any, error) {
	stack, ok := s.debug.Stack(a.ThreadID)
	if !ok {
		return nil, fmt.Errorf("goroutine %d is not halted", a.ThreadID)
	}
	total := len(stack)
	start := min(max(a.StartFrame, 0), total)
	stack = stack[start:]
	if a.Levels > 0 {
		stack = stack[:min(a.Levels, len(stack))]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	frames := []object{}
	for i, c := range stack {
		s.numbers++
		f := frame{Call: c}
		if start+i == 0 {
			f.panic = s.halted[a.ThreadID]
		}
		s.frames[s.numbers] = f
		name := c.Func
		if name == "" {
			name = c.Cell
		}
		frames = append(frames, object{
			"id": s.numbers, "name": name, "line": c.Line, "column": c.Col, "source": source{Path: c.File, Name: c.Cell},
		})
	}
	return object{"stackFrames": frames, "totalFrames": total}, nil
}

// frame is a call of a halted goroutine.
type frame struct {
	gocell.Call
	panic string // that it halted at
}

var errNoFrame = errors.New("there is no such frame: the cell has gone on since")

func (s *Server) scopes(_ context.Context, a struct {
	FrameID int `json:"frameId"`
}) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.frames[a.FrameID]
	if !ok {
		return nil, errNoFrame
	}
	locals := s.number(handle{call: &f.Call, panic: f.panic})
	globals := s.number(handle{globals: true})
	return object{"scopes": []object{
		{"name": "Locals", "presentationHint": "locals", "variablesReference": locals, "expensive": false},
		{"name": "Globals", "variablesReference": globals, "expensive": false},
	}}, nil
}

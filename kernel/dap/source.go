package dap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"forgekernel/kernel/gocell"
)

type source struct {
	Path string `json:"path"`
	Name string `json:"name,omitempty"`
}

func (s *Server) dumpCell(_ context.Context, a struct {
	Code string `json:"code"`
}) (any, error) {
	s.Ran(a.Code)
	return object{"sourcePath": Path(a.Code)}, nil
}

func (s *Server) source(_ context.Context, a struct {
	Source source `json:"source"`
}) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	code, known := s.files[a.Source.Path]
	if !known {
		code, known = s.opts.Session.ModuleFiles()[a.Source.Path]
	}
	if !known {
		return nil, fmt.Errorf("there is no source %s", a.Source.Path)
	}
	return object{"content": code, "mimeType": "text/x-go"}, nil
}

// modules are what JupyterLab lists as the kernel's sources: the files of Go
// modules. Cells it has.
func (s *Server) modules(context.Context, none) (any, error) {
	list := []object{}
	for _, name := range slices.Sorted(maps.Keys(s.opts.Session.ModuleFiles())) {
		list = append(list, object{"id": name, "name": path.Base(name), "path": name})
	}
	return object{"modules": list, "totalModules": len(list)}, nil
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

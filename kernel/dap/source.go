package dap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"forgekernel/kernel/gocell"
	"forgekernel/kernel/gocell/eval"
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

func (s *Server) stackTrace(_ eval.World, a struct {
	ThreadID   uint64 `json:"threadId"`
	StartFrame int    `json:"startFrame"`
	Levels     int    `json:"levels"`
}) (any, error) {
	stack, ok := s.debug.Stack(a.ThreadID)
	if !ok {
		return nil, fmt.Errorf("goroutine %d is not halted", a.ThreadID)
	}
	list := listFrames(stack, s.halted[a.ThreadID])
	total := len(list)
	list = list[min(max(a.StartFrame, 0), total):]
	if a.Levels > 0 {
		list = list[:min(a.Levels, len(list))]
	}
	frames := []object{}
	for _, f := range list {
		s.numbers++
		s.frames[s.numbers] = f
		delete(s.frames, s.numbers-maxHandles)
		frames = append(frames, object{
			"id": s.numbers, "name": f.name, "line": f.Line, "column": f.Col, "source": source{Path: f.File, Name: f.Cell}, "presentationHint": f.hint,
		})
	}
	return object{"stackFrames": frames, "totalFrames": total}, nil
}

// frame is a call of a halted goroutine, or a line that stands for many of them.
type frame struct {
	gocell.Call
	name, hint string
	panic      string // that it halted at
}

func listFrames(stack []gocell.Call, panic string) []frame {
	var list []frame
	for _, c := range stack {
		f := frame{Call: c, name: c.Func, hint: "normal"}
		if f.name == "" {
			f.name = c.Cell
		}
		if len(list) == 0 {
			f.panic = panic
		}
		list = append(list, f)
		if c.Omitted > 0 {
			list = append(list, frame{Call: c, name: fmt.Sprintf("… %d calls are left out", c.Omitted), hint: "label"})
		}
	}
	return list
}

var errNoFrame = errors.New("there is no such frame: the cell has gone on since")

func (s *Server) scopes(_ eval.World, a struct {
	FrameID int `json:"frameId"`
}) (any, error) {
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

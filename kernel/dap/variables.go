package dap

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"forgekernel/display"
	"forgekernel/kernel/gocell"
	"forgekernel/kernel/gocell/peek"
)

// handle is what a variablesReference stands for: the variables of a call, those
// of the session, or the parts of a value.
type handle struct {
	call    *gocell.Call
	panic   string // that the call halted at
	globals bool
	value   reflect.Value
	name    string       // an expression for the value
	within  *gocell.Call // where that holds, nil for the session's variables
}

// number gives a handle its reference; s.mu is held.
func (s *Server) number(h handle) int {
	if len(s.handles) >= maxHandles {
		s.handles = map[int]handle{}
	}
	s.numbers++
	s.handles[s.numbers] = h
	return s.numbers
}

type variable struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	Type      string `json:"type,omitempty"`
	Reference int    `json:"variablesReference"` // 0: it has no parts
	Evaluate  string `json:"evaluateName,omitempty"`
	Indexed   int    `json:"indexedVariables,omitempty"`
	Named     int    `json:"namedVariables,omitempty"`
}

func (s *Server) variables(_ context.Context, a struct {
	Reference int `json:"variablesReference"`
	Start     int `json:"start"`
	Count     int `json:"count"`
}) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.handles[a.Reference]
	if !ok {
		return nil, fmt.Errorf("there is no variable %d: the cell has gone on since", a.Reference)
	}
	list := []variable{}
	switch {
	case h.call != nil:
		if h.panic != "" {
			list = append(list, variable{Name: "(panic)", Value: strings.TrimPrefix(h.panic, "panic: ")})
		}
		list = append(list, s.describeAll(h.call.Variables(), h.call)...)
	case h.globals:
		list = s.describeAll(s.opts.Session.Globals(), nil)
	default:
		count := maxChildren
		if a.Count > 0 {
			count = min(a.Count, maxChildren)
		}
		for _, c := range peek.Children(h.value, a.Start, count, s.debug.Quiet()) {
			list = append(list, s.describe(c.Name, part(h, c.Name), typeOf(c.Value), c.Value, h.within))
		}
	}
	return s.listed(list), nil
}

// listed is the answer of a list. JupyterLab's tree shows the type of a variable
// that has one in place of its value.
func (s *Server) listed(list []variable) object {
	if s.client == "jupyterlab" {
		for i := range list {
			list[i].Type = ""
		}
	}
	return object{"variables": list}
}

// part is an expression for a part of a value, if that has one.
func part(h handle, name string) string {
	switch {
	case h.name == "" || strings.HasPrefix(name, "*"):
		return ""
	case strings.HasPrefix(name, "["):
		return h.name + name
	case h.value.Kind() == reflect.Map:
		return h.name + "[" + name + "]"
	}
	return h.name + "." + name
}

func typeOf(v reflect.Value) string {
	if !v.IsValid() {
		return ""
	}
	return peek.TypeName(v.Type())
}

func (s *Server) describeAll(vars []gocell.Variable, within *gocell.Call) []variable {
	list := []variable{}
	for _, v := range vars {
		if v.Gone {
			list = append(list, variable{Name: v.Name, Type: v.Type, Value: "(not kept: nothing uses it from here on)"})
			continue
		}
		list = append(list, s.describe(v.Name, v.Name, v.Type, v.Value, within))
	}
	return list
}

// describe shows a value. While code runs that may change it at this moment,
// only its type is told.
func (s *Server) describe(name, expr, typ string, v reflect.Value, within *gocell.Call) variable {
	still := s.debug.Quiet()
	d := variable{Name: name, Type: typ, Evaluate: expr, Value: "(a cell runs)"}
	if !still {
		return d
	}
	d.Value = peek.Text(v, still)
	n := peek.Count(v, still)
	if n == 0 {
		return d
	}
	d.Reference = s.number(handle{value: v, name: expr, within: within})
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		d.Indexed = n
	default:
		d.Named = n
	}
	return d
}

func (s *Server) inspectVariables(context.Context, none) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed(s.describeAll(s.opts.Session.Globals(), nil)), nil
}

// callOf is the call of a frame; nil, for the session's variables, when that is 0.
func (s *Server) callOf(frame int) (*gocell.Call, error) {
	if frame == 0 {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.frames[frame]
	if !ok {
		return nil, errNoFrame
	}
	return &f.Call, nil
}

// compute evaluates an expression in a frame.
func (s *Server) compute(ctx context.Context, expr string, frame int) (gocell.Result, error) {
	call, err := s.callOf(frame)
	if err != nil {
		return gocell.Result{}, err
	}
	return s.evaluateIn(ctx, expr, call)
}

func (s *Server) evaluateIn(ctx context.Context, expr string, call *gocell.Call) (gocell.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, evaluateTime)
	defer cancel()
	return s.opts.Session.Evaluate(ctx, expr, call)
}

// setVariable gives a variable, or a part of one, the value of an expression.
func (s *Server) setVariable(ctx context.Context, a struct {
	Reference int    `json:"variablesReference"`
	Name      string `json:"name"`
	Value     string `json:"value"`
}) (any, error) {
	s.mu.Lock()
	h, ok := s.handles[a.Reference]
	s.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("there is no variable %d: the cell has gone on since", a.Reference)
	}
	name, call := a.Name, h.call
	if h.call == nil && !h.globals {
		name, call = part(h, a.Name), h.within
	}
	if name == "" {
		return nil, fmt.Errorf("%s cannot be set: there is no expression for it", a.Name)
	}
	assigning, cancel := context.WithTimeout(ctx, evaluateTime)
	defer cancel()
	if err := s.opts.Session.Assign(assigning, name, a.Value, call); err != nil {
		return nil, err
	}
	return s.shown(ctx, name, call)
}

func (s *Server) evaluate(ctx context.Context, a struct {
	Expression string `json:"expression"`
	FrameID    int    `json:"frameId"`
}) (any, error) {
	call, err := s.callOf(a.FrameID)
	if err != nil {
		return nil, err
	}
	shown, err := s.shown(ctx, a.Expression, call)
	if err != nil {
		return nil, err
	}
	shown["result"] = shown["value"]
	delete(shown, "value")
	return shown, nil
}

// shown describes the value of an expression.
func (s *Server) shown(ctx context.Context, expr string, call *gocell.Call) (object, error) {
	r, err := s.evaluateIn(ctx, expr, call)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var texts, types []string
	reference := 0
	for _, x := range r.Values {
		v := reflect.ValueOf(x)
		d := s.describe("", expr, typeOf(v), v, call)
		texts, types = append(texts, d.Value), append(types, d.Type)
		reference = d.Reference
	}
	return object{"value": strings.Join(texts, ", "), "type": strings.Join(types, ", "), "variablesReference": reference}, nil
}

func (s *Server) richInspectVariables(ctx context.Context, a struct {
	Name    string `json:"variableName"`
	FrameID int    `json:"frameId"`
}) (any, error) {
	r, err := s.compute(ctx, a.Name, a.FrameID)
	if err != nil {
		return nil, err
	}
	bundle := r.Bundle
	if bundle.Data == nil {
		bundle = display.Text("nil")
	}
	data, metadata := bundle.Wire()
	return object{"data": data, "metadata": metadata}, nil
}

func (s *Server) copyToGlobals(_ context.Context, a struct {
	From    string `json:"srcVariableName"`
	To      string `json:"dstVariableName"`
	FrameID int    `json:"srcFrameId"`
}) (any, error) {
	s.mu.Lock()
	f, ok := s.frames[a.FrameID]
	s.mu.Unlock()
	if !ok {
		return nil, errNoFrame
	}
	return object{}, s.opts.Session.CopyToGlobals(a.From, f.Call, a.To)
}

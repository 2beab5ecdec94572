package dap

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"reflect"
	"strconv"
	"strings"

	"forgekernel/display"
	"forgekernel/kernel/gocell"
	"forgekernel/kernel/gocell/eval"
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
	s.numbers++
	s.handles[s.numbers] = h
	delete(s.handles, s.numbers-maxHandles)
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

func (s *Server) variables(w eval.World, a struct {
	Reference int `json:"variablesReference"`
	Start     int `json:"start"`
	Count     int `json:"count"`
	// Filter tells which parts are meant: "indexed", "named", or all.
	Filter string `json:"filter"`
}) (any, error) {
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
		list = append(list, s.describeAll(w, h.call.Variables(), h.call)...)
	case h.globals:
		list = s.describeAll(w, s.opts.Session.Globals(), nil)
	default:
		list = s.parts(w, h, a.Start, a.Count, a.Filter)
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

// parts describes those of a value from start on. When there are more than are
// sent to a client that did not ask for some, the last line says so.
func (s *Server) parts(w eval.World, h handle, start, count int, filter string) []variable {
	list := []variable{}
	if filter != "" && (filter == "indexed") != isIndexed(h.value) {
		return list
	}
	most := maxChildren
	if count > 0 {
		most = min(count, maxChildren)
	}
	for _, c := range peek.Children(h.value, start, most, w.Maps()) {
		list = append(list, s.describe(w, c.Name, part(h, c), typeOf(c.Value), c.Value, h.within))
	}
	if n := peek.Count(h.value, w.Maps()) - max(start, 0) - len(list); n > 0 && count <= 0 {
		list = append(list, variable{Name: "…", Value: fmt.Sprintf("%d more", n)})
	}
	return list
}

func isIndexed(v reflect.Value) bool { return v.Kind() == reflect.Slice || v.Kind() == reflect.Array }

// part is an expression for a part of a value; it is empty when there is none.
func part(h handle, c peek.Child) string {
	switch {
	case h.name == "":
		return ""
	case c.Key.IsValid():
		if key := keyExpr(c.Key); key != "" {
			return h.name + "[" + key + "]"
		}
		return ""
	case strings.HasPrefix(c.Name, "["):
		return h.name + c.Name
	case c.Name == "*":
		return "(*" + h.name + ")"
	}
	return h.name + "." + c.Name
}

// keyExpr is an expression that equals a map's key, which a text need not do.
func keyExpr(k reflect.Value) string {
	static := k.Type()
	if k.Kind() == reflect.Interface {
		k = k.Elem()
	}
	if !k.IsValid() {
		return "nil"
	}
	text := ""
	switch {
	case k.Kind() == reflect.Struct && k.Type().PkgPath() == "main":
		return structExpr(k)
	case k.Kind() == reflect.Bool:
		text = strconv.FormatBool(k.Bool())
	case k.CanInt():
		text = strconv.FormatInt(k.Int(), 10)
	case k.CanUint():
		text = strconv.FormatUint(k.Uint(), 10)
	case k.CanFloat() && !math.IsNaN(k.Float()) && !math.IsInf(k.Float(), 0):
		text = strconv.FormatFloat(k.Float(), 'g', -1, k.Type().Bits())
	case k.Kind() == reflect.String && k.Len() <= maxKey:
		text = strconv.Quote(k.String())
	}
	if text != "" && static.Kind() == reflect.Interface {
		return peek.TypeName(k.Type()) + "(" + text + ")"
	}
	return text
}

func structExpr(v reflect.Value) string {
	var fields []string
	for f, x := range v.Fields() {
		text := keyExpr(x)
		if text == "" || f.Name == "_" {
			return ""
		}
		fields = append(fields, f.Name+": "+text)
	}
	return peek.TypeName(v.Type()) + "{" + strings.Join(fields, ", ") + "}"
}

func typeOf(v reflect.Value) string {
	if !v.IsValid() {
		return ""
	}
	return peek.TypeName(v.Type())
}

func (s *Server) describeAll(w eval.World, vars []gocell.Variable, within *gocell.Call) []variable {
	list := []variable{}
	for _, v := range vars {
		if v.Gone {
			list = append(list, variable{Name: v.Name, Type: v.Type, Value: "(optimized out: not used from here on)"})
			continue
		}
		d := s.describe(w, v.Name, v.Name, v.Type, v.Value, within)
		if h, ok := s.handles[d.Reference]; ok && v.Interface {
			h.name = asserted(v.Name, v.Value)
			s.handles[d.Reference] = h
		}
		list = append(list, d)
	}
	return list
}

// describe shows a value. While code runs that may change it, only its type is
// told.
func (s *Server) describe(w eval.World, name, expr, typ string, v reflect.Value, within *gocell.Call) variable {
	d := variable{Name: name, Type: typ, Evaluate: expr, Value: "(a cell runs)"}
	if !w.Still {
		return d
	}
	d.Value = peek.Text(v, w.Maps())
	n := peek.Count(v, w.Maps())
	if n == 0 {
		return d
	}
	if v.Kind() == reflect.Interface {
		v = v.Elem()
		expr = asserted(expr, v)
	}
	d.Reference = s.number(handle{value: v, name: expr, within: within})
	if isIndexed(v) {
		d.Indexed = n
	} else {
		d.Named = n
	}
	return d
}

// asserted is an expression for what an interface holds.
func asserted(expr string, v reflect.Value) string {
	if expr == "" {
		return ""
	}
	return expr + ".(" + peek.TypeName(v.Type()) + ")"
}

func (s *Server) inspectVariables(w eval.World, _ none) (any, error) {
	return s.listed(s.describeAll(w, s.opts.Session.Globals(), nil)), nil
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

func (s *Server) evaluateIn(ctx context.Context, expr string, call *gocell.Call) (r gocell.Result, err error) {
	err = inTime(ctx, func(ctx context.Context) error {
		r, err = s.opts.Session.Evaluate(ctx, expr, call)
		return err
	})
	return r, err
}

// inTime stops f after some time.
func inTime(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, evaluateTime)
	defer cancel()
	err := f(ctx)
	var stopped *gocell.InterruptError
	if errors.As(err, &stopped) && ctx.Err() == context.DeadlineExceeded {
		return fmt.Errorf("it was stopped after %v: %s", evaluateTime, stopped.What)
	}
	return err
}

// partNamed is the expression for the part of a value that has a name.
func (s *Server) partNamed(ctx context.Context, h handle, name string) (expr string) {
	if h.value.Kind() != reflect.Map {
		return part(h, peek.Child{Name: name})
	}
	s.debug.Hold(ctx, func(w eval.World) {
		for _, c := range peek.Children(h.value, 0, math.MaxInt, w.Maps()) {
			if c.Name == name && expr == "" {
				expr = part(h, c)
			}
		}
	})
	return expr
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
		name, call = s.partNamed(ctx, h, a.Name), h.within
	}
	if name == "" {
		return nil, fmt.Errorf("%q cannot be set: there is no expression for it", a.Name)
	}
	err := inTime(ctx, func(ctx context.Context) error { return s.opts.Session.Assign(ctx, name, token.ASSIGN, a.Value, call) })
	if err != nil {
		return nil, err
	}
	return s.shown(ctx, name, call)
}

func (s *Server) evaluate(ctx context.Context, a struct {
	Expression string `json:"expression"`
	FrameID    int    `json:"frameId"`
	Context    string `json:"context"`
}) (any, error) {
	if a.Context == "hover" && calls(a.Expression) {
		return nil, errors.New("what the pointer rests on is not called: it may do something")
	}
	call, err := s.callOf(a.FrameID)
	if err != nil {
		return nil, err
	}
	find := s.shown
	if a.Context == "repl" && isExpr(a.Expression) != nil {
		find = s.assign
	}
	shown, err := find(ctx, a.Expression, call)
	if err != nil {
		return nil, err
	}
	shown["result"] = shown["value"]
	delete(shown, "value")
	return shown, nil
}

// calls reports whether an expression may do something: call a function or receive.
func calls(expr string) (found bool) {
	x, err := parser.ParseExpr(expr)
	if err != nil {
		return false
	}
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.Ident)
			found = found || !ok || f.Name != "len" && f.Name != "cap"
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
		return true
	})
	return found
}

// shown describes the value of an expression.
func (s *Server) shown(ctx context.Context, expr string, call *gocell.Call) (object, error) {
	r, err := s.evaluateIn(ctx, expr, call)
	if err != nil {
		return nil, err
	}
	var texts, types []string
	reference := 0
	s.debug.Hold(ctx, func(w eval.World) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, x := range r.Values {
			v := reflect.ValueOf(x)
			d := s.describe(w, "", expr, typeOf(v), v, call)
			texts, types = append(texts, d.Value), append(types, d.Type)
			reference = d.Reference
		}
	})
	return object{"value": strings.Join(texts, ", "), "type": strings.Join(types, ", "), "variablesReference": reference}, nil
}

func (s *Server) richInspectVariables(ctx context.Context, a struct {
	Name    string `json:"variableName"`
	FrameID int    `json:"frameId"`
}) (any, error) {
	call, err := s.callOf(a.FrameID)
	if err != nil {
		return nil, err
	}
	var r gocell.Result
	err = inTime(ctx, func(ctx context.Context) error {
		r, err = s.opts.Session.Render(ctx, a.Name, call)
		return err
	})
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

func (s *Server) copyToGlobals(_ eval.World, a struct {
	From    string `json:"srcVariableName"`
	To      string `json:"dstVariableName"`
	FrameID int    `json:"srcFrameId"`
}) (any, error) {
	f, ok := s.frames[a.FrameID]
	if !ok {
		return nil, errNoFrame
	}
	return object{}, s.opts.Session.CopyToGlobals(a.From, f.Call, a.To)
}

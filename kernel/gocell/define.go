package gocell

import (
	"context"
	"fmt"
	"go/token"
	"go/types"
	"reflect"

	"forgekernel/kernel/gocell/eval"
)

// Define makes a host value a variable of the session; a function can be called
// like any other. Its type must be one that cells can name, and its methods are
// those of that type. Defining a name again reaches the functions of cells that
// use it.
func (s *Session) Define(name string, value any, doc string) error {
	if !token.IsIdentifier(name) || name == "_" {
		return fmt.Errorf("%q is not a name", name)
	}
	if value == nil {
		return fmt.Errorf("%s has no value", name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := typeOf(reflect.TypeOf(value))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	old := s.scope.symbols[name]
	if old != nil && old.variable != nil && types.Identical(old.obj.Type(), t) {
		old.variable.Set(reflect.ValueOf(value))
		old.doc = doc
		return nil
	}
	s.scope.symbols[name] = &symbol{
		name: name, kind: "var", obj: types.NewVar(token.NoPos, nil, name, t), doc: doc,
		variable: s.engine.HostVar(t, reflect.ValueOf(value)),
	}
	return s.refit(name)
}

// refit translates anew the functions of cells that use a name which the host
// gave another type. Calls of those that no longer fit fail.
func (s *Session) refit(name string) error {
	c, _ := s.newCheck(context.Background(), &eval.Source{Name: "definition of " + name, Line: 1})
	if !c.pullDependents(map[string]bool{name: true}) {
		return nil
	}
	c.settle()
	_, err := c.commit()
	return err
}

var basicTypes = map[reflect.Kind]types.BasicKind{
	reflect.Bool: types.Bool, reflect.String: types.String, reflect.Int: types.Int, reflect.Int8: types.Int8,
	reflect.Int16: types.Int16, reflect.Int32: types.Int32, reflect.Int64: types.Int64, reflect.Uint: types.Uint,
	reflect.Uint8: types.Uint8, reflect.Uint16: types.Uint16, reflect.Uint32: types.Uint32, reflect.Uint64: types.Uint64,
	reflect.Uintptr: types.Uintptr, reflect.Float32: types.Float32, reflect.Float64: types.Float64,
	reflect.Complex64: types.Complex64, reflect.Complex128: types.Complex128, reflect.UnsafePointer: types.UnsafePointer,
}

// typeOf finds the checker's type of a compiled value.
func typeOf(t reflect.Type) (types.Type, error) {
	if t.Name() != "" && t.PkgPath() != "" {
		return namedTypeOf(t)
	}
	if t == reflect.TypeFor[error]() {
		return types.Universe.Lookup("error").Type(), nil
	}
	if k, ok := basicTypes[t.Kind()]; ok {
		return types.Typ[k], nil
	}
	switch t.Kind() {
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return types.Universe.Lookup("any").Type(), nil
		}
	case reflect.Func:
		return signatureOf(t)
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan, reflect.Map:
		return compositeOf(t)
	}
	return nil, fmt.Errorf("a value of type %s cannot be named in a Go cell", t)
}

func namedTypeOf(t reflect.Type) (types.Type, error) {
	pkg, err := importer{}.Import(t.PkgPath())
	if err != nil {
		return nil, err
	}
	obj, ok := pkg.Scope().Lookup(t.Name()).(*types.TypeName)
	if !ok || !obj.Exported() {
		return nil, fmt.Errorf("a value of type %s cannot be named in a Go cell", t)
	}
	return obj.Type(), nil
}

func compositeOf(t reflect.Type) (types.Type, error) {
	elem, err := typeOf(t.Elem())
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case reflect.Pointer:
		return types.NewPointer(elem), nil
	case reflect.Slice:
		return types.NewSlice(elem), nil
	case reflect.Array:
		return types.NewArray(elem, int64(t.Len())), nil
	case reflect.Chan:
		dir := map[reflect.ChanDir]types.ChanDir{reflect.BothDir: types.SendRecv, reflect.SendDir: types.SendOnly, reflect.RecvDir: types.RecvOnly}
		return types.NewChan(dir[t.ChanDir()], elem), nil
	}
	key, err := typeOf(t.Key())
	if err != nil {
		return nil, err
	}
	return types.NewMap(key, elem), nil
}

func signatureOf(t reflect.Type) (types.Type, error) {
	var in, out []*types.Var
	for i := range t.NumIn() {
		p, err := typeOf(t.In(i))
		if err != nil {
			return nil, err
		}
		in = append(in, types.NewParam(token.NoPos, nil, "", p))
	}
	for i := range t.NumOut() {
		r, err := typeOf(t.Out(i))
		if err != nil {
			return nil, err
		}
		out = append(out, types.NewParam(token.NoPos, nil, "", r))
	}
	return types.NewSignatureType(nil, nil, nil, types.NewTuple(in...), types.NewTuple(out...), t.IsVariadic()), nil
}

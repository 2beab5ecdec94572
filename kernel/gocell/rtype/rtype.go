// Package rtype makes the reflect types of types that the checker knows, with
// their names and methods, so that values of cells are ordinary Go values to
// compiled code: fmt finds their String method, errors.As their identity,
// encoding/json their fields.
//
// Compiled types are looked up, never rebuilt. A type declared in a cell is
// made once, in two rounds, because declarations may be recursive: first a
// stand-in with the right size, alignment and pointer map, in which everything
// behind a reference is blank; then the true underlying type is put in its
// place. The methods of a made type call back into the engine.
//
// There is room for 8,192 exported methods in a process: one for each method
// of *T, and one more for each of T when T is a pointer in disguise, a map say.
// Methods that are not exported take none. A type that is declared again as it
// was keeps its room, and one that gets another method takes room for that one; a
// type with a new definition takes it anew.
package rtype

import (
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"sync"

	"github.com/goplus/reflectx"
	"golang.org/x/tools/go/types/typeutil"
)

func init() {
	reflectx.DisableAllocateWarning = true
	// Compiled code calls exported methods only; the others need none of the
	// room that there is for methods.
	reflectx.Default.SetHasImethod(func(_ reflect.Type, m reflectx.Method) bool { return token.IsExported(m.Name) })
}

// Table maps the types of one session.
type Table struct {
	// Host finds a compiled named type.
	Host func(path, name string) (reflect.Type, bool)
	// Own reports whether a package other than main is interpreted; nil means none is.
	Own func(path string) bool
	// Method returns the code of a method that reflection sees, with the
	// receiver as its first argument. It is asked once per method, and must not
	// call the table.
	Method func(recv types.Type, sel *types.Selection) func(args []reflect.Value) []reflect.Value

	// Number tells the types apart that functions of a package declare: it counts
	// them in the order of the source, from 1. Others have 0. It must not call the
	// table.
	Number func(*types.TypeName) int

	mu     sync.Mutex
	cache  typeutil.Map                  // types.Type -> reflect.Type
	made   map[reflect.Type]types.Type   // made types with names or methods, all generations
	within map[*types.Named][]types.Type // type arguments of the functions that declare types
	locals map[string]reflect.Type       // those types, see localKey
	queue  []unfinished
	// What there has been of types with several generations: *family by types.Type.
	generations typeutil.Map
	former      map[reflect.Type]types.Type // earlier generations that have no name
	begun       map[*types.Interface]bool   // being made
	parts       int                         // of the types being made, see standIn
	news        []types.Type                // made since Begin
	swaps       []swap                      // since Begin, see Keep
	dropped     []renewal                   // since Keep: what Undo restores
	slots       typeutil.Map                // of methods: map[form]slot by types.Type
}

// renewal is a type that has to be made anew.
type renewal struct {
	origin types.Type
	typ    reflect.Type
	local  string // its key, see localKey
}

type unfinished struct {
	origin types.Type // a *types.Named, or a *types.Struct with promoted methods
	typ    reflect.Type
}

// maxName is how much of a type an error shows.
const maxName = 200

// Error says why a type cannot be made.
type Error struct {
	Type   types.Type
	Reason string
}

func (e *Error) Error() string {
	name := types.TypeString(e.Type, byName)
	if runes := []rune(name); len(runes) > maxName {
		name = string(runes[:maxName]) + "…"
	}
	return fmt.Sprintf("type %s %s", name, e.Reason)
}

func byName(p *types.Package) string { return p.Name() }

// Of returns the reflect type of t, which has no type parameters.
func (t *Table) Of(typ types.Type) (r reflect.Type, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, ok := t.cache.At(typ).(reflect.Type); ok {
		return r, nil
	}
	defer func() {
		if p := recover(); p != nil {
			t.forget(t.queue)
			t.queue, t.begun = nil, nil
			switch p := p.(type) {
			case *Error:
				err = p
			case string: // a limit of package reflect
				err = &Error{typ, "cannot be made: " + p}
			default:
				panic(p)
			}
		}
	}()
	t.parts = 0
	r = t.of(typ)
	t.finish()
	return r, nil
}

// Made returns the type behind a reflect type that this table made: a declared
// one, or a struct that has methods by embedding.
func (t *Table) Made(r reflect.Type) (types.Type, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	typ, ok := t.made[r]
	return typ, ok
}

// Learn records which reflect types the parts of a compiled type have, since
// not every one of them can be looked up by name.
func (t *Table) Learn(typ types.Type, r reflect.Type) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.learn(typ, r, map[types.Type]bool{})
}

func (t *Table) learn(typ types.Type, r reflect.Type, seen map[types.Type]bool) {
	typ = types.Unalias(typ)
	if seen[typ] {
		return
	}
	seen[typ] = true
	switch typ := typ.(type) {
	case *types.Named:
		if r.Name() == "" || r.PkgPath() == "main" || t.cache.At(typ) != nil {
			return
		}
		if _, own := t.made[r]; !own {
			t.cache.Set(typ, r)
		}
	case *types.Signature:
		if r.Kind() != reflect.Func || typ.Params().Len() != r.NumIn() || typ.Results().Len() != r.NumOut() {
			return
		}
		for i := range typ.Params().Len() {
			t.learn(typ.Params().At(i).Type(), r.In(i), seen)
		}
		for i := range typ.Results().Len() {
			t.learn(typ.Results().At(i).Type(), r.Out(i), seen)
		}
	case interface{ Elem() types.Type }:
		switch r.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan, reflect.Map:
			t.learn(typ.Elem(), r.Elem(), seen)
		}
	}
}

// Begin starts a piece of work that Keep ends or Undo takes back.
func (t *Table) Begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.news, t.swaps = nil, nil
}

// Undo forgets the types that were made since Begin, whose methods have no code,
// and what Renew did since Keep.
func (t *Table) Undo() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, typ := range t.news {
		if r, ok := t.cache.At(typ).(reflect.Type); ok {
			delete(t.made, r)
			t.cache.Delete(typ)
			if t.former[r] == nil {
				t.lose(typ, r)
			}
			maps.DeleteFunc(t.locals, func(_ string, local reflect.Type) bool { return local == r })
		}
	}
	for _, g := range t.dropped {
		t.cache.Set(g.origin, g.typ)
		if g.local != "" {
			t.locals[g.local] = g.typ
		}
	}
	t.news, t.swaps, t.dropped = nil, nil, nil
}

// Renew prepares new generations of every type that reaches one of the named
// types, in its parts, its definition or its methods, as is needed when their
// methods change: the runtime remembers what a type implements. The result lists
// the types to make anew. Old generations are known to Made and Present.
func (t *Table) Renew(changed ...*types.Named) (renewed []types.Type) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.former == nil {
		t.former = map[reflect.Type]types.Type{}
	}
	stale := map[types.Type]bool{}
	t.cache.Iterate(func(key types.Type, _ any) {
		if reaches(key, changed, stale, map[types.Type]bool{}) {
			renewed = append(renewed, key)
		}
	})
	for _, key := range renewed {
		r := t.cache.At(key).(reflect.Type)
		if _, made := t.made[r]; !made && r.Kind() != reflect.Interface {
			t.generation(key, r)
			t.former[r] = key
		}
		t.cache.Delete(key)
		t.dropped = append(t.dropped, renewal{origin: key, typ: r})
	}
	for key, r := range t.locals {
		if origin := t.made[r]; stale[origin] {
			delete(t.locals, key)
			t.dropped = append(t.dropped, renewal{origin, r, key})
		}
	}
	return renewed
}

// Present returns the present generation of a type.
func (t *Table) Present(r reflect.Type) reflect.Type {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.present(r)
}

func (t *Table) present(r reflect.Type) reflect.Type {
	typ, ok := t.made[r]
	if !ok {
		typ, ok = t.former[r]
	}
	if ok {
		if now, ok := t.cache.At(typ).(reflect.Type); ok {
			return now
		}
	}
	if r.Kind() == reflect.Pointer && r.Name() == "" {
		if elem := t.present(r.Elem()); elem != r.Elem() {
			return reflect.PointerTo(elem)
		}
	}
	return r
}

// All lists the types that have a reflect type, old generations included.
func (t *Table) All() []types.Type {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.cache.Keys()
	for _, typ := range t.made {
		list = append(list, typ)
	}
	return list
}

// Known reports whether a declared type has been made already.
func (t *Table) Known(named *types.Named) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cache.At(named) != nil
}

func reaches(typ types.Type, targets []*types.Named, found, seen map[types.Type]bool) bool {
	typ = types.Unalias(typ)
	if found[typ] {
		return true
	}
	if seen[typ] {
		return false
	}
	seen[typ] = true
	hit := false
	visit := func(part types.Type) { hit = hit || reaches(part, targets, found, seen) }
	switch typ := typ.(type) {
	case *types.Named:
		for _, target := range targets {
			if typ == target || typ.Origin() == target {
				hit = true
			}
		}
		if pkg := typ.Obj().Pkg(); !hit && pkg != nil && pkg.Path() == "main" {
			visit(typ.Underlying())
			for m := range typ.Methods() {
				visit(m.Type())
			}
		}
	default:
		Parts(typ, visit)
	}
	if hit {
		found[typ] = true
	}
	return hit
}

// Parts calls visit for the types that an unnamed type is built from.
func Parts(typ types.Type, visit func(types.Type)) {
	switch typ := typ.(type) {
	case *types.Map:
		visit(typ.Key())
		visit(typ.Elem())
	case *types.Struct:
		for f := range typ.Fields() {
			visit(f.Type())
		}
	case *types.Signature:
		for v := range typ.Params().Variables() {
			visit(v.Type())
		}
		for v := range typ.Results().Variables() {
			visit(v.Type())
		}
	case *types.Interface:
		for m := range typ.Methods() {
			visit(m.Type())
		}
	case interface{ Elem() types.Type }:
		visit(typ.Elem())
	}
}

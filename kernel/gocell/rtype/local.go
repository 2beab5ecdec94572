package rtype

import (
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strings"
)

// An instance of a generic function declares types of its own. Each cell that
// calls the function translates it anew, and the checker's types with it; they
// are one type for each list of type arguments all the same.

// Within notes the type arguments of the function that declares types. Those that
// declares reports, in typ, are of that function.
func (t *Table) Within(typ types.Type, declares func(*types.TypeName) bool, args []types.Type, seen map[types.Type]bool) {
	typ = types.Unalias(typ)
	if seen[typ] {
		return
	}
	seen[typ] = true
	named, ok := typ.(*types.Named)
	if !ok {
		Parts(typ, func(part types.Type) { t.Within(part, declares, args, seen) })
		return
	}
	for a := range named.TypeArgs().Types() {
		t.Within(a, declares, args, seen)
	}
	if !declares(named.Obj()) {
		return
	}
	t.mu.Lock()
	if t.within == nil {
		t.within = map[*types.Named][]types.Type{}
	}
	t.within[named.Origin()] = args
	t.mu.Unlock()
	t.Within(named.Underlying(), declares, args, seen)
	t.unite(named, args)
}

// unite gives a type the reflect type of its likes.
func (t *Table) unite(named *types.Named, args []types.Type) {
	key, ok := t.localKey(named, args)
	if !ok {
		return
	}
	t.mu.Lock()
	r := t.locals[key]
	if r != nil {
		t.cache.Set(named, r)
	}
	t.mu.Unlock()
	if r != nil {
		return
	}
	if r, err := t.Of(named); err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.locals == nil {
			t.locals = map[string]reflect.Type{}
		}
		t.locals[key] = r
	}
}

// localKey tells by where a type is declared and by all type arguments what it is.
func (t *Table) localKey(named *types.Named, args []types.Type) (string, bool) {
	var b strings.Builder
	fmt.Fprint(&b, named.Obj().Pos())
	for _, a := range slices.AppendSeq(slices.Clone(args), named.TypeArgs().Types()) {
		r, err := t.Of(a)
		if err != nil {
			return "", false
		}
		fmt.Fprintf(&b, " %p", r)
	}
	return b.String(), true
}

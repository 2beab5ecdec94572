package hostpkg

import (
	"reflect"
	"sync"

	"forgekernel/kernel/gocell/hostpkg/archive"
	"forgekernel/kernel/gocell/hostpkg/table"
)

var lookups struct {
	sync.Mutex
	tables map[string]map[string]*table.Symbol // by import path, then name
}

// Symbol returns one exported name of a package: a function, a pointer to a
// variable, or a nil pointer to a type. Constants are in the [Importer]'s view
// alone.
func Symbol(path, name string) (reflect.Value, bool) {
	s, err := open()
	if err != nil {
		return reflect.Value{}, false
	}
	path = canonical(path)
	lookups.Lock()
	defer lookups.Unlock()
	names := lookups.tables[path]
	if names == nil {
		p, ok := s.tables[path]
		if !ok {
			return reflect.Value{}, false
		}
		names = make(map[string]*table.Symbol, len(p.Symbols))
		for i := range p.Symbols {
			names[p.Symbols[i].Key()] = &p.Symbols[i]
		}
		if lookups.tables == nil {
			lookups.tables = map[string]map[string]*table.Symbol{}
		}
		lookups.tables[path] = names
	}
	sym, ok := names[name]
	if !ok || sym.Kind != table.Func && sym.Kind != table.Var && sym.Kind != table.Type {
		return reflect.Value{}, false
	}
	return reflect.ValueOf(sym.Value), true
}

// Source returns the Go files, by name, of a package whose generic functions
// can only be had from source.
func Source(path string) (files map[string]string, ok bool) {
	s, err := open()
	if err != nil || !archive.HasSource(path) {
		return nil, false
	}
	if err := s.readJSON(archive.SourceFile(path), &files); err != nil {
		return nil, false
	}
	return files, true
}

package hostpkg

import (
	"reflect"

	"forgekernel/kernel/gocell/hostpkg/archive"
)

// Symbol returns one exported name of a package: a function, a pointer to a
// variable, or a nil pointer to a type. Constants are in the [Importer]'s view
// alone; generic functions and types have no symbol.
func Symbol(path, name string) (reflect.Value, bool) {
	s, err := open()
	if err != nil {
		return reflect.Value{}, false
	}
	table := s.tables[canonical(path)]
	if table == nil {
		return reflect.Value{}, false
	}
	return table.Lookup(name)
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

package hostpkg

import (
	"reflect"
	"sync"

	"forgekernel/kernel/gocell/hostpkg/archive"
)

// Symbol returns one exported name of a package: a function, a pointer to a
// variable, or a nil pointer to a type. Constants are in the [Importer]'s view
// alone; generic functions and types have no symbol, but functions that have few
// instances are there as these: From[float32].
func Symbol(path, name string) (reflect.Value, bool) {
	s, err := open()
	if err != nil {
		return reflect.Value{}, false
	}
	if table := s.tables[canonical(path)]; table != nil {
		return table.Lookup(name)
	}
	v, ok := aliased()[typeName{path, name}]
	return v, ok
}

type typeName struct{ path, name string }

// aliased are the types of packages without a table that packages with one have
// aliases for: forge.Binding is such a name for a type of forge/importer.
var aliased = sync.OnceValue(func() map[typeName]reflect.Value {
	found := make(map[typeName]reflect.Value)
	s, err := open()
	if err != nil {
		return found
	}
	for path, table := range s.tables {
		for _, symbol := range table.Symbols {
			v := reflect.ValueOf(symbol.Value)
			if v.Kind() != reflect.Pointer || !v.IsNil() {
				continue // no type
			}
			if t := v.Type().Elem(); t.Name() != "" && t.PkgPath() != "" && t.PkgPath() != path {
				found[typeName{t.PkgPath(), t.Name()}] = v
			}
		}
	}
	return found
})

// Interpreted reports whether a package has no symbols because cells run it from
// its [Source].
func Interpreted(path string) bool { return archive.Interpreted(path) }

// Source returns the Go files, by name, of a package whose generic functions
// can only be had from source, or that is interpreted.
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

package hostpkg

import (
	"fmt"
	"reflect"
)

// Symbols returns the tables of the given packages and of all packages whose
// types occur in their exported API, ready for yaegi's Interpreter.Use: keyed
// by "path/name", interface wrappers under "_Name", and under "." the MapTypes,
// the functions that look for methods of their `any` arguments. The maps are
// the caller's own.
//
// The further packages are needed because yaegi looks for the wrapper of an
// interface in the table of the package that declares it.
func Symbols(paths ...string) (map[string]map[string]reflect.Value, error) {
	s, err := open()
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]reflect.Value{}
	for _, path := range paths {
		if err := s.addSymbols(out, path); err != nil {
			return nil, err
		}
	}
	addMapTypes(out)
	return out, nil
}

func (s *store) addSymbols(out map[string]map[string]reflect.Value, path string) error {
	target := canonical(path)
	p, ok := s.packages[target]
	if !ok {
		return fmt.Errorf("package %s is not available in Go cells", path)
	}
	key := path + "/" + p.Name
	if out[key] != nil {
		return nil
	}
	out[key] = s.tables[target].Reflect()
	for _, dep := range p.Deps {
		if err := s.addSymbols(out, dep); err != nil {
			return err
		}
	}
	return nil
}

// Missing says why an exported name of a package has no entry in [Symbols],
// as the end of a sentence that begins with the name: "is generic, …".
func Missing(path, name string) (reason string, missing bool) {
	s, err := open()
	if err != nil {
		return "", false
	}
	reason, missing = s.packages[canonical(path)].Missing[name]
	return reason, missing
}

package hostpkg

import (
	"bytes"
	"fmt"
	"go/token"
	"go/types"
	"sync"

	"golang.org/x/tools/go/gcexportdata"

	"forgekernel/kernel/gocell/hostpkg/archive"
)

// Importer gives go/types the packages of [Paths]. Every importer returns the
// same *types.Package for a path, complete and never changed afterwards, so
// that packages may be shared by all cells. Positions are not recorded.
func Importer() types.Importer { return importer{} }

type importer struct{}

func (importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	s, err := open()
	if err != nil {
		return nil, err
	}
	if _, ok := s.packages[canonical(path)]; !ok {
		return nil, fmt.Errorf("package %s is not available in Go cells; there are the standard library, gonum, forge, display", path)
	}
	loaded.Lock()
	defer loaded.Unlock()
	return s.importTypes(canonical(path))
}

// loaded holds the packages read so far. complete has those that may be handed
// out; imports also those that export data merely mentions, which grow as more
// of it is read.
var loaded = struct {
	sync.Mutex
	fset     *token.FileSet
	imports  map[string]*types.Package
	complete map[string]*types.Package
}{
	fset:     token.NewFileSet(),
	imports:  map[string]*types.Package{},
	complete: map[string]*types.Package{},
}

// importTypes reads a package after all packages that it mentions. Reading then
// adds objects to no scope but its own, which nobody has seen yet: a package
// that was handed out stays as it is while other goroutines look at it.
func (s *store) importTypes(path string) (*types.Package, error) {
	if p := loaded.complete[path]; p != nil {
		return p, nil
	}
	for _, dep := range s.packages[path].Deps {
		if _, err := s.importTypes(dep); err != nil {
			return nil, err
		}
	}
	data, err := s.read(archive.ExportFile(path))
	if err != nil {
		return nil, err
	}
	p, err := gcexportdata.Read(bytes.NewReader(data), loaded.fset, loaded.imports, path)
	if err != nil {
		return nil, fmt.Errorf("export data of %s: %w", path, err)
	}
	loaded.complete[path] = p
	return p, nil
}

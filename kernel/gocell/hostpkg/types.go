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
		return nil, fmt.Errorf("package %s is not available in Go cells; cells can import the standard library, gonum, forge, nebula, display, and modules fetched with %%goget", path)
	}
	return loaded.importTypes(s, canonical(path))
}

var loaded = newTypeCache()

// typeCache holds the packages read so far.
type typeCache struct {
	mu   sync.Mutex
	fset *token.FileSet
	// complete has the packages that may be handed out; imports also those that
	// export data merely mentions, which grow as more of it is read.
	complete, imports map[string]*types.Package
}

func newTypeCache() *typeCache {
	return &typeCache{
		fset:     token.NewFileSet(),
		complete: map[string]*types.Package{},
		imports:  map[string]*types.Package{},
	}
}

func (c *typeCache) importTypes(s *store, path string) (*types.Package, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.load(s, path)
}

// load reads a package after all packages that it mentions, for its export data
// has no more than the names of their types. Reading then adds objects to no
// scope but its own, which nobody has seen yet: a package that was handed out
// stays as it is while other goroutines look at it.
func (c *typeCache) load(s *store, path string) (*types.Package, error) {
	if p := c.complete[path]; p != nil {
		return p, nil
	}
	for _, dep := range s.packages[path].Deps {
		if _, err := c.load(s, dep); err != nil {
			return nil, err
		}
	}
	data, err := s.read(archive.ExportFile(path))
	if err != nil {
		return nil, err
	}
	p, err := gcexportdata.Read(bytes.NewReader(data), c.fset, c.imports, path)
	if err != nil {
		return nil, fmt.Errorf("export data of %s: %w", path, err)
	}
	c.complete[path] = p
	return p, nil
}

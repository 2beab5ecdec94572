// Package hostpkg is everything a Go cell may import: the standard library,
// gonum and the public packages of the workbench. A host may have no Go
// toolchain, so the binary carries all that is known about these packages.
//
// There are three views of one package, made together at build time by the gen
// command from one `go list -export`:
//
//   - [Importer] gives its types to go/types, from export data in a zip archive
//     inside the binary;
//   - [Symbol] gives its functions, variables and types to the engine as reflect
//     values, from Go tables that are linked in; [Source] stands in for packages
//     that consist of generic functions, which reflection cannot reach;
//   - [Doc] gives its documentation, from the same archive.
//
// Some packages that notebooks rarely import are [Interpreted]: the archive has
// their source, and the binary neither tables of them nor their code.
//
// All load a package on its first use, keep it for the life of the process, and
// may be used from several goroutines.
//
// The archive and the tables are generated, not kept in the repository. A
// binary built without them, or with those of another Go release, says so from
// [Ready] and from every import.
//
// `go run ./kernel/gocell/growth` tells what all of this adds to the binary.
package hostpkg

//go:generate go run ./gen

import (
	"archive/zip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"sync"

	"forgekernel/kernel/gocell/hostpkg/archive"
	_ "forgekernel/kernel/gocell/hostpkg/gonum"
	_ "forgekernel/kernel/gocell/hostpkg/own"
	_ "forgekernel/kernel/gocell/hostpkg/std"
	"forgekernel/kernel/gocell/hostpkg/table"
)

// ErrNotBuilt means that the binary was built before its package data.
var ErrNotBuilt = errors.New("this binary carries no data about Go packages: run make build")

// tableSets names the Go packages of tables that a complete binary links.
var tableSets = []string{"std", "gonum", "own"}

//go:embed exports
var exports embed.FS

// Ready reports whether the package data is present and fits this binary.
func Ready() error {
	_, err := open()
	return err
}

// store is the opened archive with its index.
type store struct {
	zip      *zip.Reader
	packages map[string]archive.Package
	tables   map[string]*table.Package
	paths    []string // of packages, sorted, with the aliases
	names    map[string]string
}

var open = sync.OnceValues(func() (*store, error) {
	z, err := openZip()
	if err != nil {
		return nil, err
	}
	s := &store{zip: z, packages: map[string]archive.Package{}, tables: map[string]*table.Package{}}
	var m archive.Manifest
	if err := s.readJSON(archive.ManifestFile, &m); err != nil {
		return nil, err
	}
	if m.Go != runtime.Version() {
		return nil, fmt.Errorf("the Go package data is of %s, this binary of %s: run make build", m.Go, runtime.Version())
	}
	if err := s.addTables(m.Stamp); err != nil {
		return nil, err
	}
	for _, p := range m.Packages {
		s.packages[p.Path] = p
	}
	s.index()
	return s, nil
})

func openZip() (*zip.Reader, error) {
	f, err := exports.Open("exports/packages.zip")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotBuilt
	} else if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(f.(io.ReaderAt), info.Size())
	if err != nil {
		return nil, fmt.Errorf("the Go package data is damaged, run make build: %w", err)
	}
	return z, nil
}

func (s *store) addTables(stamp string) error {
	for _, name := range tableSets {
		set := table.Registered(name)
		if set == nil {
			return ErrNotBuilt
		}
		if set.Stamp != stamp {
			return fmt.Errorf("the symbol tables of %s and the Go package data were not made together: run make build", name)
		}
		for i := range set.Packages {
			s.tables[set.Packages[i].Path] = &set.Packages[i]
		}
	}
	return nil
}

func (s *store) read(name string) ([]byte, error) {
	f, err := s.zip.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func (s *store) readJSON(name string, v any) error {
	content, err := s.read(name)
	if err != nil {
		return err
	}
	return json.Unmarshal(content, v)
}

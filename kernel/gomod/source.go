package gomod

import (
	"archive/zip"
	"context"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/module"
)

// maxSource bounds the Go source of one package.
const maxSource = 64 << 20

// Build is a set of modules, one version of each, whose archives are opened when
// a package of theirs is asked for.
type Build struct {
	Modules []module.Version
	f       *Fetcher

	mu   sync.Mutex
	zips map[module.Version]*zip.ReadCloser
}

// Package is the source of one package.
type Package struct {
	Path   string
	Module module.Version
	Go     string // language version, such as go1.21
	Files  []File
}

// File is a file of Go source that belongs to the package on this machine.
type File struct {
	Name string // path@version/dir/file.go
	Text string
}

// Refused is a package that cannot be run from source.
type Refused struct{ Path, Reason string }

func (e *Refused) Error() string { return fmt.Sprintf("package %s %s", e.Path, e.Reason) }

// Open makes a build of modules that Select chose.
func (f *Fetcher) Open(modules []module.Version) *Build {
	return &Build{Modules: modules, f: f, zips: map[module.Version]*zip.ReadCloser{}}
}

// Close closes the archives.
func (b *Build) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for m, z := range b.zips {
		z.Close()
		delete(b.zips, m)
	}
}

// Has reports whether a module of the build may have a package.
func (b *Build) Has(importPath string) bool { return len(b.candidates(importPath)) > 0 }

// candidates lists the modules that a package may be in, the longest path first.
func (b *Build) candidates(importPath string) []module.Version {
	var list []module.Version
	for _, m := range b.Modules {
		if importPath == m.Path || strings.HasPrefix(importPath, m.Path+"/") {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b module.Version) int { return len(b.Path) - len(a.Path) })
	return list
}

func (b *Build) zip(ctx context.Context, m module.Version) (*zip.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if z := b.zips[m]; z != nil {
		return z, nil
	}
	z, err := b.f.Zip(ctx, m)
	if err == nil {
		b.zips[m] = z
	}
	return z, err
}

// Package reads a package. Its error is a *Refused when it exists but needs what
// only a toolchain can do.
func (b *Build) Package(ctx context.Context, importPath string) (*Package, error) {
	for _, m := range b.candidates(importPath) {
		z, err := b.zip(ctx, m)
		if err != nil {
			return nil, err
		}
		dir := m.String() + strings.TrimPrefix(importPath, m.Path)
		var entries []*zip.File
		for _, file := range z.File {
			if path.Dir(file.Name) == dir && strings.HasSuffix(file.Name, ".go") && !strings.HasSuffix(file.Name, "_test.go") {
				entries = append(entries, file)
			}
		}
		if len(entries) > 0 {
			return b.read(ctx, importPath, m, entries)
		}
	}
	return nil, fmt.Errorf("no module has a package %s", importPath)
}

// Packages lists the import paths of a module's packages that others may use.
func (b *Build) Packages(ctx context.Context, m module.Version) ([]string, error) {
	z, err := b.zip(ctx, m)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, file := range z.File {
		dir, name := path.Split(file.Name)
		rest := strings.TrimSuffix(strings.TrimPrefix(dir, m.String()), "/")
		hidden := slices.ContainsFunc(strings.Split(rest, "/"), func(part string) bool {
			return part == "internal" || part == "testdata" || part == "vendor" || strings.HasPrefix(part, ".") || strings.HasPrefix(part, "_")
		})
		if hidden || found[m.Path+rest] || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		program, err := isProgram(file)
		if err != nil {
			return nil, err
		}
		found[m.Path+rest] = !program
	}
	maps.DeleteFunc(found, func(_ string, importable bool) bool { return !importable })
	return slices.Sorted(maps.Keys(found)), nil
}

// isProgram reports whether a file belongs to package main, which nothing imports.
func isProgram(file *zip.File) (bool, error) {
	if file.UncompressedSize64 > maxSource {
		return false, nil // the import refuses it
	}
	text, err := readEntry(file)
	if err != nil {
		return false, err
	}
	f, err := parser.ParseFile(token.NewFileSet(), file.Name, text, parser.PackageClauseOnly)
	return err == nil && f.Name.Name == "main", nil // the import of a broken one says what is wrong
}

func (b *Build) read(ctx context.Context, importPath string, m module.Version, entries []*zip.File) (*Package, error) {
	p := &Package{Path: importPath, Module: m}
	var err error
	if p.Go, err = b.f.GoVersion(ctx, m); err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) }) // the order of initialisation
	total, cgo := uint64(0), false
	for _, entry := range entries {
		// The archive has been read as a whole: the sizes that it says are true.
		if total += entry.UncompressedSize64; total > maxSource {
			return nil, &Refused{importPath, fmt.Sprintf("has more than %d bytes of source", maxSource)}
		}
		text, err := readEntry(entry)
		if err != nil {
			return nil, err
		}
		belongs, err := belongs(entry.Name, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name, err)
		}
		imports, reason := examine(entry.Name, text)
		switch {
		case imports["C"]:
			cgo = true
		case belongs && reason != "":
			return nil, &Refused{importPath, reason + " (" + path.Base(entry.Name) + ")"}
		case belongs:
			p.Files = append(p.Files, File{entry.Name, text})
		}
	}
	switch {
	case len(p.Files) == 0 && cgo:
		return nil, &Refused{importPath, "uses cgo, which needs a C compiler and the Go toolchain"}
	case len(p.Files) == 0:
		return nil, &Refused{importPath, "has no source for this machine"}
	}
	return p, nil
}

func readEntry(entry *zip.File) (string, error) {
	r, err := entry.Open()
	if err != nil {
		return "", fmt.Errorf("%s: %w", entry.Name, err)
	}
	defer r.Close()
	content, err := readAll(r, entry.Name, maxSource)
	return string(content), err
}

// belongs evaluates a file's name and build constraints. Constraints that choose
// plain Go over assembly and unsafe hold.
func belongs(name, text string) (bool, error) {
	c := build.Default
	c.CgoEnabled = false
	c.BuildTags = []string{"purego", "noasm", "safe", "nounsafe"}
	c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	return c.MatchFile(path.Dir(name), path.Base(name))
}

// examine lists what a file imports, and says why it cannot be run from source.
func examine(name, text string) (imports map[string]bool, reason string) {
	imports = map[string]bool{}
	f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return imports, "" // the checker reports it
	}
	for _, spec := range f.Imports {
		imports[strings.Trim(spec.Path.Value, "\"`")] = true
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			switch {
			case strings.HasPrefix(c.Text, "//go:linkname "):
				return imports, "uses go:linkname, which reaches into compiled packages"
			case strings.HasPrefix(c.Text, "//go:embed ") || strings.HasPrefix(c.Text, "//go:embed\t"):
				return imports, "uses go:embed"
			}
		}
	}
	if imports["unsafe"] {
		return imports, "uses package unsafe"
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body == nil {
			return imports, "has a function written in assembly: " + fn.Name.Name
		}
	}
	return imports, ""
}

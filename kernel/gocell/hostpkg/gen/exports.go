package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/tools/go/gcexportdata"

	"forgekernel/kernel/gocell/hostpkg/archive"
)

// readTypes reads the compiler's export data of all packages.
func readTypes(all []*hostPackage) error {
	imports := map[string]*types.Package{}
	fset := token.NewFileSet()
	for _, p := range all {
		if p.Export == "" { // unsafe
			continue
		}
		if err := p.readTypes(fset, imports); err != nil {
			return fmt.Errorf("%s: %w", p.ImportPath, err)
		}
	}
	return nil
}

func (p *hostPackage) readTypes(fset *token.FileSet, imports map[string]*types.Package) error {
	f, err := os.Open(p.Export)
	if err != nil {
		return err
	}
	defer f.Close()
	//lint:ignore SA1019 this release of Go writes archives, which Read alone does not take
	r, err := gcexportdata.NewReader(f)
	if err != nil {
		return err
	}
	p.types, err = gcexportdata.Read(r, fset, imports, p.ImportPath)
	return err
}

// addExports writes the types of every package anew. That leaves out the
// bodies of inlined functions, which the compiler's export data holds, through
// an empty file set all positions, and what other packages declare (see
// outlined).
func addExports(packages []*hostPackage) error {
	importable := map[string]*hostPackage{}
	for _, p := range packages {
		importable[p.ImportPath] = p
	}
	for _, p := range packages {
		if err := p.addExport(importable); err != nil {
			return fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		if i := slices.IndexFunc(p.deps, archive.Interpreted); i >= 0 && !archive.Interpreted(p.ImportPath) {
			return fmt.Errorf("%s is compiled and has types of %s, which is interpreted", p.ImportPath, p.deps[i])
		}
	}
	return checkExports(importable)
}

func (p *hostPackage) addExport(importable map[string]*hostPackage) error {
	var whole, own bytes.Buffer
	if err := gcexportdata.Write(&whole, token.NewFileSet(), p.types); err != nil {
		return err
	}
	imports := map[string]*types.Package{}
	for path, other := range importable {
		if other != p {
			imports[path] = outlined(other.types)
		}
	}
	reduced, err := gcexportdata.Read(&whole, token.NewFileSet(), imports, p.ImportPath)
	if err != nil {
		return fmt.Errorf("reading it back: %w", err)
	}
	if err := gcexportdata.Write(&own, token.NewFileSet(), reduced); err != nil {
		return err
	}
	p.export = own.Bytes()
	for _, mentioned := range reduced.Imports() {
		if importable[mentioned.Path()] != nil {
			p.deps = append(p.deps, mentioned.Path())
		}
	}
	slices.Sort(p.deps)
	return nil
}

// pack makes the archive; of hidden packages it holds nothing but the source.
func pack(stamp string, packages, hidden []*hostPackage, predeclared map[string]string) ([]byte, error) {
	m := archive.Manifest{Stamp: stamp, Go: runtime.Version()}
	for _, p := range packages {
		m.Packages = append(m.Packages, archive.Package{Path: p.ImportPath, Name: p.Name, Deps: p.deps})
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	if err := addJSON(w, archive.ManifestFile, m); err != nil {
		return nil, err
	}
	for _, p := range packages {
		if err := addFile(w, archive.ExportFile(p.ImportPath), p.export); err != nil {
			return nil, err
		}
		if err := addJSON(w, archive.DocFile(p.ImportPath), p.docs); err != nil {
			return nil, err
		}
	}
	if err := addJSON(w, archive.DocFile(archive.Predeclared), predeclared); err != nil {
		return nil, err
	}
	for _, p := range slices.Concat(packages, hidden) {
		if archive.HasSource(p.ImportPath) {
			source, err := p.source()
			if err != nil {
				return nil, err
			}
			if err := addJSON(w, archive.SourceFile(p.ImportPath), source); err != nil {
				return nil, err
			}
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// source reads the files of a package. What is interpreted leaves its comments
// here, which are half of it.
func (p *hostPackage) source() (map[string]string, error) {
	files := map[string]string{}
	for _, name := range p.GoFiles {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		var text bytes.Buffer
		if err := (&printer.Config{Mode: printer.RawFormat}).Fprint(&text, fset, f); err != nil {
			return nil, err
		}
		files[name] = text.String()
	}
	return files, nil
}

func addJSON(w *zip.Writer, name string, v any) error {
	content, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return addFile(w, name, content)
}

func addFile(w *zip.Writer, name string, content []byte) error {
	f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return err
}

// Command gen collects what hostpkg knows about packages: export data and
// documentation into exports/packages.zip, symbol tables into the packages
// std, gonum and own. It needs the Go toolchain that will build the kernel and
// is run by `go generate ./kernel/gocell/hostpkg`, from that directory.
//
// Its output depends on nothing but the packages themselves and the platform,
// which GOOS and GOARCH choose as for the go command. Files whose content does
// not change keep their time stamps.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"go/build"
	"os"
	"path/filepath"
	"runtime"
)

func main() {
	root := flag.String("C", ".", "directory of package hostpkg")
	flag.Parse()
	if err := generate(*root); err != nil {
		fmt.Fprintln(os.Stderr, "hostpkg/gen:", err)
		os.Exit(1)
	}
}

func generate(root string) error {
	packages, hidden, err := load()
	if err != nil {
		return err
	}
	if err := addExports(packages); err != nil {
		return err
	}
	if err := addDocs(packages); err != nil {
		return err
	}
	tables := map[string][]file{}
	for _, g := range groups {
		tables[g.name] = tableFiles(g.name, packages)
	}
	stamp := stampOf(packages, tables)
	for _, g := range groups {
		files := append(tables[g.name], setFile(g.name, stamp, packages))
		if err := writeTables(filepath.Join(root, g.name), files); err != nil {
			return err
		}
	}
	predeclared, err := predeclaredDocs()
	if err != nil {
		return err
	}
	archive, err := pack(stamp, packages, hidden, predeclared)
	if err != nil {
		return err
	}
	return writeIfChanged(filepath.Join(root, "exports", "packages.zip"), archive)
}

// file is one generated Go file.
type file struct {
	name string
	text []byte
}

// stampOf identifies a generation: the archive and every table set carry it, so
// that parts of different generations are never used together.
func stampOf(packages []*hostPackage, tables map[string][]file) string {
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), build.Default.GOOS, build.Default.GOARCH)
	for _, p := range packages {
		fmt.Fprintln(h, p.ImportPath, len(p.export))
		h.Write(p.export)
	}
	for _, g := range groups {
		for _, f := range tables[g.name] {
			h.Write(f.text)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// writeTables replaces the generated files of one package.
func writeTables(dir string, files []file) error {
	keep := map[string]bool{}
	for _, f := range files {
		keep[f.name] = true
		if err := writeIfChanged(filepath.Join(dir, f.name), f.text); err != nil {
			return err
		}
	}
	old, err := filepath.Glob(filepath.Join(dir, generatedPrefix+"*.go"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if !keep[filepath.Base(path)] {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeIfChanged writes through a sibling, so that a reader never sees half a
// file.
func writeIfChanged(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, content, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

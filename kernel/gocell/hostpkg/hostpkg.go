// Package hostpkg is everything a Go cell may import: the standard library,
// gonum and the public packages of the workbench. A host may have no Go
// toolchain, so the binary carries all that is known about these packages.
//
// There are three views of one package, made together at build time by the gen
// command from one `go list -export`:
//
//   - [Importer] gives its types to go/types, from export data in a zip archive
//     inside the binary;
//   - [Symbols] gives its functions, variables, types and constants to the
//     engine as reflect values, from Go tables that are linked in;
//   - [Doc] gives its documentation, from the same archive.
//
// All three load a package on its first use, keep it for the life of the
// process, and may be used from several goroutines. What reflection cannot
// reach, generic functions above all, is in the first view but not in the
// second; [Missing] says why.
//
// The archive and the tables are generated, not kept in the repository. A
// binary built without them, or with those of another Go release, says so from
// [Ready] and from every import.
package hostpkg

import (
	"errors"
	"go/types"
	"reflect"
)

// ErrNotBuilt reports a binary that was built before its package data.
var ErrNotBuilt = errors.New("this binary carries no data about Go packages: run make build")

// Ready reports whether the package data is present and fits this binary.
func Ready() error { return ErrNotBuilt }

// Paths lists the import paths of all packages that a cell may import, sorted.
func Paths() []string { return nil }

// Known resolves a package name that a cell uses without importing it, such as
// rand, to an import path, such as math/rand.
func Known(name string) (path string, ok bool) { return "", false }

// Importer gives go/types the packages of [Paths]. Every importer returns the
// same *types.Package for a path, complete and never changed afterwards, so
// that packages may be shared by all cells. Positions are not recorded.
func Importer() types.Importer { return importer{} }

type importer struct{}

func (importer) Import(path string) (*types.Package, error) { return nil, ErrNotBuilt }

// Symbols returns the tables of the given packages and of all packages whose
// types occur in their exported API, ready for yaegi's Interpreter.Use: keyed
// by "path/name", interface wrappers under "_Name", and functions that look
// for methods of their `any` arguments under "." as MapTypes. The maps are the
// caller's own.
func Symbols(paths ...string) (map[string]map[string]reflect.Value, error) {
	return nil, ErrNotBuilt
}

// Missing says why an exported name of a package has no entry in [Symbols],
// as the end of a sentence that begins with the name: "is generic".
func Missing(path, name string) (reason string, missing bool) { return "", false }

// Doc returns the declaration and documentation of an exported name as plain
// text, or of the package itself when name is empty. A method or field of type
// T is T.M.
func Doc(path, name string) (text string, ok bool) { return "", false }

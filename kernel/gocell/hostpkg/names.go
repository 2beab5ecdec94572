package hostpkg

import (
	"go/types"
	"maps"
	"slices"
	"strings"
)

// aliases are import paths under which a package of the workbench stands in
// for another one. It is known by that path alone.
var aliases = map[string]string{
	"github.com/janpfeifer/gonb/gonbui": "forgekernel/kernel/gocell/gonbui",
}

// preferred decides names that several packages share. Without an entry here
// the workbench's own packages come before the standard library and that
// before gonum, then shorter paths before longer ones.
var preferred = map[string]string{
	"draw":     "image/draw",    // gonum's vg/draw goes with plots, where imports are written anyway
	"pprof":    "runtime/pprof", // net/http/pprof is imported for its side effect
	"rand":     "math/rand",     // Intn, Perm, Seed; math/rand/v2 and crypto/rand need an import
	"scanner":  "text/scanner",  // go/scanner reads Go source only
	"template": "text/template", // html/template escapes, which surprises in plain text
}

// index fills paths and names.
func (s *store) index() {
	s.paths = slices.Collect(maps.Keys(s.packages))
	for alias, path := range aliases {
		if i := slices.Index(s.paths, path); i >= 0 {
			s.paths[i] = alias
		}
	}
	slices.Sort(s.paths)
	s.names = map[string]string{}
	for _, path := range s.paths {
		name := s.packages[canonical(path)].Name
		if other, taken := s.names[name]; !taken || before(path, other) {
			s.names[name] = path
		}
	}
	for name, path := range preferred {
		if _, ok := s.packages[path]; ok {
			s.names[name] = path
		}
	}
}

func before(a, b string) bool {
	if ra, rb := rank(a), rank(b); ra != rb {
		return ra < rb
	}
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

func rank(path string) int {
	first, _, _ := strings.Cut(path, "/")
	switch {
	case isOwn(path):
		return 0
	case !strings.Contains(first, "."):
		return 1
	default:
		return 2
	}
}

// isOwn tells our own packages, which bear no dot in their module's name.
func isOwn(path string) bool {
	return strings.HasPrefix(path, "forgekernel/") || aliases[path] != ""
}

// Paths lists the import paths of all packages that a cell may import, sorted.
// It is empty when [Ready] reports an error.
func Paths() []string {
	s, err := open()
	if err != nil {
		return nil
	}
	return slices.Clone(s.paths)
}

// Known resolves a package name that a cell uses without importing it, such as
// rand, to an import path, such as math/rand.
func Known(name string) (path string, ok bool) {
	s, err := open()
	if err != nil {
		return "", false
	}
	path, ok = s.names[name]
	return path, ok
}

// Name is the package name that belongs to an import path of [Paths].
func Name(path string) (name string, ok bool) {
	s, err := open()
	if err != nil {
		return "", false
	}
	p, ok := s.packages[canonical(path)]
	return p.Name, ok
}

// Predeclared reports whether a name means something in every Go file.
func Predeclared(name string) bool { return types.Universe.Lookup(name) != nil }

func canonical(path string) string {
	if p, ok := aliases[path]; ok {
		return p
	}
	return path
}

package gocell

import (
	"fmt"
	"go/types"
	"strings"
	"testing"

	"forgekernel/kernel/gocell/hostpkg"
)

// TestGenericSymbols instantiates every generic function of all packages that a
// cell can import, and every method of their generic types: what a new release
// of Go adds is either there or seen here.
func TestGenericSymbols(t *testing.T) {
	candidates := candidateArguments(t)
	count := 0
	for _, path := range hostpkg.Paths() {
		pkg, err := importer{}.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		var uses []string
		for _, name := range pkg.Scope().Names() {
			obj := pkg.Scope().Lookup(name)
			if !obj.Exported() || !isGenericObject(obj) {
				continue
			}
			args := argumentsFor(obj.Type(), candidates)
			if args == "" {
				t.Errorf("%s.%s: no type arguments fit; the test needs more candidates", path, name)
				continue
			}
			inst := "host." + name + args
			if _, isFunc := obj.(*types.Func); isFunc {
				uses = append(uses, inst)
			}
			if named, ok := obj.Type().(*types.Named); ok {
				for m := range named.Methods() {
					if m.Exported() {
						uses = append(uses, fmt.Sprintf("(*%s).%s", inst, m.Name()))
					}
				}
			}
		}
		for _, use := range uses {
			count++
			s, _ := newTestSession(t, Options{})
			source := fmt.Sprintf("import (\n\"hash\"\n\"strconv\"\nhost %q\n)\nvar (\n_ hash.Hash\n_ *strconv.NumError\n)\n_ = %s\n", path, use)
			if _, err := s.Run(t.Context(), Cell{Name: "cell", ID: 1, Source: source}); err != nil {
				t.Errorf("%s of %s: %s", use, path, errorText(err))
			}
		}
	}
	if count < 75 {
		t.Errorf("only %d generic functions and methods", count)
	}
}

type typeArgument struct {
	text string
	typ  types.Type
}

// candidateArguments are type arguments that constraints may ask for.
func candidateArguments(t *testing.T) []typeArgument {
	t.Helper()
	lookup := func(path, name string) types.Type {
		pkg, err := importer{}.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		return pkg.Scope().Lookup(name).Type()
	}
	integer := types.Typ[types.Int]
	return []typeArgument{
		{"int", integer}, {"float32", types.Typ[types.Float32]}, {"[]int", types.NewSlice(integer)},
		{"map[int]int", types.NewMap(integer, integer)}, {"hash.Hash", lookup("hash", "Hash")},
		{"*strconv.NumError", types.NewPointer(lookup("strconv", "NumError"))},
	}
}

// argumentsFor finds type arguments, as they are written; nothing if none fit.
func argumentsFor(generic types.Type, candidates []typeArgument) string {
	n := generic.(interface{ TypeParams() *types.TypeParamList }).TypeParams().Len()
	var try func(texts []string, args []types.Type) string
	try = func(texts []string, args []types.Type) string {
		if len(args) == n {
			if _, err := types.Instantiate(nil, generic, args, true); err != nil {
				return ""
			}
			return "[" + strings.Join(texts, ", ") + "]"
		}
		for _, c := range candidates {
			if found := try(append(texts, c.text), append(args, c.typ)); found != "" {
				return found
			}
		}
		return ""
	}
	return try(nil, nil)
}

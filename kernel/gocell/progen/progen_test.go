package progen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"testing"

	"forgekernel/kernel/gocell/hostpkg"
)

// TestProgramsCompile checks many programs as the compiler would, and that all
// constructs of the language are in enough of them.
func TestProgramsCompile(t *testing.T) {
	const programs = 300
	found := map[string]int{}
	for seed := range uint64(programs) {
		p := New(seed, 60)
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "program.go", p.Whole(), 0)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		info := &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
			Selections: map[*ast.SelectorExpr]*types.Selection{}, Instances: map[*ast.Ident]types.Instance{},
		}
		conf := types.Config{Importer: hostpkg.Importer(), GoVersion: "go1.26"}
		if _, err := conf.Check("main", fset, []*ast.File{file}, info); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if again := New(seed, 60); again.Whole() != p.Whole() {
			t.Errorf("seed %d gives another program the second time", seed)
		}
		for name := range (&census{info: info, file: file, prefix: p.Prefix}).constructs() {
			found[name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		if found[name] < programs/100 {
			t.Errorf("%s is in %d of %d programs", name, found[name], programs)
		}
		t.Logf("%3d %% %s", found[name]*100/programs, name)
	}
}

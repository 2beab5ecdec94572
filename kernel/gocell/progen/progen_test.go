package progen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"forgekernel/kernel/gocell/hostpkg"
)

// TestProgramsCompile checks many programs as the compiler would.
func TestProgramsCompile(t *testing.T) {
	for seed := range uint64(300) {
		p := New(seed, 60)
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "program.go", p.Whole(), 0)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		conf := types.Config{Importer: hostpkg.Importer(), GoVersion: "go1.26"}
		if _, err := conf.Check("main", fset, []*ast.File{file}, nil); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if again := New(seed, 60); again.Declarations != p.Declarations {
			t.Errorf("seed %d gives another program the second time", seed)
		}
	}
}

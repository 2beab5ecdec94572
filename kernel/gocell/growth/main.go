// Command growth tells what Go cells add to the stripped binary. It builds
// forge as it is, and again with the engine left out: in the packages below
// every function keeps its signature and loses its body, and every type its own
// fields, so that the rest of the workbench compiles as before and the linker
// drops what only they need. What other parts use anyway, html/template and
// gonum for example, stays in both and is not counted.
//
// Run it from the top of the repository: go run ./kernel/gocell/growth
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"forgekernel/kernel/gocell/hostpkg"
)

// The parts of Go cells. Tables come into the binary by hostpkg's blank imports
// and bring the code of the packages that they name.
var (
	tables = []string{"./kernel/gocell/hostpkg/hostpkg.go"}
	engine = []string{
		"./kernel/gocell/*.go", "./kernel/gocell/eval/*.go", "./kernel/gocell/peek/*.go",
		"./kernel/gocell/rtype/*.go", "./kernel/gocell/hostpkg/*.go", "./kernel/dap/*.go",
		"./kernel/notebook/runner/paramtypes.go", // checks parameters as cells are
	}
)

// parameters is the only function that others call by a name that is not exported.
const parameters = "checkTypes"

func main() {
	keep := flag.String("o", "", "directory that keeps the binaries")
	flag.Parse()
	if err := report(*keep); err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

func report(dir string) error {
	if dir == "" {
		tmp, err := os.MkdirTemp("", "growth")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		dir = tmp
	}
	if err := hostpkg.Ready(); err != nil {
		return err
	}
	sizes := map[string]int64{}
	for _, b := range []struct {
		name    string
		without []string
		strip   func(*ast.File)
	}{
		{"forge", nil, nil},
		{"no-packages", tables, dropBlankImports},
		{"no-cells", engine, dropBodies},
	} {
		size, err := build(filepath.Join(dir, b.name), b.without, b.strip)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		sizes[b.name] = size
	}
	row := func(what string, bytes int64) { fmt.Printf("%-34s %6.2f MB\n", what, float64(bytes)/1e6) }
	row("forge, stripped", sizes["forge"])
	row("without Go cells", sizes["no-cells"])
	row("growth", sizes["forge"]-sizes["no-cells"])
	row("  engine, debugger, archive", sizes["no-packages"]-sizes["no-cells"])
	row("  compiled packages of cells", sizes["forge"]-sizes["no-packages"])
	return nil
}

// build links forge with some files replaced by what strip leaves of them, and
// returns its size.
func build(out string, patterns []string, strip func(*ast.File)) (int64, error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	work, err := os.MkdirTemp("", "growth")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(work)
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return 0, err
		}
		if len(files) == 0 {
			return 0, fmt.Errorf("there is no %s here: run it from the top of the repository", pattern)
		}
		for _, file := range files {
			stripped := filepath.Join(work, fmt.Sprint(len(overlay.Replace), ".go"))
			if err := rewrite(file, stripped, strip); err != nil {
				return 0, err
			}
			overlay.Replace[file] = stripped
		}
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return 0, err
	}
	list := filepath.Join(work, "overlay.json")
	if err := os.WriteFile(list, text, 0o644); err != nil {
		return 0, err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-overlay", list, "-ldflags", "-s -w", "-o", out, "./kernel/cmd/forge")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if message, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("go build: %w\n%s", err, message)
	}
	info, err := os.Stat(out)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func rewrite(from, to string, strip func(*ast.File)) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, from, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	strip(file)
	var text bytes.Buffer
	if err := printer.Fprint(&text, fset, file); err != nil {
		return err
	}
	return os.WriteFile(to, text.Bytes(), 0o644)
}

func dropBlankImports(file *ast.File) {
	filterImports(file, func(s *ast.ImportSpec) bool { return s.Name == nil || s.Name.Name != "_" || s.Path.Value == `"embed"` })
}

// dropBodies leaves constants, types without their own fields, and what is
// exported of the rest, functions without their code. Directives, which are
// comments, go with what they are about.
func dropBodies(file *ast.File) {
	dropComments(file)
	file.Decls = slices.DeleteFunc(file.Decls, func(d ast.Decl) bool {
		switch d := d.(type) {
		case *ast.FuncDecl:
			d.Body = &ast.BlockStmt{List: []ast.Stmt{&ast.ExprStmt{X: &ast.CallExpr{
				Fun: ast.NewIdent("panic"), Args: []ast.Expr{&ast.BasicLit{Kind: token.STRING, Value: `"left out"`}},
			}}}}
			return !d.Name.IsExported() && d.Name.Name != parameters
		case *ast.GenDecl:
			switch d.Tok {
			case token.VAR:
				d.Specs = slices.DeleteFunc(d.Specs, func(s ast.Spec) bool { return !s.(*ast.ValueSpec).Names[0].IsExported() })
				return len(d.Specs) == 0
			case token.TYPE:
				for _, s := range d.Specs {
					if t, ok := s.(*ast.TypeSpec).Type.(*ast.StructType); ok {
						t.Fields.List = slices.DeleteFunc(t.Fields.List, func(f *ast.Field) bool {
							return len(f.Names) > 0 && !f.Names[0].IsExported()
						})
					}
				}
			}
		}
		return false
	})
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok {
				used[id.Name] = true
			}
		}
		return true
	})
	filterImports(file, func(s *ast.ImportSpec) bool {
		if s.Name != nil {
			return used[s.Name.Name]
		}
		return used[path.Base(strings.Trim(s.Path.Value, `"`))]
	})
}

func dropComments(file *ast.File) {
	file.Comments = nil
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			d.Doc = nil
		case *ast.GenDecl:
			d.Doc = nil
		}
	}
}

func filterImports(file *ast.File, keep func(*ast.ImportSpec) bool) {
	file.Decls = slices.DeleteFunc(file.Decls, func(d ast.Decl) bool {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			return false
		}
		g.Specs = slices.DeleteFunc(g.Specs, func(s ast.Spec) bool { return !keep(s.(*ast.ImportSpec)) })
		return len(g.Specs) == 0
	})
}

package runner

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"forgekernel/kernel/gocell/hostpkg"
	"forgekernel/kernel/notebook"
)

// checkTypes refuses an assignment that the kernel would refuse, after it had run the
// cells before: a value of another type than the variable's, or a name that no cell
// defines. What the defining cell itself has from cells before it is not known here, and
// neither is whether the value fits then.
func checkTypes(nb *notebook.Notebook, defining int, assignment string) error {
	const head = "package p; func _() {\n"
	begun := head + nb.Cells[defining].Source + "\n"
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", begun+assignment+"\n}", 0)
	if err != nil {
		return errors.New("the value is not a Go expression")
	}
	addImports(f)
	var problem error
	config := types.Config{Importer: hostpkg.Importer(), Error: func(err error) {
		var e types.Error
		if problem != nil || !errors.As(err, &e) || e.Soft || fset.Position(e.Pos).Offset < len(begun) {
			return
		}
		name, undefined := strings.CutPrefix(e.Msg, "undefined: ")
		switch {
		case !undefined:
			problem = errors.New("the value does not fit the variable")
		case !mentioned(nb.Cells[:defining], name):
			problem = fmt.Errorf("%s is not defined", name)
		}
	}}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config.Check("p", fset, []*ast.File{f}, info) // its error is the first of those above
	if problem == nil || strings.HasSuffix(problem.Error(), "is not defined") {
		return problem
	}
	for id, obj := range info.Uses {
		if fset.Position(id.Pos()).Offset == len(begun) {
			return fmt.Errorf("%w, which is of type %s", problem, obj.Type())
		}
	}
	return problem
}

// addImports imports the packages that Go cells use without an import.
func addImports(f *ast.File) {
	decl := &ast.GenDecl{Tok: token.IMPORT}
	var seen []string
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := sel.X.(*ast.Ident)
		if !ok || slices.Contains(seen, id.Name) {
			return true
		}
		if path, known := hostpkg.Known(id.Name); known {
			seen = append(seen, id.Name)
			spec := &ast.ImportSpec{Path: &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(path)}}
			decl.Specs, f.Imports = append(decl.Specs, spec), append(f.Imports, spec)
		}
		return true
	})
	if len(seen) > 0 {
		f.Decls = append([]ast.Decl{decl}, f.Decls...)
	}
}

// mentioned reports whether some code has a name in it.
func mentioned(cells []*notebook.Cell, name string) bool {
	return slices.ContainsFunc(cells, func(c *notebook.Cell) bool {
		return c.Runs() && slices.Contains(strings.FieldsFunc(c.Source, func(r rune) bool {
			return !token.IsIdentifier("x" + string(r))
		}), name)
	})
}

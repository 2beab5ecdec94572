package progen

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"math/rand/v2"
	"strings"
)

// Cells cuts a program into the cells of a notebook, which print together what
// the program prints. Between them are cells that a session must get over: what
// a declaration replaces, declarations that come again, some of them after they
// meant something else, and cells that do not compile.
//
// A cell whose output has a line that begins with Ended is the last to run.
func (p Program) Cells() []Cell {
	n := &notebook{rand: rand.New(rand.NewPCG(p.Seed, 1))}
	n.add(strings.TrimPrefix(Imports, "\n") + Support)
	for i, piece := range p.Pieces {
		n.declare(piece)
		if n.rand.IntN(4) == 0 {
			n.disturb(p.Pieces[:i+1])
		}
	}
	n.add("fuel = 2000")
	for rest := p.Main; len(rest) > 0; {
		k := min(1+n.rand.IntN(4), len(rest))
		n.add("defer caught(" + Ended + ")\n" + strings.Join(rest[:k], ""))
		if rest = rest[k:]; n.rand.IntN(3) == 0 {
			n.disturb(p.Pieces)
		}
	}
	return n.cells
}

// Cell is the source of a cell; one that fails does not compile. Cells with a
// number change nothing in the end, when all with that number run.
type Cell struct {
	Source string
	Fails  bool
	Extra  int
}

// notebook is a list of cells being written.
type notebook struct {
	rand  *rand.Rand
	cells []Cell
	extra int // number of the latest cells that change nothing
}

func (n *notebook) add(source string) { n.cells = append(n.cells, Cell{Source: source}) }

// without adds a group of cells that a program could do without.
func (n *notebook) without(sources ...string) {
	n.extra++
	for _, s := range sources {
		n.cells = append(n.cells, Cell{Source: s, Extra: n.extra})
	}
}

// declare adds a declaration, perhaps after one of the same name that it
// replaces.
func (n *notebook) declare(piece string) {
	for _, d := range declarations(piece) {
		if n.rand.IntN(2) == 0 {
			continue
		}
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Type.TypeParams == nil && d.Name.Name != "init" {
				n.without(pick(n, []string{"func " + d.Name.Name + "() string { return \"old\" }", "var " + d.Name.Name + " = 1"}))
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				n.replaced(spec)
			}
		}
	}
	n.add(piece)
}

func (n *notebook) n(k int) int { return n.rand.IntN(k) }

// replaced declares the names of a specification as something else.
func (n *notebook) replaced(spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		name := spec.Name.Name
		n.without(fmt.Sprintf("type %s struct { old int }\nfunc (x %s) String() string { return fmt.Sprint(x.old) }\nfunc (x *%s) Old() { x.old++ }\nvar _ = fmt.Sprint(%s{1})", name, name, name, name))
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.Name != "_" {
				n.without("var " + name.Name + pick(n, []string{" = \"old\"", " func() int", " [3]string"}))
			}
		}
	}
}

// disturb adds cells that change nothing in the end.
func (n *notebook) disturb(pieces []string) {
	piece := pick(n, pieces)
	switch n.n(4) {
	case 0:
		n.fail("undefinedName()")
	case 1:
		n.fail(hollow(piece, "broken") + "\nvar _ int = \"not an int\"")
	case 2: // functions that panic, then as they were
		if text := hollow(piece, "hollow"); text != "" {
			n.without(text, functions(piece))
		}
	case 3:
		n.without(functions(piece))
	}
}

func (n *notebook) fail(source string) {
	n.extra++
	n.cells = append(n.cells, Cell{source, true, n.extra})
}

// declarations parses a piece.
func declarations(piece string) []ast.Decl {
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+piece, 0)
	if err != nil {
		panic("progen: a piece is no Go: " + err.Error())
	}
	return file.Decls
}

// functions are those of a piece, methods included, but for generic ones, whose
// types would have to come with them.
func functions(piece string) string { return printed(piece, func(*ast.FuncDecl) {}) }

// hollow is the functions of a piece, all of which panic.
func hollow(piece, word string) string {
	return printed(piece, func(d *ast.FuncDecl) {
		call := &ast.CallExpr{Fun: ast.NewIdent("panic"), Args: []ast.Expr{&ast.BasicLit{Kind: token.STRING, Value: `"` + word + `"`}}}
		d.Body = &ast.BlockStmt{List: []ast.Stmt{&ast.ExprStmt{X: call}}}
	})
}

func printed(piece string, change func(*ast.FuncDecl)) string {
	var b bytes.Buffer
	for _, d := range declarations(piece) {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name == "init" || f.Type.TypeParams != nil || isGenericMethod(f) {
			continue
		}
		change(f)
		if err := printer.Fprint(&b, token.NewFileSet(), f); err != nil {
			panic(err)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func isGenericMethod(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return false
	}
	typ := f.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	_, plain := typ.(*ast.Ident)
	return !plain
}

package gocell

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"
	"sync/atomic"

	"forgekernel/kernel/gocell/eval"
)

// What stands before each section so that it parses as a file. Offsets in the
// parsed file are offsets in the cell plus the length of this.
const (
	declPrefix = "package main;"
	stmtPrefix = "package main;func _(){"
	stmtSuffix = "\n}"
)

// text is a source with the files that were parsed from it.
type text struct {
	source *eval.Source
	starts []fileStart
}

type fileStart struct {
	file   *token.File
	prefix int
}

// syntax is a parsed cell.
type syntax struct {
	imports []*ast.ImportSpec
	decls   []ast.Decl // all others, in order
	stmts   []ast.Stmt // the statements at the top level, in order
	listed  bool       // the last statement shows a list of expressions
}

// library holds the texts of one check.
type library struct {
	fset  *token.FileSet
	texts []*text
}

func newLibrary() *library { return &library{fset: newFileSet()} }

// Positions tell go/ssa whether a type is declared within a generic function, and
// it compares those of different cells and packages. No two file sets may
// therefore share positions, nor those of compiled packages, which are low.
const (
	firstPosition = 1 << 40
	positions     = 1 << 32 // of one file set: it may hold a large cell many times over
)

var fileSets atomic.Int64

func newFileSet() *token.FileSet {
	fset := token.NewFileSet()
	fset.AddFile("", firstPosition+int(fileSets.Add(1))*positions, 0)
	return fset
}

// position finds the source and offset of a position.
func (l *library) position(pos token.Pos) (*eval.Source, int, bool) {
	if !pos.IsValid() {
		return nil, 0, false
	}
	for _, t := range l.texts {
		for _, s := range t.starts {
			base, size := s.file.Base(), s.file.Size()
			if int(pos) >= base && int(pos) <= base+size {
				at := int(pos) - base - s.prefix
				return t.source, min(max(at, 0), len(t.source.Text)), true
			}
		}
	}
	return nil, 0, false
}

// parseText parses one wrapped piece of a source.
func (l *library) parseText(t *text, prefix, body, suffix string) (*ast.File, scanner.ErrorList) {
	f, err := parser.ParseFile(l.fset, "", prefix+body+suffix, parser.SkipObjectResolution|parser.AllErrors)
	if f != nil && f.FileStart.IsValid() {
		t.starts = append(t.starts, fileStart{l.fset.File(f.FileStart), len(prefix)})
	}
	all, _ := err.(scanner.ErrorList)
	var errs scanner.ErrorList
	for _, e := range all {
		if e.Msg != "imports must appear before other declarations" { // not in a notebook
			e.Pos.Offset -= len(prefix)
			errs = append(errs, e)
		}
	}
	return f, errs
}

// parseCell parses a whole cell. The errors' offsets are those of the source.
func (l *library) parseCell(src *eval.Source) (*syntax, scanner.ErrorList) {
	t := &text{source: src}
	l.texts = append(l.texts, t)
	list, _ := scan(src.Text)
	cut := splitCell(src.Text, list)
	file, errs := l.parseText(t, declPrefix, dropPackage(src.Text, cut.declarations, list), "")
	syn := &syntax{}
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			for _, spec := range g.Specs {
				syn.imports = append(syn.imports, spec.(*ast.ImportSpec))
			}
			continue
		}
		syn.decls = append(syn.decls, d)
	}
	if cut.hasStatement {
		body, more := l.parseText(t, stmtPrefix, cut.statements, stmtSuffix)
		if s := lastList(list); len(more) > 0 && len(errs) == 0 && s.to > 0 {
			if b, ok := l.parseList(t, cut.statements, s); ok {
				body, more, syn.listed = b, nil, true
			}
		}
		errs = append(errs, more...)
		for _, d := range body.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				syn.stmts = append(syn.stmts, f.Body.List...)
			}
		}
	}
	errs = append(errs, refusedDirectives(src.Text)...)
	return syn, append(errs, l.checkDepth(syn)...)
}

// refusedDirectives finds what a comment asks for that a cell cannot have, and
// without which a variable would be empty.
func refusedDirectives(src string) scanner.ErrorList {
	const embed = "//go:embed "
	if !strings.Contains(src, embed) {
		return nil
	}
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(src))
	s.Init(file, []byte(src), nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return nil
		}
		if tok == token.COMMENT && strings.HasPrefix(text, embed) {
			e := &scanner.Error{Msg: "//go:embed has no files in a cell: read them with os.ReadFile"}
			e.Pos.Offset = file.Offset(pos)
			return scanner.ErrorList{e}
		}
	}
}

// lastList finds the last item of a cell if it may be a list of expressions,
// which Go has no statement for: a, b.
func lastList(list []lexeme) span {
	depth, commas := 0, 0
	var s span
	first := true
	for _, l := range list {
		depth += l.nesting()
		switch l.tok {
		case token.SEMICOLON, token.EOF:
			first = first || depth == 0
			continue
		case token.COMMA:
			if depth == 0 {
				commas++
			}
		case token.ASSIGN, token.DEFINE:
			if depth == 0 {
				commas = -1 << 20
			}
		}
		if first {
			s, commas, first = span{from: l.from}, 0, false
		}
		s.to = l.from + len(l.lit) // of a byte that is no text it is longer
		if l.lit == "" {
			s.to = l.from + len(l.tok.String())
		}
		s.to = min(s.to, list[len(list)-1].from)
	}
	if commas <= 0 {
		return span{}
	}
	return s
}

// parseList parses statements of which the last is a list of expressions: as
// the arguments of the call that shows them.
func (l *library) parseList(t *text, statements string, last span) (*ast.File, bool) {
	before := blank(statements, []span{{last.from, len(statements)}})
	body, errs := l.parseText(t, stmtPrefix, before, stmtSuffix)
	if len(errs) > 0 {
		return nil, false
	}
	only := blank(statements[:last.to], []span{{0, last.from}})
	show, errs := l.parseText(t, stmtPrefix+"_(", only, ")}")
	if len(errs) > 0 {
		return nil, false
	}
	call := onlyCall(show)
	if call == nil || call.Ellipsis.IsValid() {
		return nil, false // its brackets do not match, or it is the end of another call's arguments
	}
	call.Fun = &ast.Ident{NamePos: call.Args[0].Pos(), Name: showName} // in the cell, where the list begins
	into := body.Decls[0].(*ast.FuncDecl).Body
	into.List = append(into.List, &ast.ExprStmt{X: call})
	return body, true
}

// onlyCall returns the call of a name that is all that a file does.
func onlyCall(file *ast.File) *ast.CallExpr {
	list := file.Decls[0].(*ast.FuncDecl).Body.List
	if len(file.Decls) != 1 || len(list) != 1 {
		return nil
	}
	st, ok := list[0].(*ast.ExprStmt)
	if !ok {
		return nil
	}
	call, ok := st.X.(*ast.CallExpr)
	if !ok {
		return nil
	}
	if _, ok := call.Fun.(*ast.Ident); !ok {
		return nil
	}
	return call
}

// dropPackage blanks out a package clause, which a pasted program has.
func dropPackage(src, declarations string, list []lexeme) string {
	for i, l := range list {
		if l.tok != token.PACKAGE || i+1 >= len(list) || declarations[l.from] != 'p' {
			continue
		}
		name := list[i+1]
		end := name.from + len(name.lit)
		if i+2 < len(list) && list[i+2].lit == ";" {
			end = list[i+2].from + 1
		}
		return blank(declarations, []span{{l.from, min(end, len(src))}})
	}
	return declarations
}

// parseDeclarations parses declarations that an earlier cell made.
func (l *library) parseDeclarations(src *eval.Source, pieces []span) []ast.Decl {
	t := &text{source: src}
	l.texts = append(l.texts, t)
	var others []span
	at := 0
	for _, p := range pieces {
		others = append(others, span{at, p.from})
		at = p.to
	}
	kept := blank(src.Text, append(others, span{at, len(src.Text)}))
	file, _ := l.parseText(t, declPrefix, kept, "")
	return file.Decls
}

// span returns the piece of a source that a node covers.
func (l *library) span(n ast.Node) span {
	_, from, _ := l.position(n.Pos())
	_, to, _ := l.position(n.End())
	return span{from, to}
}

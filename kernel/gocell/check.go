package gocell

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"forgekernel/kernel/gocell/eval"
	"forgekernel/kernel/gocell/hostpkg"
)

// Names that no cell can spell.
const (
	mainName = "cell·main" // the function that runs a cell's statements
	showName = "cell·show" // what displays the last expression
	initName = "cell·init" // a cell's func init
)

// check is one cell on its way through the checker.
type check struct {
	s     *Session
	ctx   context.Context // ends what is fetched for the cell
	src   *eval.Source
	lib   *library
	syn   *syntax
	pkg   *types.Package // of the cell
	outer *types.Package // stands for the session's variables, constants and functions
	file  *ast.File
	info  *types.Info
	errs  []types.Error

	imported map[string]string // by the cell: name to path
	dots     []string
	declared map[string]bool // by the cell's declarations, methods excepted
	defines  map[string]bool // by := at the top level
	hoisted  map[string]bool // of those, the ones that the cell's functions use
	hoists   []hoisting
	formerly map[string]*symbol // names under which statements use what they then redefine
	methods  []*method          // declared on types of earlier cells
	peeks    bool               // those types are not to get the methods
	kept     map[string]bool    // types declared again without a change

	decided *atomic.Bool             // the cell is committed, or nobody waits for it
	undo    []func()                 // what a cell that fails after all takes back
	pulled  []*pulled                // declarations of earlier cells, checked along
	broken  []brokenDecl             // those that no longer fit
	outside map[types.Object]*symbol // what the objects of outer stand for

	main     *ast.FuncDecl
	inits    []*ast.FuncDecl
	shown    *ast.Expr // the last expression
	bareLast bool      // it has no value
	quiet    bool      // it prints, its value is of no interest
	errLast  bool      // its last value is an error
}

// newCheck parses a cell and finds out what it declares.
func (s *Session) newCheck(ctx context.Context, src *eval.Source) (*check, []fault) {
	c := &check{s: s, ctx: ctx, src: src, lib: newLibrary(), imported: map[string]string{}, declared: map[string]bool{},
		defines: map[string]bool{}, hoisted: map[string]bool{}, kept: map[string]bool{}, decided: new(atomic.Bool)}
	list, errs := scan(src.Text)
	if len(errs) > 0 { // an unclosed string hides the brackets behind it
		return c, syntaxFaults(src, errs)
	}
	if b := unmatched(list); b != nil {
		return c, hintSyntax(src, []fault{b.fault(src)})
	}
	syn, errs := c.lib.parseCell(src)
	c.syn = syn
	if len(errs) > 0 {
		return c, syntaxFaults(src, errs)
	}
	return c, c.survey()
}

// survey lists the names that the cell declares.
func (c *check) survey() []fault {
	var faults []fault
	for _, spec := range c.syn.imports {
		faults = append(faults, c.surveyImport(spec)...)
	}
	if at, message := tooMuch(c.syn.nodes(), c.declaredElsewhere); at != nil {
		from := c.lib.span(at).from
		*c.syn = syntax{} // nothing else shall look at it
		return append(faults, fault{at: from, message: message})
	}
	for _, d := range c.syn.decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				c.inits = append(c.inits, d)
			} else if d.Recv == nil && d.Name.Name != "_" {
				c.declared[d.Name.Name] = true
			}
		case *ast.GenDecl:
			c.surveySpecs(d)
		}
	}
	for _, st := range c.syn.stmts {
		if def := definition(st); def != nil {
			for _, l := range def.Lhs {
				if id, ok := l.(*ast.Ident); ok && id.Name != "_" {
					c.defines[id.Name] = true
				}
			}
		}
	}
	for name := range c.defines {
		if c.declared[name] {
			delete(c.defines, name) // the checker reports it
			c.hoisted[name] = true
		}
	}
	c.keepTypes()
	faults = append(faults, c.hoist()...)
	return append(faults, c.separateMethods()...)
}

func (c *check) surveyImport(spec *ast.ImportSpec) []fault {
	path := strings.Trim(spec.Path.Value, "\"`")
	pkg, err := c.importer().Import(path)
	if err != nil {
		return []fault{c.importFault(spec, path, err)}
	}
	switch {
	case spec.Name == nil:
		c.imported[pkg.Name()] = path
	case spec.Name.Name == ".":
		c.dots = append(c.dots, path)
	case spec.Name.Name != "_":
		c.imported[spec.Name.Name] = path
	}
	return nil
}

func (c *check) surveySpecs(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			for _, id := range spec.Names {
				c.declared[id.Name] = true
			}
		case *ast.TypeSpec:
			c.declared[spec.Name.Name] = true
		}
	}
	delete(c.declared, "_")
}

// definition returns the := statement that a top-level statement is.
func definition(st ast.Stmt) *ast.AssignStmt {
	if a, ok := unlabelled(st).(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
		return a
	}
	return nil
}

// keepTypes drops declarations of types that say what the session's types of
// these names already are: the types then stay the same, and with them the
// values made before.
func (c *check) keepTypes() {
	for _, d := range c.syn.decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		g.Specs = slices.DeleteFunc(g.Specs, func(s ast.Spec) bool {
			spec := s.(*ast.TypeSpec)
			name := spec.Name.Name
			old := c.s.scope.symbols[name]
			if old == nil || old.decl == nil || old.kind != "type" || old.unit != nil || spec.TypeParams != nil {
				return false
			}
			piece := c.lib.span(spec)
			if old.decl.text != normal(c.src.Text[piece.from:piece.to]) || c.touches(freeNames(spec), name) {
				return false
			}
			c.kept[name] = true
			delete(c.declared, name)
			return true
		})
	}
	c.syn.decls = slices.DeleteFunc(c.syn.decls, func(d ast.Decl) bool {
		g, ok := d.(*ast.GenDecl)
		return ok && g.Tok == token.TYPE && len(g.Specs) == 0 && !g.Lparen.IsValid()
	})
}

// touches reports whether names other than self include one that the cell
// declares anew.
func (c *check) touches(used map[string]bool, self string) bool {
	for n := range used {
		if n != self && (c.declared[n] || c.defines[n] || c.imported[n] != "") && !c.kept[n] {
			return true
		}
	}
	return false
}

// normal leaves out differences of layout.
func normal(text string) string {
	var b strings.Builder
	list, _ := scan(text)
	for i, l := range list {
		if l.tok == token.SEMICOLON && list[i+1].tok != token.IDENT || l.tok == token.EOF {
			continue // one that a line break made before a closing bracket
		}
		if l.tok.IsLiteral() {
			b.WriteString(l.lit)
		} else {
			b.WriteString(l.tok.String())
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// run checks the cell, alone first and then, when it changes what earlier
// functions use, together with those.
func (c *check) run() []fault {
	c.pullDependents(c.renewedTypes())
	if faults := c.settle(); len(faults) > 0 {
		return faults
	}
	changed := c.changed()
	if !c.pullDependents(changed) {
		return nil
	}
	if faults := c.hoistChanged(changed); len(faults) > 0 {
		return faults
	}
	return c.settle()
}

// renewedTypes lists the types that the cell declares anew. Their methods are
// checked along with the cell, which may call them.
func (c *check) renewedTypes() map[string]bool {
	list := map[string]bool{}
	for name := range c.declared {
		if c.s.scope.named(name) != nil {
			list[name] = true
		}
	}
	return list
}

// redeclares reports whether the cell itself declares what d declares.
func (c *check) redeclares(d *declaration) bool {
	if d.recv == "" {
		return c.declared[d.name] || c.defines[d.name] || c.hoisted[d.name]
	}
	return slices.ContainsFunc(c.methods, func(m *method) bool { return m.recv == d.recv && m.name == d.name }) ||
		c.declaresMethod(d.recv, d.name) || c.declared[d.recv] && !c.takesMethods(d.recv)
}

func (c *check) declaresMethod(recv, name string) bool {
	return slices.ContainsFunc(c.syn.decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Name.Name == name && receiverBase(f) == recv
	})
}

// takesMethods reports whether the cell declares a type of this name that can
// have methods.
func (c *check) takesMethods(name string) bool {
	for _, d := range c.syn.decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range g.Specs {
			if t, ok := s.(*ast.TypeSpec); ok && t.Name.Name == name {
				_, isInterface := t.Type.(*ast.InterfaceType)
				_, isPointer := t.Type.(*ast.StarExpr)
				return !t.Assign.IsValid() && !isInterface && !isPointer
			}
		}
	}
	return false
}

// once builds the package and runs the checker over it.
func (c *check) once() []fault {
	for {
		c.errs, c.info = nil, newInfo()
		file := c.assemble()
		config := types.Config{Importer: c.importer(), Sizes: sizes, Error: func(err error) {
			if e, ok := err.(types.Error); ok && !c.tolerated(e) {
				c.errs = append(c.errs, e)
			}
		}}
		if crash := checkFiles(&config, c, file); crash != nil {
			return []fault{*crash}
		}
		c.allowCycles()
		if c.shown != nil && !c.bareLast && c.hasNoValue() {
			c.bareLast = true
			continue
		}
		if c.nameFields() {
			continue
		}
		return slices.Concat(c.faults(), c.earlyUses(), c.earlyDeclarations())
	}
}

// checkFiles keeps a fault of the checker from ending the session.
func checkFiles(config *types.Config, c *check, file *ast.File) (crash *fault) {
	defer func() {
		if r := recover(); r != nil {
			if !c.peeks {
				fmt.Fprintf(os.Stderr, "panic in the type checker: %v\n%s", r, debug.Stack())
			}
			crash = &fault{at: -1, message: fmt.Sprintf("internal error: the type checker failed on this cell: %v", r), hint: "try splitting it"}
		}
	}()
	if len(c.methods) > 0 && !c.peeks {
		c.withMethods(config, file)
		return nil
	}
	types.NewChecker(config, c.lib.fset, c.pkg, c.info).Files([]*ast.File{file})
	return nil
}

// tolerated reports whether a notebook has no use for a complaint.
func (c *check) tolerated(e types.Error) bool {
	return strings.HasPrefix(e.Msg, "declared and not used") || strings.HasSuffix(e.Msg, "imported and not used") ||
		strings.Contains(e.Msg, "imported as") && strings.HasSuffix(e.Msg, "and not used") ||
		strings.HasPrefix(e.Msg, "label ") && strings.HasSuffix(e.Msg, "declared and not used")
}

// hasNoValue reports whether the last expression calls something without results.
func (c *check) hasNoValue() bool {
	for _, e := range c.errs {
		if e.Pos >= (*c.shown).Pos() && e.Pos <= (*c.shown).End() && strings.HasSuffix(e.Msg, "(no value) used as value") {
			tv := c.info.Types[*c.shown]
			return tv.IsVoid() || !tv.IsValue()
		}
	}
	return false
}

// importFault tells why an import fails: of a module that is there, because of a
// package that it imports.
func (c *check) importFault(spec *ast.ImportSpec, path string, err error) fault {
	f := fault{at: c.lib.span(spec.Path).from, message: err.Error()}
	switch {
	case !c.s.mods.covers(path):
		f.hint = importHint(path)
	case !strings.Contains(f.message+" ", path+" "):
		f.message = "package " + path + " cannot be imported: " + f.message
	}
	return f
}

func importHint(path string) string {
	base := path[strings.LastIndex(path, "/")+1:]
	if known, ok := hostpkg.Known(base); ok && known != path {
		return "did you mean \"" + known + "\"?"
	}
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
		return "%goget fetches modules: write %goget and the path of its module above, with @v1.2.3 or @latest"
	}
	return ""
}

package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"forgekernel/forge/spelling"
	"forgekernel/kernel/gocell/hostpkg"
	"forgekernel/kernel/gocell/peek"
)

// hint says what may be meant by something that does not type-check.
func (c *check) hint(e types.Error) string {
	if name, ok := strings.CutPrefix(e.Msg, "undefined: "); ok {
		return c.hintUndefined(e.Pos, name)
	}
	if m := peek.SessionName.FindStringSubmatch(e.Msg); m != nil {
		if hint := c.twoTypes(e.Msg, m[1]); hint != "" {
			return hint
		}
	}
	switch {
	case strings.Contains(e.Msg, "has no field or method"):
		return c.suggestMember(e.Pos)
	case strings.HasPrefix(e.Msg, "invalid operation: cannot indirect") && c.afterStar(e.Pos):
		return "Go has no ** operator; write math.Pow(x, y)"
	case strings.Contains(e.Msg, "*forge.Tensor"):
		return tensorHint(e.Msg)
	case strings.HasPrefix(e.Msg, "invalid argument: index -"):
		return "Go counts from the front: x[len(x)-1] is the last element"
	case strings.Contains(e.Msg, "mismatched types") && strings.Contains(e.Msg, "string") && strings.Contains(e.Msg, " + "):
		return "Go joins strings only: a + fmt.Sprint(b)"
	case strings.HasPrefix(e.Msg, "invalid operation: operator * not defined on") && strings.Contains(e.Msg, "string"):
		return "write strings.Repeat(text, n)"
	case strings.HasPrefix(e.Msg, "no new variables on left side of :="):
		return "a variable that is there is assigned with ="
	case strings.HasPrefix(e.Msg, "too many return values") && c.isTop(e.Pos):
		return "a cell returns nothing; its last expression is shown"
	case strings.HasPrefix(e.Msg, "use of package "):
		name, _, _ := strings.Cut(strings.TrimPrefix(e.Msg, "use of package "), " ")
		return packageHint(name)
	}
	return ""
}

func (c *check) hintUndefined(pos token.Pos, name string) string {
	if pkg, member, ok := strings.Cut(name, "."); ok {
		return c.suggestExported(pkg, member)
	}
	if hint := foreign[name]; hint != "" {
		return hint
	}
	if hint := c.hintLine(pos, name); hint != "" {
		return hint
	}
	if c.isAssigned(pos) {
		return "a new variable is defined with :=, as in " + name + " := …"
	}
	if _, ok := knownPackage(name); ok {
		return packageHint(name)
	}
	return c.suggest(pos, name)
}

// hintLine says what else a line may be that begins with an unknown name, or that
// gives one to an exclamation mark.
func (c *check) hintLine(pos token.Pos, name string) string {
	src, at, ok := c.lib.position(pos)
	if !ok {
		return ""
	}
	line := lineAt(src, at)
	if captured.MatchString(line) && strings.HasSuffix(strings.TrimRight(src.Text[:at], " \t"), "!") {
		return captureHint
	}
	if strings.HasPrefix(strings.TrimSpace(line), name) {
		return commandHint(line)
	}
	return ""
}

// isTop reports whether a place is in the statements of the cell, outside of its functions.
func (c *check) isTop(pos token.Pos) bool {
	top := false
	for _, st := range c.syn.stmts {
		if st.Pos() <= pos && pos <= st.End() {
			top = true
			ast.Inspect(st, func(n ast.Node) bool {
				f, ok := n.(*ast.FuncLit)
				top = top && !(ok && f.Pos() <= pos && pos <= f.End())
				return top
			})
		}
	}
	return top
}

func packageHint(name string) string { return name + " is a package; write " + name + ".Name" }

// isAssigned reports whether a top-level statement assigns to the name at pos.
func (c *check) isAssigned(pos token.Pos) bool {
	found := false
	for _, st := range c.syn.stmts {
		ast.Inspect(st, func(n ast.Node) bool {
			a, ok := n.(*ast.AssignStmt)
			found = found || ok && a.Tok == token.ASSIGN && slices.ContainsFunc(a.Lhs, func(l ast.Expr) bool {
				_, name := l.(*ast.Ident)
				return name && l.Pos() == pos
			})
			return true
		})
	}
	return found
}

// afterStar reports whether the operand at pos follows "**".
func (c *check) afterStar(pos token.Pos) bool {
	src, at, ok := c.lib.position(pos)
	if !ok {
		return false
	}
	before := strings.TrimRight(src.Text[:at], " *")
	return strings.HasPrefix(strings.TrimLeft(src.Text[len(before):], " "), "**")
}

// tensorHint says how Go cells work with tensors.
func tensorHint(msg string) string {
	switch {
	case strings.Contains(msg, "as *forge.Tensor value") && strings.Contains(msg, "[]"):
		return "forge.From(values, shape...) makes a tensor of a []float64"
	case strings.Contains(msg, "as *forge.Tensor value") && (strings.Contains(msg, "int") || strings.Contains(msg, "float")):
		return "forge.Scalar(3) makes a tensor of one number"
	case strings.HasPrefix(msg, "invalid operation: cannot index"), strings.HasPrefix(msg, "cannot index"):
		return "write t.At(i), with one index for each dimension"
	case strings.HasPrefix(msg, "invalid operation: "):
		return "Go has no operators on tensors; write a def cell: operators work on tensors in ForgeScript"
	}
	return ""
}

// suggestExported finds a member of a package that may be meant.
func (c *check) suggestExported(name, member string) string {
	pkg := c.packageNamed(name)
	if pkg == nil {
		return ""
	}
	for _, path := range hostpkg.Paths() { // of that name, too: math/rand/v2 for math/rand
		if base, ok := hostpkg.Name(path); !ok || base != name || path == pkg.Path() {
			continue
		}
		if other, err := c.importer().Import(path); err == nil && token.IsExported(member) && other.Scope().Lookup(member) != nil {
			return "import \"" + path + "\" has it"
		}
	}
	exported := slices.DeleteFunc(pkg.Scope().Names(), func(name string) bool { return !token.IsExported(name) })
	return didYouMean(name+".", spelling.Nearest(member, slices.Values(exported)))
}

// suggestMember finds what may be meant by a selector: a field or method, or what Go
// writes for a method of other languages.
func (c *check) suggestMember(pos token.Pos) string {
	found := c.selector(func(sel *ast.SelectorExpr) bool { return sel.Sel.Pos() == pos })
	if found == nil || c.info.Types[found.X].Type == nil {
		return ""
	}
	if hint := methodHint(c.info.Types[found.X].Type, found.Sel.Name); hint != "" {
		return hint
	}
	set := candidates{found: map[string]Candidate{}}
	selectable(c.info.Types[found.X].Type, &set)
	return didYouMean("", spelling.Nearest(found.Sel.Name, maps.Keys(set.found)))
}

// selector finds one of the cell.
func (c *check) selector(is func(*ast.SelectorExpr) bool) (found *ast.SelectorExpr) {
	ast.Inspect(c.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && is(sel) {
			found = sel
		}
		return found == nil
	})
	return found
}

func didYouMean(prefix, name string) string {
	if name == "" {
		return ""
	}
	return "did you mean " + prefix + name + "?"
}

// suggest finds a name in scope that may be meant, or a package where a dot follows.
func (c *check) suggest(pos token.Pos, name string) string {
	known := slices.Concat(slices.Collect(maps.Keys(c.s.scope.symbols)), slices.Collect(maps.Keys(c.declared)),
		slices.Collect(maps.Keys(c.defines)), types.Universe.Names())
	if near := spelling.Nearest(name, slices.Values(known)); near != "" {
		return didYouMean("", near)
	}
	if c.selector(func(sel *ast.SelectorExpr) bool { return sel.X.Pos() == pos }) == nil {
		return ""
	}
	var packages []string
	for _, path := range hostpkg.Paths() {
		if base, ok := hostpkg.Name(path); ok {
			packages = append(packages, base)
		}
	}
	return didYouMean("", spelling.Nearest(name, slices.Values(packages)))
}

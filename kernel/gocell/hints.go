package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

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
	return c.suggest(name)
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

// isTop reports a place in the statements of the cell, outside of its functions.
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

// isAssigned reports that a top-level statement assigns to the name at pos.
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

// afterStar reports an operand that stands behind "**".
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
	path, ok := c.imported[name], true
	if sym := c.s.scope.symbols[name]; path == "" && sym != nil {
		path = sym.path
	}
	if path == "" {
		path, ok = knownPackage(name)
	}
	if !ok {
		return ""
	}
	pkg, err := importer{c.s.mods}.Import(path)
	if err != nil {
		return ""
	}
	best := nearest{to: member}
	for _, candidate := range pkg.Scope().Names() {
		if token.IsExported(candidate) {
			best.try(candidate)
		}
	}
	return best.hint(name + ".")
}

// suggestMember finds a field or method that may be meant by a selector.
func (c *check) suggestMember(pos token.Pos) string {
	var found *ast.SelectorExpr
	ast.Inspect(c.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Pos() == pos {
			found = sel
		}
		return found == nil
	})
	if found == nil || c.info.Types[found.X].Type == nil {
		return ""
	}
	best := nearest{to: found.Sel.Name}
	set := candidates{found: map[string]Candidate{}}
	selectable(c.info.Types[found.X].Type, &set)
	for candidate := range set.found {
		best.try(candidate)
	}
	return best.hint("")
}

// nearest finds the candidate closest to a name: close means that at most a
// third of its letters differ.
type nearest struct {
	to, best string
	distance int
}

func (n *nearest) try(candidate string) {
	a, b := len(n.to), len(candidate)
	if 3*max(a-b, b-a) > min(a, b) { // so many letters differ at least
		return
	}
	d := editDistance(strings.ToLower(n.to), strings.ToLower(candidate))
	if candidate == n.to || 3*d > min(len(n.to), len(candidate)) {
		return
	}
	if n.best == "" || d < n.distance || d == n.distance && (len(candidate) > len(n.best) || len(candidate) == len(n.best) && candidate < n.best) {
		n.best, n.distance = candidate, d
	}
}

func (n *nearest) hint(prefix string) string {
	if n.best == "" {
		return ""
	}
	return "did you mean " + prefix + n.best + "?"
}

// suggest finds a name in scope that may be meant.
func (c *check) suggest(name string) string {
	best := nearest{to: name}
	for candidate := range c.s.scope.symbols {
		best.try(candidate)
	}
	for candidate := range c.declared {
		best.try(candidate)
	}
	for candidate := range c.defines {
		best.try(candidate)
	}
	for _, candidate := range types.Universe.Names() {
		best.try(candidate)
	}
	if best.best == "" {
		for _, path := range hostpkg.Paths() {
			if base, ok := hostpkg.Name(path); ok {
				best.try(base)
			}
		}
	}
	return best.hint("")
}

func editDistance(a, b string) int {
	before := make([]int, len(b)+1) // the row before last
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := slices.Clone(row)
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before = last
	}
	return row[len(b)]
}

package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"forgekernel/kernel/gocell/eval"
	"forgekernel/kernel/gocell/hostpkg"
)

// People who come from Python write Python. Where a faulty line has one of its
// shapes, the error says what Go writes instead.

const defHint = "a cell that starts with def is ForgeScript; put it in a cell of its own"

// habits are shapes of lines that do not parse as Go, the most telling first.
// String literals are empty in what they are matched with.
var habits = []struct {
	shape *regexp.Regexp
	hint  string
}{
	{regexp.MustCompile(`^\s*(async\s+)?def\s+\w+\s*\(`), defHint},
	{regexp.MustCompile(`^\s*@\w`), "Go has no decorators; a cell that starts with def is ForgeScript, other cells are Go"},
	{regexp.MustCompile(`^\s*(from\s+[\w.]+\s+import\b|import\s+\w[\w.]*(\s*,|\s+as\b|\s*$))`),
		`this looks like Python; Go writes import "path", and the standard library, forge, nebula and display need no import`},
	{regexp.MustCompile(`^\s*class\s+\w+.*:`), "this looks like Python; Go writes type Name struct { … } and func (n Name) Method() { … }"},
	{regexp.MustCompile(`\bfor\s+.+\s+in\s+`), "this looks like Python; Go writes for i := range 3 { … } or for i, v := range list { … }"},
	{regexp.MustCompile(`^\s*while\b`), "this looks like Python; Go writes for condition { … }"},
	{regexp.MustCompile(`\S\s+if\s.+\belse\b`), "Go has no conditional expression; write an if statement"},
	{regexp.MustCompile(`^\s*(if\b.*|elif\b.*|else\s*):\s*$`), "this looks like Python; Go writes if condition { … } else { … }"},
	{regexp.MustCompile(`^\s*(try|except|finally|with|raise|assert|del|pass|yield|global|nonlocal)\b`),
		"this looks like Python; a cell that starts with def is ForgeScript, other cells are Go"},
	{regexp.MustCompile(`\blambda\b`), "this looks like Python; Go writes func(x int) int { return x + 1 }"},
	{regexp.MustCompile(`\bf["']`), `this looks like Python; Go writes fmt.Printf("%v\n", x)`},
	{regexp.MustCompile(`[(,]\s*\w+\s*=[^=]`), "Go passes arguments by position, without names"},
	{regexp.MustCompile(`(^|[=(,])\s*\[[^\]]*\]\s*($|[),])`), "this looks like Python; Go writes []int{1, 2, 3}"},
	{regexp.MustCompile(`(^|=)\s*\{.*:.*\}\s*$`), `this looks like Python; Go writes map[string]int{"a": 1}`},
	{regexp.MustCompile(`\b(and|or|not)\b`), "this looks like Python; Go writes && || !"},
	{regexp.MustCompile(`^\s*#`), "Go comments begin with //"},
}

// foreign are names that Python has and Go has not.
var foreign = map[string]string{
	"None":  "Go writes nil",
	"True":  "Go writes true",
	"False": "Go writes false",
	"help":  "write ? behind a name to read about it: fmt.Println?",
	"str":   "Go writes fmt.Sprint(x), or strconv.Itoa(n) for an integer",
	"float": "Go writes float64(x)",
	"list":  "Go writes a slice: []int{1, 2, 3}",
	"dict":  `Go writes a map: map[string]int{"a": 1}`,
	"input": "Go writes bufio.NewReader(os.Stdin).ReadString('\\n')",
	"np":    "this looks like Python; tensors come from package forge",
	"self":  "a Go method names its receiver: func (t T) Method()",
}

var trailing = regexp.MustCompile(`(\S\s*)(#|//).*`)

var literal = regexp.MustCompile(`"([^"\\]|\\.)*"|` + "`[^`]*`")

// shapeHint says what Go writes for a shape that a line has, "" when it has
// none of those known.
func shapeHint(line string) string {
	line = literal.ReplaceAllString(line, `""`)
	line = trailing.ReplaceAllString(line, "$1")
	for _, h := range habits {
		if h.shape.MatchString(line) {
			return h.hint
		}
	}
	return ""
}

// hintSyntax adds what Go writes instead to the first fault of a line that has
// a known shape.
func hintSyntax(src *eval.Source, list []fault) []fault {
	for i, f := range list {
		if strings.Contains(f.message, "rune literal") {
			list[i].hint = `Go writes strings in double quotes: "text"`
			break
		}
		if f.hint == "" && f.at >= 0 {
			if hint := shapeHint(lineAt(src, f.at)); hint != "" {
				list[i].hint = hint
				break
			}
		}
	}
	return list
}

// hint says what may be meant by something that does not type-check.
func (c *check) hint(e types.Error) string {
	if name, ok := strings.CutPrefix(e.Msg, "undefined: "); ok {
		return c.hintUndefined(e.Pos, name)
	}
	if m := sessionType.FindStringSubmatch(e.Msg); m != nil {
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
	if c.isAssigned(pos) {
		return "a new variable is defined with :=, as in " + name + " := …"
	}
	if _, ok := knownPackage(name); ok {
		return packageHint(name)
	}
	return c.suggest(name)
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
	pkg := c.packageNamed(name)
	if pkg == nil {
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
// third of its letters differ. The time to find out grows with the product of the
// lengths, and nobody mistypes a name longer than longestName.
type nearest struct {
	to, best string
	distance int
}

const longestName = 200

func (n *nearest) try(candidate string) {
	if max(len(n.to), len(candidate)) > longestName {
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

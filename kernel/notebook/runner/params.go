package runner

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"forgekernel/kernel/notebook"
)

// ParamsError says why parameters cannot be set.
type ParamsError struct{ Problem string }

// Error is the problem.
func (e *ParamsError) Error() string { return "parameters: " + e.Problem }

// Check says why parameters could not be set, nil if they can.
func Check(nb *notebook.Notebook, params map[string]string) error {
	if len(params) == 0 {
		return nil
	}
	_, _, err := planned(nb, params)
	return err
}

// planned is the source that sets the parameters, and the index of the cell that defines
// them.
func planned(nb *notebook.Notebook, params map[string]string) (defining int, source string, err error) {
	if defining, err = definingCell(nb); err != nil {
		return 0, "", err
	}
	list, err := assignments(nb.Cells[defining].Source, params)
	if err != nil {
		return 0, "", err
	}
	for i, name := range slices.Sorted(maps.Keys(params)) {
		if err := checkTypes(nb, defining, list[i]); err != nil {
			return 0, "", &ParamsError{fmt.Sprintf("%s=%s: %v", name, params[name], err)}
		}
	}
	return defining, "// Parameters of this run\n" + strings.Join(list, "\n"), nil
}

// definingCell is the index of the cell that defines the parameters.
func definingCell(nb *notebook.Notebook) (int, error) {
	index := slices.IndexFunc(nb.Cells, func(c *notebook.Cell) bool {
		return c.Type == notebook.Code && c.HasTag(TagParameters)
	})
	if index < 0 {
		return 0, &ParamsError{"no cell of the notebook is tagged " + TagParameters}
	}
	return index, nil
}

// inject puts a cell that assigns the parameters after the one that defines
// them, in place of what an earlier run put there. It changes nothing when it
// fails.
func inject(nb *notebook.Notebook, params map[string]string) error {
	if len(params) == 0 {
		return nil
	}
	index, source, err := planned(nb, params)
	if err != nil {
		return err
	}
	cell := &notebook.Cell{
		Type: notebook.Code, Source: source,
		Metadata: map[string]any{"tags": []any{TagInjected}},
	}
	defining := nb.Cells[index]
	nb.Cells = slices.DeleteFunc(nb.Cells, func(c *notebook.Cell) bool { return c.HasTag(TagInjected) })
	nb.Insert(slices.Index(nb.Cells, defining)+1, cell)
	return nil
}

// assignments are lines of Go that set the parameters, by name. Assigning, rather than
// defining anew, keeps the types of the variables.
func assignments(defining string, params map[string]string) (lines []string, err error) {
	defaults, err := variables(defining)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		def, ok := defaults[name]
		if !ok {
			known := cmp.Or(strings.Join(slices.Sorted(maps.Keys(defaults)), ", "), "none")
			return nil, &ParamsError{fmt.Sprintf("the cell tagged %s has no variable %s; it has %s", TagParameters, name, known)}
		}
		value, err := literal(params[name], def)
		if err != nil {
			return nil, &ParamsError{fmt.Sprintf("%s=%s: %v", name, params[name], err)}
		}
		lines = append(lines, name+" = "+value)
	}
	return lines, nil
}

// literal is a value as Go source for a variable with a default: text for a string is
// quoted unless it already is, and a duration may be written as "5s". A value whose kind
// is plain and another than that of the default is refused; what else does not fit,
// [checkTypes] finds.
func literal(value string, def ast.Expr) (string, error) {
	expr, err := parser.ParseExpr(value)
	if err == nil && int(expr.End()-expr.Pos()) != len(strings.TrimSpace(value)) {
		err = errors.New("something follows the expression")
	}
	want, got := kindOf(def), text
	if err == nil {
		got = kindOf(expr)
	}
	switch {
	case want == text && got != text, want == text && err != nil:
		return strconv.Quote(value), nil
	case want == duration:
		if d, problem := time.ParseDuration(value); problem == nil {
			return fmt.Sprintf("time.Duration(%d)", d), nil
		}
	}
	switch {
	case err != nil:
		return "", errors.New("the value is not a Go expression")
	case want == unknown || got == unknown || want == got || want == fraction && got == whole:
		return value, nil
	}
	return "", fmt.Errorf("the value is %s, and the variable %s", got, want)
}

// kind is what an expression plainly is, in words for an error.
type kind string

const (
	unknown  kind = ""
	text     kind = "text"
	whole    kind = "a whole number"
	fraction kind = "a number with a fraction"
	letter   kind = "a character"
	truth    kind = "true or false"
	duration kind = "a duration"
)

// kinds are those of literals, and of names that are types or constants.
var kinds = map[token.Token]kind{token.STRING: text, token.INT: whole, token.FLOAT: fraction, token.CHAR: letter}

var kindsOfNames = map[string]kind{
	"string": text, "bool": truth, "true": truth, "false": truth, "float64": fraction, "float32": fraction,
	"int": whole, "int64": whole, "int32": whole, "uint64": whole, "uint32": whole,
}

// kindOf is the kind of a value, or of the values of a type.
func kindOf(e ast.Expr) kind {
	switch e := e.(type) {
	case *ast.BasicLit:
		return kinds[e.Kind]
	case *ast.Ident:
		return kindsOfNames[e.Name]
	case *ast.ParenExpr:
		return kindOf(e.X)
	case *ast.UnaryExpr:
		if e.Op == token.SUB || e.Op == token.ADD {
			return kindOf(e.X)
		}
	case *ast.CallExpr:
		return kindOf(e.Fun)
	case *ast.SelectorExpr:
		return kindOfSelector(e)
	case *ast.BinaryExpr:
		if x, y := kindOf(e.X), kindOf(e.Y); x == duration || y == duration {
			return duration
		}
	}
	return unknown
}

// kindOfSelector knows units of time, and their type.
func kindOfSelector(e *ast.SelectorExpr) kind {
	if pkg, ok := e.X.(*ast.Ident); !ok || pkg.Name != "time" {
		return unknown
	}
	switch e.Sel.Name {
	case "Duration", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour":
		return duration
	}
	return unknown
}

// variables lists the variables that a cell defines, with the expression of the
// initial value, or of the type where there is none.
func variables(source string) (map[string]ast.Expr, error) {
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p; func _() {\n"+source+"\n}", 0)
	if err != nil {
		return nil, &ParamsError{"the cell tagged " + TagParameters + " must hold nothing but definitions of Go variables"}
	}
	found := map[string]ast.Expr{}
	for _, stmt := range f.Decls[0].(*ast.FuncDecl).Body.List {
		switch s := stmt.(type) {
		case *ast.AssignStmt:
			addAssigned(found, s)
		case *ast.DeclStmt:
			if d := s.Decl.(*ast.GenDecl); d.Tok == token.VAR {
				addDeclared(found, d)
			}
		}
	}
	return found, nil
}

func addAssigned(found map[string]ast.Expr, s *ast.AssignStmt) {
	for i, lhs := range s.Lhs {
		if id, ok := lhs.(*ast.Ident); ok && s.Tok == token.DEFINE && len(s.Lhs) == len(s.Rhs) {
			found[id.Name] = s.Rhs[i]
		}
	}
}

func addDeclared(found map[string]ast.Expr, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		for i, id := range v.Names {
			switch {
			case len(v.Values) == len(v.Names):
				found[id.Name] = v.Values[i]
			case v.Type != nil:
				found[id.Name] = v.Type
			}
		}
	}
}

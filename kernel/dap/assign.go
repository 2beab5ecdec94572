package dap

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"

	"forgekernel/kernel/gocell"
)

// assignment is what the debug console takes beside expressions.
type assignment struct {
	variable, value string
	op              token.Token
}

// parseAssignment reads "a.b = 1", "a.b += 1" or "a.b++".
func parseAssignment(text string) (assignment, bool) {
	const before = "package p\nfunc _() {\n"
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", before+text+"\n}", parser.SkipObjectResolution)
	if err != nil || len(file.Decls) != 1 {
		return assignment{}, false
	}
	body := file.Decls[0].(*ast.FuncDecl).Body.List
	if len(body) != 1 {
		return assignment{}, false
	}
	of := func(n ast.Node) string {
		from, to := fset.Position(n.Pos()).Offset, fset.Position(n.End()).Offset
		return text[from-len(before) : to-len(before)]
	}
	switch st := body[0].(type) {
	case *ast.AssignStmt:
		if len(st.Lhs) == 1 && len(st.Rhs) == 1 && st.Tok != token.DEFINE {
			return assignment{variable: of(st.Lhs[0]), op: st.Tok, value: of(st.Rhs[0])}, true
		}
	case *ast.IncDecStmt:
		op := token.ADD_ASSIGN
		if st.Tok == token.DEC {
			op = token.SUB_ASSIGN
		}
		return assignment{variable: of(st.X), op: op, value: "1"}, true
	}
	return assignment{}, false
}

// assign does an assignment and shows what the variable is then, unless finding it
// calls something, which is not to be called again.
func (s *Server) assign(ctx context.Context, text string, call *gocell.Call) (object, error) {
	a, ok := parseAssignment(text)
	if !ok {
		return nil, fmt.Errorf("the console takes a Go expression or an assignment to one variable that there is, such as x = 2, and not %q", text)
	}
	err := inTime(ctx, func(ctx context.Context) error {
		return s.opts.Session.Assign(ctx, a.variable, a.op, a.value, call)
	})
	if err != nil {
		return nil, err
	}
	if a.variable == "_" || calls(a.variable) {
		return object{"value": "", "variablesReference": 0}, nil
	}
	return s.shown(ctx, a.variable, call)
}

package cell

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"forgekernel/display"
	"forgekernel/kernel/gocell"
	"forgekernel/kernel/gocell/eval"
	"forgekernel/kernel/gocell/peek"
)

// Go is the session's Go half, which a debugger looks into.
func (in *Interp) Go() *gocell.Session { return in.golang }

// StopLines lists the lines of a cell on which a Go statement begins that a
// debugger can halt before.
func (in *Interp) StopLines(code string) []int {
	p := split(code)
	for p.magic != nil {
		m := lookup(p.magic.name)
		if m == nil || !m.code {
			return nil
		}
		p = p.inner()
		p.lang = m.lang
	}
	if p.language() != Go || p.line > len(p.body) {
		return nil
	}
	return gocell.StopLines(p.body[p.line-1:], p.line)
}

// debugTime bounds an expression of %debug.
const debugTime = 10 * time.Second

// magicDebug is %debug.
func (t *task) magicDebug(c call) Outcome {
	failed, calls := t.in.golang.Panicked()
	if failed == nil {
		return Outcome{Err: t.usage(c.directive, "it shows the variables of the latest panic", "no cell has panicked")}
	}
	number, expr, _ := strings.Cut(c.args, " ")
	k, err := strconv.Atoi(number)
	if err != nil {
		k, expr = 0, c.args
	}
	switch {
	case c.args == "":
		fmt.Fprintln(t.stdout(), failed.Error())
		return shown(t.look(func(w eval.World) display.Table { return callTable(calls, w) }))
	case k < 0 || k >= len(calls):
		return Outcome{Err: t.usage(c.directive, "%debug lists the calls", "the panic has no call %d", k)}
	case strings.TrimSpace(expr) == "":
		return shown(t.look(func(w eval.World) display.Table { return variableTable(calls[k], w) }))
	}
	ctx, cancel := context.WithTimeout(t.ctx, debugTime)
	defer cancel()
	result, err := t.in.golang.Render(ctx, strings.TrimSpace(expr), &calls[k])
	if err != nil {
		return Outcome{Err: err}
	}
	return Outcome{Result: &result.Bundle}
}

// look makes a table of values while nothing changes them.
func (t *task) look(table func(eval.World) display.Table) (out display.Table) {
	t.in.golang.Debugger().Hold(t.ctx, func(w eval.World) { out = table(w) })
	return out
}

func callTable(calls []gocell.Call, w eval.World) display.Table {
	table := display.Table{Columns: []display.Column{{Name: "call"}, {Name: "place"}, {Name: "function"}, {Name: "variables"}}}
	for i, c := range calls {
		var vars []string
		for _, v := range c.Variables() {
			vars = append(vars, v.Name+"="+valueText(v, w))
		}
		table.Rows = append(table.Rows, []any{i, fmt.Sprintf("%s:%d", c.Cell, c.Line), c.Func, strings.Join(vars, ", ")})
	}
	return table
}

func variableTable(c gocell.Call, w eval.World) display.Table {
	table := display.Table{Title: fmt.Sprintf("%s:%d %s", c.Cell, c.Line, c.Func),
		Columns: []display.Column{{Name: "name"}, {Name: "type"}, {Name: "value"}}}
	for _, v := range c.Variables() {
		table.Rows = append(table.Rows, []any{v.Name, v.Type, valueText(v, w)})
	}
	return table
}

func valueText(v gocell.Variable, w eval.World) string {
	switch {
	case v.Gone:
		return "?"
	case !w.Still:
		return "(a cell runs)"
	}
	return peek.Text(v.Value, w.Maps())
}

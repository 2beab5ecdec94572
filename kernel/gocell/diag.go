package gocell

import (
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"forgekernel/display"
	"forgekernel/kernel/gocell/eval"
	"forgekernel/kernel/gocell/peek"
)

// fault is a problem in a source.
type fault struct {
	src     *eval.Source // nil means the cell's own
	at      int          // offset in bytes; -1 when it has no place
	message string
	hint    string
}

// position turns an offset into a line of the notebook cell and a column in
// code points, both from 1.
func position(src *eval.Source, at int) (line, col int) {
	before := src.Text[:min(max(at, 0), len(src.Text))]
	start := strings.LastIndexByte(before, '\n') + 1
	return src.Line + strings.Count(before, "\n"), utf8.RuneCountInString(before[start:]) + 1
}

// lineAt returns the source line around an offset.
func lineAt(src *eval.Source, at int) string {
	at = min(max(at, 0), len(src.Text))
	start := strings.LastIndexByte(src.Text[:at], '\n') + 1
	line, _, _ := strings.Cut(src.Text[start:], "\n")
	return strings.TrimSuffix(line, "\r")
}

// diagnostic describes a fault for people.
func (f fault) diagnostic(cell *eval.Source) display.Diagnostic {
	src := f.src
	if src == nil {
		src = cell
	}
	d := display.Diagnostic{Source: src.Name, Message: f.message, Hint: f.hint}
	if f.at < 0 {
		return d
	}
	d.Line, d.Col = position(src, f.at)
	d.Text = lineAt(src, f.at)
	d.EndCol = d.Col + tokenWidth(src.Text[min(f.at, len(src.Text)):])
	return d
}

// tokenWidth is the length of the first token in code points, at least 1.
func tokenWidth(text string) int {
	line, _, _ := strings.Cut(text, "\n")
	list, _ := scan(line)
	if list[0].lit != "" && list[0].from == 0 {
		return max(1, utf8.RuneCountInString(list[0].lit))
	}
	if op := list[0].tok.String(); list[0].from == 0 && list[0].tok != token.EOF {
		return max(1, len(op))
	}
	return 1
}

// compileError lists faults in the order of the source, one a place.
func (c *check) compileError(faults []fault) error {
	slices.SortStableFunc(faults, func(a, b fault) int { return a.at - b.at })
	e := &CompileError{}
	last := -2
	for _, f := range faults {
		if f.at == last && f.at >= 0 {
			continue
		}
		last = f.at
		e.Diagnostics = append(e.Diagnostics, f.diagnostic(c.src))
	}
	return e
}

// syntaxFaults makes the parser's complaints readable, one a line.
func syntaxFaults(src *eval.Source, errs scanner.ErrorList) []fault {
	var list []fault
	seen := map[int]bool{}
	for _, e := range errs {
		at := min(max(e.Pos.Offset, 0), len(src.Text))
		line, _ := position(src, at)
		if seen[line] || len(list) > 0 && at >= len(strings.TrimRight(src.Text, " \t\n")) {
			continue // what follows from the fault before
		}
		seen[line] = true
		if at >= len(strings.TrimRight(src.Text, " \t\n")) { // the } is that of the function around the statements
			e.Msg = strings.Replace(e.Msg, "found '}'", "found 'EOF'", 1)
		}
		list = append(list, fault{at: at, message: "syntax error: " + syntaxMessage(e.Msg)})
	}
	return hintSyntax(src, list)
}

func syntaxMessage(msg string) string {
	msg = strings.Replace(msg, "found newline", "found the end of the line", 1)
	return strings.Replace(msg, "found 'EOF'", "found the end of the cell", 1)
}

// Positions within messages are those of what the parser saw.
var declaredAt = regexp.MustCompile(` \(declared at [^)]*\)`)

// maxFaults bounds what is reported of one cell.
const maxFaults = 50

// faults turns what the checker found into faults.
func (c *check) faults() []fault {
	var list []fault
	for _, e := range c.errs {
		if len(list) == maxFaults {
			break
		}
		if strings.HasPrefix(e.Msg, "\t") { // a note to the error before
			continue
		}
		f := fault{at: -1, message: c.message(e.Msg), hint: c.hint(e)}
		if name, ok := strings.CutPrefix(e.Msg, "undefined: "); ok && c.s.scope.symbols[name] != nil {
			if why := c.unusable(c.s.scope.symbols[name]); why != "" {
				f.message, f.hint = why, "run its cell again with a version that fits"
			}
		}
		if src, at, ok := c.lib.position(e.Pos); ok {
			f.src, f.at = src, at
		}
		list = append(list, f)
	}
	return c.foreignLine(list)
}

// foreignLine leaves the only fault that matters when a line is no Go at all,
// although it parses: one that is a command, or a try of Python.
func (c *check) foreignLine(list []fault) []fault {
	for _, f := range list {
		if f.src != c.src {
			continue
		}
		if f.hint == captureHint || f.hint != "" && f.hint == commandHint(lineAt(c.src, f.at)) {
			return []fault{f}
		}
	}
	for _, st := range c.syn.stmts {
		if l, ok := st.(*ast.LabeledStmt); ok && len(list) > 0 && (l.Label.Name == "try" || l.Label.Name == "finally") {
			at := c.lib.span(l).from
			return []fault{{at: at, message: "syntax error: " + l.Label.Name + " is a label here", hint: shapeHint(lineAt(c.src, at))}}
		}
	}
	return list
}

// message says what go/types says in a notebook's terms.
func (c *check) message(msg string) string {
	msg = peek.Unqualified(msg)
	msg = strings.ReplaceAll(msg, " in argument to "+showName, "")
	msg = strings.TrimPrefix(msg, "in call to "+showName+", ")
	msg = strings.ReplaceAll(msg, "·formerly", "")
	msg = declaredAt.ReplaceAllString(msg, "")
	msg = strings.ReplaceAll(msg, "·", ".") // a method checked as a function
	if first, rest, ok := strings.Cut(msg, "\n"); ok {
		msg = first
		if rest = strings.TrimSpace(rest); rest != "" && !strings.Contains(rest, "other declaration of") {
			msg += " (" + strings.Join(strings.Fields(rest), " ") + ")"
		}
	}
	return strings.Replace(msg, "without selector", "without a name from it", 1)
}

// twoTypes explains an error about two types of one name.
func (c *check) twoTypes(msg, name string) string {
	old := c.s.scope.symbols[name]
	mentions := strings.Count(msg, "main."+name)
	if old == nil || mentions == 0 || !strings.HasPrefix(msg, "cannot use") && !strings.Contains(msg, "mismatched types") {
		return ""
	}
	if c.declared[name] {
		return fmt.Sprintf("the %s of %s and the one of this cell are different types", name, old.cell)
	}
	if mentions < 2 {
		return ""
	}
	return fmt.Sprintf("%s was declared again in %s; values made before keep the earlier type", name, old.cell)
}

// runError turns what the engine reports into the session's errors.
func runError(err error) error {
	switch err := err.(type) {
	case *eval.Panic:
		return panicError(err)
	case eval.Exit:
		return &ExitError{Call: err.Call, Code: err.Code}
	case *eval.Stopped:
		return &InterruptError{What: err.What, Trace: frames(err.Trace)}
	}
	return err
}

func panicError(p *eval.Panic) *PanicError {
	return &PanicError{Value: p.Value, Trace: frames(p.Trace), Goroutine: p.Goroutine, Text: p.Text, errors: p.Errors}
}

// What a trace shows at most: of one place of a recursion, and of its two ends.
const (
	maxRepeats = 3
	maxFrames  = 24
	innerPart  = 7
	outerPart  = 6
)

func frames(trace []eval.Location) []Frame {
	trace = fold(trace)
	if len(trace) > maxFrames {
		trace = eval.Shorten(trace, innerPart, outerPart)
	}
	var list []Frame
	for i, l := range trace {
		f := Frame{Cell: l.Source.Name, Func: functionName(l), Text: lineAt(l.Source, l.Offset), Omitted: l.Omitted}
		at := callee(l.Source.Text, l.Offset)
		f.Line, f.Col = position(l.Source, at)
		f.EndCol = f.Col + tokenWidth(l.Source.Text[min(max(at, 0), len(l.Source.Text)):])
		if l.Omitted > 0 && recursive(trace, i) {
			f.OmittedOf = f.Func
		}
		list = append(list, f)
	}
	return list
}

// callee is where the name before a call's parenthesis begins; of anything else it is
// the offset itself.
func callee(text string, at int) int {
	if at <= 0 || at >= len(text) || text[at] != '(' {
		return at
	}
	name := strings.TrimRightFunc(text[:at], isNameRune)
	return len(name)
}

// fold leaves out the repetitions of one place.
func fold(trace []eval.Location) []eval.Location {
	var list []eval.Location
	repeats := 0
	for i, l := range trace {
		omitted := l.Omitted
		l.Omitted = 0
		if i == 0 || l.Source != trace[i-1].Source || l.Offset != trace[i-1].Offset {
			repeats = 0
		}
		if repeats++; repeats <= maxRepeats {
			list = append(list, l)
		} else {
			omitted++
		}
		list[len(list)-1].Omitted += omitted
	}
	return list
}

// recursive reports whether what is left out behind trace[i] seems to be calls
// of one function: those before it are.
func recursive(trace []eval.Location, i int) bool {
	return i > 0 && trace[i].Func == trace[i-1].Func && trace[i].Source == trace[i-1].Source
}

// functionName is empty for the statements of a cell.
func functionName(l eval.Location) string {
	if l.Func == mainName {
		return ""
	}
	return l.Func
}

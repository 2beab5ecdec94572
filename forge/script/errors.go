package script

import (
	"fmt"
	"sort"
	"strings"

	"forgekernel/display"
)

// Errors are the problems of one source, in order of position. It is never
// empty when returned as an error.
type Errors []*display.Diagnostic

// Error lists the problems, one line each.
func (e Errors) Error() string { return e.join((*display.Diagnostic).Error, "\n") }

// Plain is every problem with its source line and caret.
func (e Errors) Plain() string { return e.join((*display.Diagnostic).Plain, "\n\n") }

func (e Errors) join(form func(*display.Diagnostic) string, between string) string {
	parts := make([]string, len(e))
	for i, d := range e {
		parts[i] = form(d)
	}
	return strings.Join(parts, between)
}

// Traceback is every problem as the coloured lines of a Jupyter error message.
func (e Errors) Traceback() []string {
	var lines []string
	for i, d := range e {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, d.Traceback()...)
	}
	return lines
}

// Display shows every problem as an error box.
func (e Errors) Display() display.Bundle {
	boxes := ""
	for _, d := range e {
		html, _ := d.Display().Data["text/html"].(string)
		boxes += html
	}
	b := display.Text(e.Plain())
	if boxes != "" {
		b.Data["text/html"] = boxes
	}
	return b
}

// reporter collects the problems of one source.
type reporter struct {
	src   *Source
	limit int
	errs  Errors
	full  bool // the limit was reached; later problems are dropped
}

// report adds a problem at span. hint says what to write instead.
func (r *reporter) report(span Span, message, hint string, notes ...string) {
	if len(r.errs) >= r.limit {
		r.full = true
		return
	}
	r.errs = append(r.errs, diagnose(r.src, span, message, hint, notes...))
}

// err returns the problems in order of position, or nil.
func (r *reporter) err() error {
	if len(r.errs) == 0 {
		return nil
	}
	sort.SliceStable(r.errs, func(i, j int) bool {
		a, b := r.errs[i], r.errs[j]
		return a.Line < b.Line || a.Line == b.Line && a.Col < b.Col
	})
	if last := r.errs[len(r.errs)-1]; r.full {
		last.Notes = append(last.Notes, fmt.Sprintf("only the first %d problems are shown", r.limit))
	}
	return r.errs
}

// diagnose describes a problem at span of src, cut to the line it starts on.
func diagnose(src *Source, span Span, message, hint string, notes ...string) *display.Diagnostic {
	line, col := src.Position(span.Start)
	text := src.Line(line)
	endLine, endCol := src.Position(span.End)
	if width := len([]rune(text)); endLine != line || endCol > width+1 {
		endCol = width + 1
	}
	if endCol <= col {
		endCol = col + 1
	}
	return &display.Diagnostic{
		Source: src.Name, Line: line, Col: col, EndCol: endCol, Text: text,
		Message: message, Hint: hint, Notes: notes,
	}
}

package cell

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/kernel/cell/shell"
	"forgekernel/kernel/gocell"
	"forgekernel/kernel/link"
	"forgekernel/nebula"
)

// Limits of what an error shows, which code decides: the value of a panic may
// be a string of any size.
const (
	maxErrorText  = 64 << 10 // bytes of one message, and of one line of a traceback
	maxErrorLines = 2000     // lines of a traceback; the first and last are kept
)

// Describe puts an error of a cell into Jupyter's terms.
func Describe(err error) *link.Error {
	e := describe(err)
	e.Value = cut(e.Value)
	if left := len(e.Traceback) - maxErrorLines; left > 0 {
		note := fmt.Sprintf("\x1b[2m … %d lines are left out\x1b[0m", left)
		e.Traceback = slices.Concat(e.Traceback[:maxErrorLines/2], []string{note}, e.Traceback[maxErrorLines/2+left:])
	}
	for i, line := range e.Traceback {
		e.Traceback[i] = cut(line)
	}
	return e
}

// cut shortens a text that is too long to show, and says so. Colours end
// with it.
func cut(s string) string {
	if len(s) <= maxErrorText {
		return s
	}
	n := maxErrorText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	reset := ""
	if strings.Contains(s[:n], "\x1b[") {
		reset = "\x1b[0m"
	}
	return fmt.Sprintf("%s%s… %d bytes more", s[:n], reset, len(s)-n)
}

func describe(err error) *link.Error {
	e := &link.Error{Name: "Error", Value: err.Error()}
	for _, describes := range descriptions {
		if describes(err, e) {
			break
		}
	}
	if e.Traceback == nil {
		e.Traceback = []string{heading(e.Value)}
	}
	return e
}

// descriptions are those of the errors that have names and tracebacks of their own. The first that
// an error is or wraps counts.
var descriptions = []func(error, *link.Error) bool{
	named("CompileError", func(own *gocell.CompileError, e *link.Error) {
		e.Value, e.Traceback = diagnostics(pointers(own.Diagnostics))
	}),
	named("ForgeScriptError", func(own forge.Errors, e *link.Error) { e.Value, e.Traceback = diagnostics(own) }),
	thrown("CallError", func(own *forge.CallError, e *link.Error) { e.Value, e.Traceback = own.Message, own.Traceback() }),
	thrown("NebulaError", func(own *nebula.Error, e *link.Error) { e.Value, e.Traceback = own.Message, own.Traceback() }),
	named("panic", func(own *gocell.PanicError, e *link.Error) {
		e.Traceback = append([]string{heading(own.Error())}, frames(own.Trace)...)
	}),
	named("Exit", func(*gocell.ExitError, *link.Error) {}),
	named("Interrupt", func(own *gocell.InterruptError, e *link.Error) {
		e.Traceback = append([]string{heading(own.Error())}, frames(own.Trace)...)
	}),
	named("Interrupt", func(*InterruptError, *link.Error) {}),
	named("UsageError", func(own *UsageError, e *link.Error) { e.Value, e.Traceback = own.Message, own.Traceback() }),
	named("CommandError", func(*shell.ExitError, *link.Error) {}),
	named("InternalError", func(own *InternalError, e *link.Error) {
		e.Traceback = append([]string{heading(own.Error())}, strings.Split(string(own.Stack), "\n")...)
	}),
}

// named describes the errors of one type.
func named[E error](name string, describe func(E, *link.Error)) func(error, *link.Error) bool {
	return func(err error, e *link.Error) bool {
		var own E
		if !errors.As(err, &own) {
			return false
		}
		e.Name = name
		describe(own, e)
		return true
	}
}

// thrown describes errors that are often the value of a panic in Go code, whose calls
// are then shown as well.
func thrown[E error](name string, describe func(E, *link.Error)) func(error, *link.Error) bool {
	own := named(name, describe)
	return func(err error, e *link.Error) bool {
		if !own(err, e) {
			return false
		}
		var panicked *gocell.PanicError
		if errors.As(err, &panicked) {
			e.Traceback = append(e.Traceback, frames(panicked.Trace)...)
		}
		return true
	}
}

// InternalError is a panic of the kernel's own code; the session goes on.
type InternalError struct {
	Value any
	Stack []byte
}

// Recovered makes an InternalError of a value that recover returned, in the
// deferred function that called it.
func Recovered(value any) *InternalError {
	return &InternalError{Value: value, Stack: debug.Stack()}
}

func (e *InternalError) Error() string {
	return fmt.Sprintf("internal error: %v", e.Value)
}

func pointers(list []display.Diagnostic) []*display.Diagnostic {
	out := make([]*display.Diagnostic, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// diagnostics returns the first message and the whole list as a traceback.
func diagnostics(list []*display.Diagnostic) (value string, traceback []string) {
	for i, d := range list {
		if i == 0 {
			value = d.Message
		} else {
			traceback = append(traceback, "")
		}
		traceback = append(traceback, d.Traceback()...)
	}
	return value, traceback
}

// frames lists calls of user code, innermost first.
func frames(trace []gocell.Frame) []string {
	var lines []string
	for _, f := range trace {
		place := fmt.Sprintf("\x1b[2m --> %s:%d:%d", f.Cell, f.Line, f.Col)
		if f.Func != "" {
			place += " in " + f.Func
		}
		lines = append(lines, place+"\x1b[0m")
		if f.Text != "" {
			line := display.Diagnostic{Line: f.Line, Col: f.Col, EndCol: f.EndCol, Text: f.Text}
			lines = append(lines, line.Excerpt()...)
		}
		if f.Omitted > 0 {
			lines = append(lines, "\x1b[2m"+omitted(f)+"\x1b[0m")
		}
	}
	return lines
}

func omitted(f gocell.Frame) string {
	text := fmt.Sprintf("  … %d more calls", f.Omitted)
	if f.OmittedOf != "" {
		text += " of " + f.OmittedOf
	}
	return text
}

func heading(message string) string { return "\x1b[1;31m" + message + "\x1b[0m" }

// note adds to an error of Go code what a person may have meant who wrote a
// directive below code.
func note(err error) error {
	var compile *gocell.CompileError
	if !errors.As(err, &compile) {
		return err
	}
	for i := range compile.Diagnostics {
		d := &compile.Diagnostics[i]
		if _, ok := parseDirective(strings.TrimRight(d.Text, " \t\r")); ok {
			d.Notes = append(d.Notes, "magics, !commands and name? stand above the code of a cell; give this line a cell of its own")
		}
	}
	return err
}

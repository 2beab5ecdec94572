package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/forge/ir"
	"forgekernel/kernel/notebook/terminal"
)

// Exit statuses.
const (
	exitFailure = 1
	exitUsage   = 2
)

// usageError is a wrong command line: the person, not the program, must change
// something.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exitStatus ends the process with a status and no further message.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// report prints the error of a command for a person and returns the exit status.
func report(w io.Writer, cmd *cobra.Command, err error) int {
	var status exitStatus
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &usage):
		fmt.Fprintf(w, "forge: %s\nRun '%s --help' for usage.\n", plainly(err), cmd.CommandPath())
		return exitUsage
	}
	if list := diagnostics(err); list != nil {
		printDiagnostics(w, list)
	} else {
		fmt.Fprintf(w, "forge: %s\n", plainly(err))
	}
	return exitFailure
}

// plainly is the text of an error with the file first where the system refuses one:
// what was tried with it is of no use to a person.
func plainly(err error) string {
	text := err.Error()
	for _, e := range pathErrors(err) {
		text = strings.ReplaceAll(text, e.Error(), e.Path+": "+e.Err.Error())
	}
	return text
}

// pathErrors are those that an error consists of.
func pathErrors(err error) []*fs.PathError {
	switch e := err.(type) {
	case nil:
		return nil
	case *fs.PathError:
		return []*fs.PathError{e}
	case *os.LinkError:
		return []*fs.PathError{{Op: e.Op, Path: e.Old + " " + e.New, Err: e.Err}} // as it says them
	case interface{ Unwrap() []error }:
		var list []*fs.PathError
		for _, part := range e.Unwrap() {
			list = append(list, pathErrors(part)...)
		}
		return list
	case interface{ Unwrap() error }:
		return pathErrors(e.Unwrap())
	}
	return nil
}

// diagnostics are the problems in a program that an error consists of, if it
// does.
func diagnostics(err error) []*display.Diagnostic {
	var list forge.Errors
	var call *forge.CallError
	var text *ir.SyntaxError
	var one *display.Diagnostic
	switch {
	case errors.As(err, &list):
		return list
	case errors.As(err, &call):
		return []*display.Diagnostic{&call.Diagnostic}
	case errors.As(err, &text):
		return []*display.Diagnostic{&text.Diagnostic}
	case errors.As(err, &one):
		return []*display.Diagnostic{one}
	}
	return nil
}

// printDiagnostics shows each problem with its line and a caret, as a notebook
// does.
func printDiagnostics(w io.Writer, list []*display.Diagnostic) {
	for i, d := range list {
		text := d.Plain()
		if terminal.IsScreen(w) {
			text = strings.Join(d.Traceback(), "\n")
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, text)
	}
}

// arguments turns the failure of one of cobra's argument checks into a usage error.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%w; write %s", err, cmd.UseLine())}
		}
		return nil
	}
}

// noArguments refuses any.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("%s takes no argument, and %q is one", cmd.CommandPath(), args[0])}
}

// oneArgument demands exactly one argument, called what.
func oneArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usageError{fmt.Errorf("%s needs a %s", cmd.CommandPath(), what)}
		case len(args) > 1:
			return usageError{fmt.Errorf("%s takes one %s, and %q is one too many", cmd.CommandPath(), what, args[1])}
		}
		return nil
	}
}

// wanted says what flags of a type take.
var wanted = map[string]string{
	"uint64":   "a whole number that is not negative",
	"int":      "a whole number",
	"intSlice": "whole numbers such as 1,4,16",
	"float64":  "a number",
	"duration": "a duration such as 90s or 5m",
	"bool":     "true or false",
	"k=v":      "k=v, once for each",
}

// flagError explains a flag that cannot be read.
func flagError(err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if errors.Is(err, strconv.ErrRange) {
			return usageError{fmt.Errorf("--%s: %s is too large, or too small", invalid.GetFlag().Name, invalid.GetValue())}
		}
		if what := wanted[invalid.GetFlag().Value.Type()]; what != "" {
			return usageError{fmt.Errorf("--%s takes %s, not %q", invalid.GetFlag().Name, what, invalid.GetValue())}
		}
	}
	return usageError{err}
}

// checkWritable finds out before long work that its result could not be stored
// at path.
func checkWritable(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("cannot write %s: it is a folder", path)
	}
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	switch {
	case err != nil:
	case !info.IsDir():
		err = unix.ENOTDIR
	default:
		err = unix.Access(dir, unix.W_OK|unix.X_OK)
	}
	if err == nil {
		return nil
	}
	if wrapped := (*fs.PathError)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("cannot write %s: %s: %w", path, dir, err)
}

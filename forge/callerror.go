package forge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/script"
)

// CallError is a call that cannot be made: a wrong number of arguments, shapes
// that do not fit, a limit. It points at the ForgeScript expression where that
// shows, if there is one, and displays itself as an error box.
type CallError struct {
	display.Diagnostic
	Function string // the name of the function called
	cause    error  // nil when the message is all there is
}

// Unwrap is the error that the call failed with, if it was another's.
func (e *CallError) Unwrap() error { return e.cause }

func diagnostic(message, hint string) display.Diagnostic {
	return display.Diagnostic{Message: message, Hint: hint}
}

// callError describes why a call of f with the given specs failed. When ctx
// has ended, its cause is the reason, whatever came of it on the way.
func (f *function) callError(ctx context.Context, err error, specs []Spec) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var scriptErrs script.Errors
	var call *CallError
	switch {
	case errors.As(err, &call):
		return err
	case errors.As(err, &scriptErrs):
		call = &CallError{Diagnostic: *scriptErrs[0]}
	default:
		call = &CallError{Diagnostic: *f.src.Diagnose(f.src.Name.Span, err.Error(), "")}
	}
	call.Function = f.src.Name.Name
	if f.isCall(specs) {
		call.Notes = append(call.Notes, "called as "+f.callText(specs))
	}
	return call
}

// isCall reports whether specs came from a call, and not from the annotations,
// which can be seen.
func (f *function) isCall(specs []Spec) bool {
	annotated, ok := f.src.Specs()
	return len(specs) > 0 && !(ok && slices.EqualFunc(specs, annotated, Spec.Equal))
}

// callText writes a call with the specs of its arguments:
// layer(x: f32[8,16], w: f32[12,16]).
func (f *function) callText(specs []Spec) string {
	args := make([]string, len(specs))
	for i, s := range specs {
		args[i] = s.String()
		if i < len(f.src.Params) {
			args[i] = f.src.Params[i].Name.Name + ": " + args[i]
		}
	}
	return fmt.Sprintf("%s(%s)", f.src.Name.Name, strings.Join(args, ", "))
}

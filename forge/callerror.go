package forge

import (
	"fmt"

	"forgekernel/display"
)

// CallError is a call of a [Function] that cannot be made: a wrong number of
// arguments, shapes that do not fit, a limit. It points at the ForgeScript line
// where that shows, if there is one, and displays itself as an error box.
type CallError struct {
	display.Diagnostic
	Function string // the name of the function called
}

// fail panics with a CallError that has no position in ForgeScript.
func fail(function, format string, args ...any) {
	panic(&CallError{
		Diagnostic: display.Diagnostic{Message: "forge." + function + ": " + fmt.Sprintf(format, args...)},
		Function:   function,
	})
}

package engine

import (
	"fmt"
	"runtime"
	"strings"
)

// protect is deferred where code of others runs: it makes an error of a panic.
func protect(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v, at %s", v, origin())
	}
}

// stackDepth is how many calls of a panic are told.
const stackDepth = 4

// origin is where a panic comes from that the caller of the caller has recovered.
func origin() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var calls []string
	for more := true; more && len(calls) < stackDepth; {
		var f runtime.Frame
		f, more = frames.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") {
			calls = append(calls, fmt.Sprintf("%s (%s:%d)", f.Function, f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line))
		}
	}
	return strings.Join(calls, " < ")
}

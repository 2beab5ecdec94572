package eval

// goroutine tells the calling goroutine from all others that run: it is where the
// runtime describes it. Its number can only be read from a trace, which takes
// longer the deeper the stack is.
func goroutine() uintptr

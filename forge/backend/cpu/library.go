package cpu

import (
	"fmt"
	"runtime"

	"github.com/ebitengine/purego"
)

// library is machine code in this process, unloaded when nothing refers to it.
type library struct {
	handle uintptr
	cached bool   // found compiled
	forget func() // removes it from the cache
}

func open(path string) (*library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("the compiled program does not load: %w", err)
	}
	l := &library{handle: handle}
	runtime.AddCleanup(l, func(h uintptr) { _ = purego.Dlclose(h) }, handle)
	return l, nil
}

// function is the address of a function.
func (l *library) function(name string) (uintptr, error) {
	f, err := purego.Dlsym(l.handle, name)
	if err != nil {
		return 0, fmt.Errorf("the compiled program has no function %s: %w", name, err)
	}
	return f, nil
}

package cpu

import (
	"context"
	_ "embed"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/ebitengine/purego"
)

// teamSource is the C file of a team.
//
//go:embed source/team.c
var teamSource string

// team is some threads that help a run. Its helpers are goroutines that never
// leave one C function until the team is dismissed, so that neither the start nor
// the end of a kernel goes through Go: to hand a kernel to them and back takes
// 0.3 µs while they look for work and 5 µs or more when they sleep, where a
// channel takes 10 to 20. Threads that C code starts would do as well, but those
// of the Go runtime have its signal handlers and stacks, and leave a trace when
// they crash.
type team struct{ address uintptr }

// teams are those in use, by their number of helpers. A process has one of a
// size, whatever runs on it.
var teams struct {
	sync.Mutex
	bySize map[int]weak.Pointer[team]
}

// working is set while a run has a team. Another run meanwhile works alone, as
// two teams would take the processors from each other.
var working atomic.Bool

// errTeam is a lack of memory.
var errTeam = errors.New("there is no memory for threads")

// team returns the helpers of a program. They are dismissed when nothing refers
// to the result.
func (b *Backend) team(ctx context.Context, helpers int) (*team, error) {
	teams.Lock()
	defer teams.Unlock()
	if t := teams.bySize[helpers].Value(); t != nil {
		return t, nil
	}
	lib, err := b.build(ctx, teamSource)
	if err != nil {
		return nil, err
	}
	var make, help, dismiss, free uintptr
	for name, f := range map[string]*uintptr{"new": &make, "help": &help, "dismiss": &dismiss, "free": &free} {
		if *f, err = lib.function("forge_team_" + name); err != nil {
			return nil, err
		}
	}
	address, _, _ := purego.SyscallN(make, uintptr(helpers))
	if address == 0 {
		return nil, errTeam
	}
	var present sync.WaitGroup
	for range helpers {
		present.Go(func() { purego.SyscallN(help, address) })
	}
	t := &team{address}
	runtime.AddCleanup(t, func(lib *library) {
		purego.SyscallN(dismiss, address)
		go func() {
			present.Wait()
			purego.SyscallN(free, address)
			runtime.KeepAlive(lib)
		}()
	}, lib)
	if teams.bySize == nil {
		teams.bySize = map[int]weak.Pointer[team]{}
	}
	teams.bySize[helpers] = weak.Make(t)
	return t, nil
}

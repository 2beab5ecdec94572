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
//go:embed source/c/team.c
var teamSource string

// team is some threads that help a run. Its helpers are goroutines that never
// leave one C function until the team is dismissed, so that neither the start nor
// the end of a kernel goes through Go. On two cores, to hand a kernel to one that
// looks for work and to have it back took 0.7 µs, to one that sleeps 25, and to a
// goroutine by way of channels 25 to 80. Threads that C code starts would be as
// quick, but those of the Go runtime have its signal handlers and stacks.
type team struct{ address uintptr }

// teams are those in use, by their number of helpers: a process has one of a size,
// whatever runs on it. The C code stays once it is loaded.
var teams struct {
	sync.Mutex
	bySize map[int]weak.Pointer[team]
	code   *teamCode
}

// teamCode is the functions of source/c/team.c.
type teamCode struct {
	lib                      *library
	new, help, dismiss, free uintptr
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
	if teams.code == nil {
		code, err := b.teamCode(ctx)
		if err != nil {
			return nil, err
		}
		teams.code, teams.bySize = code, make(map[int]weak.Pointer[team])
	}
	t, err := teams.code.gather(helpers)
	if err != nil {
		return nil, err
	}
	teams.bySize[helpers] = weak.Make(t)
	return t, nil
}

func (b *Backend) teamCode(ctx context.Context) (*teamCode, error) {
	lib, err := b.build(ctx, teamSource)
	if err != nil {
		return nil, err
	}
	c := &teamCode{lib: lib}
	for name, f := range map[string]*uintptr{"new": &c.new, "help": &c.help, "dismiss": &c.dismiss, "free": &c.free} {
		if *f, err = lib.function("forge_team_" + name); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// gather makes a team and starts its helpers.
func (c *teamCode) gather(helpers int) (*team, error) {
	address, _, _ := purego.SyscallN(c.new, uintptr(helpers))
	if address == 0 {
		return nil, errTeam
	}
	var present sync.WaitGroup
	for range helpers {
		present.Go(func() { purego.SyscallN(c.help, address) })
	}
	t := &team{address}
	runtime.AddCleanup(t, func(c *teamCode) {
		purego.SyscallN(c.dismiss, address)
		go func() {
			present.Wait()
			purego.SyscallN(c.free, address)
		}()
	}, c)
	return t, nil
}

package shell

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
)

// A session that is killed cannot end what its commands have left behind, and
// a parent-death signal reaches direct children only. The keeper is a small
// shell beside the session, in a group of its own, that knows the process
// groups of the commands: when the session's end of its stdin closes, for
// whatever reason, it kills those that are left.
type keeper struct {
	mu     sync.Mutex
	stdin  io.Writer    // nil until the first command
	groups map[int]bool // told to the keeper
}

const keeperScript = `
trap '' HUP INT QUIT TERM
set --
while read -r change group; do
	case $change in
	+) set -- "$@" "-$group" ;;
	-) for g do
		shift
		[ "$g" = "-$group" ] || set -- "$@" "$g"
	done ;;
	esac
done
[ $# -eq 0 ] || kill -s KILL -- "$@"`

var groups keeper

// add tells the keeper of a new process group and, since numbers are reused,
// of former ones that have no member left.
func (k *keeper) add(group int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.start(); err != nil {
		return err
	}
	for g := range k.groups {
		if syscall.Kill(-g, 0) == syscall.ESRCH {
			delete(k.groups, g)
			fmt.Fprintf(k.stdin, "- %d\n", g)
		}
	}
	k.groups[group] = true
	_, err := fmt.Fprintf(k.stdin, "+ %d\n", group)
	return err
}

func (k *keeper) start() error {
	if k.stdin != nil {
		return nil
	}
	cmd := exec.Command("/bin/sh", "-c", keeperScript)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait()
	k.stdin, k.groups = stdin, make(map[int]bool)
	return nil
}

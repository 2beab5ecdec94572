package shell

import (
	"errors"
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
	shell  string
	mu     sync.Mutex
	warned bool
	stdin  io.Writer    // nil until the first command
	groups map[int]bool // told to the keeper; true once the leader has been waited for
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

var groups = &keeper{shell: "/bin/sh"}

var errNoKeeper = errors.New("there is no keeper yet")

// add tells the keeper of a new process group and, since numbers are reused,
// of former ones that have no member left: what commands left behind became children
// of the session, and is waited for here. A keeper that somebody killed is
// replaced. Without one commands run as well: its error says, once, what is lost.
func (k *keeper) add(group int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for g, leaderless := range k.groups {
		for leaderless {
			if pid, err := syscall.Wait4(-g, nil, syscall.WNOHANG, nil); pid <= 0 && err != syscall.EINTR {
				break
			}
		}
		if syscall.Kill(-g, 0) == syscall.ESRCH {
			delete(k.groups, g)
			k.tell('-', g)
		}
	}
	if k.groups == nil {
		k.groups = make(map[int]bool)
	}
	k.groups[group] = false
	if k.tell('+', group) == nil {
		return nil
	}
	err := k.start()
	if err == nil || k.warned {
		return nil
	}
	k.warned = true
	return fmt.Errorf("processes that commands leave behind will outlive a session that is killed: their keeper cannot be started: %w", err)
}

// leaderless notes that the leader of a group has been waited for: the others are
// nobody else's to wait for.
func (k *keeper) leaderless(group int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.groups[group]; known {
		k.groups[group] = true
	}
}

func (k *keeper) tell(change rune, group int) error {
	if k.stdin == nil {
		return errNoKeeper
	}
	_, err := fmt.Fprintf(k.stdin, "%c %d\n", change, group)
	return err
}

// start starts a keeper and tells it of all groups.
func (k *keeper) start() error {
	cmd := exec.Command(k.shell, "-c", keeperScript)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait()
	k.stdin = stdin
	for g := range k.groups {
		if err := k.tell('+', g); err != nil {
			return err
		}
	}
	return nil
}

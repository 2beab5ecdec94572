package launch

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Exit says how a rank ended. It is an error, to be used as one when the rank
// should not have ended.
type Exit struct {
	Rank   int
	Code   int            // exit status; -1 when a signal ended the rank
	Signal syscall.Signal // 0 when it exited by itself
	Output string         // the last it printed, at most [TailSize] bytes
	// Stopped is how long the rank had been stopped when it was ended for that, by SIGKILL;
	// 0 where that was not so.
	Stopped time.Duration
}

func (e Exit) Error() string {
	how := "exited with " + e.Status()
	if e.Signal != 0 {
		how = "was ended by " + e.Status()
	}
	if e.Stopped > 0 {
		return fmt.Sprintf("rank %d was stopped for %v, and ended", e.Rank, e.Stopped)
	}
	if why := e.reason(); why != "" {
		how += ": " + why
	}
	return fmt.Sprintf("rank %d %s", e.Rank, how)
}

// Status is the signal or the status alone: "SIGKILL", "status 1".
func (e Exit) Status() string {
	if e.Signal != 0 {
		return unix.SignalName(e.Signal)
	}
	return fmt.Sprintf("status %d", e.Code)
}

// Abrupt reports whether the rank had no time to say why: a signal has ended it, or it
// exited with a status other than the two of ranks that do.
func (e Exit) Abrupt() bool { return e.Signal != 0 || e.Code > 1 }

// reason is the line of the output that says most: see [Exit.Lines].
func (e Exit) reason() string {
	list, at := e.lines()
	if len(list) == 0 {
		return ""
	}
	return strings.TrimSpace(list[at])
}

// Lines are at most n lines of the output that say most: from the first on of what the
// Go runtime prints when it gives up, else the last ones.
func (e Exit) Lines(n int) []string {
	list, at := e.lines()
	if at == len(list)-1 {
		at = max(0, len(list)-n)
	}
	at = max(0, at)
	return list[at:min(at+n, len(list))]
}

// lines are those of the output that are not empty, and which of them says most; -1 if
// there is none.
func (e Exit) lines() (list []string, most int) {
	most = -1
	for line := range strings.Lines(e.Output) {
		line = strings.TrimRight(line, " \r\n")
		first, _, found := strings.Cut(strings.TrimSpace(line), ": ")
		if most < 0 && found && (first == "panic" || first == "fatal error" || unix.SignalNum(first) != 0) {
			most = len(list)
		}
		if line != "" {
			list = append(list, line)
		}
	}
	if most < 0 {
		most = len(list) - 1
	}
	return list, most
}

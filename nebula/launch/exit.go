package launch

import (
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exit says how a rank ended. It is an error, to be used as one when the rank
// should not have ended.
type Exit struct {
	Rank   int
	Code   int            // exit status; -1 when a signal ended the rank
	Signal syscall.Signal // 0 when it exited by itself
	Output string         // the last it printed, at most [TailSize] bytes
}

func (e Exit) Error() string {
	how := fmt.Sprintf("exited with status %d", e.Code)
	if e.Signal != 0 {
		how = "was ended by " + unix.SignalName(e.Signal)
	}
	if why := e.reason(); why != "" {
		how += ": " + why
	}
	return fmt.Sprintf("rank %d %s", e.Rank, how)
}

// reason is the line of the output that says most: the first of what the Go
// runtime prints when it gives up, else the last.
func (e Exit) reason() string {
	last := ""
	for line := range strings.Lines(e.Output) {
		line = strings.TrimSpace(line)
		if first, _, found := strings.Cut(line, ": "); found && (first == "panic" || first == "fatal error" || unix.SignalNum(first) != 0) {
			return line
		}
		if line != "" {
			last = line
		}
	}
	return last
}

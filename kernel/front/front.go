// Package front is the process that Jupyter talks to. It runs no user code: it
// owns the sockets, the execution queues, the history and the output, and
// supervises the session, its child process in which cells run (package link
// describes their conversation). Whatever a cell does to its process, the front
// answers: the cell ends in an error that says what happened and what was lost,
// a new session starts and the next cell runs.
package front

import (
	"context"
	"errors"
	"log/slog"
)

// Default limits.
const (
	DefaultOutputLimit = 16 << 20 // bytes of text per cell
)

// Config says what a front serves and under which limits.
type Config struct {
	ConnectionFile string   // Jupyter's connection file
	SessionArgv    []string // command of the session: fd 3 is the link, fd 4 takes the runtime's crash report
	OutputLimit    int64    // bytes of text per cell; 0 means none
	MemoryLimit    int64    // bytes of data of the session; 0 means none
	HistoryPath    string   // append-only JSON lines; empty keeps history in memory
	Version        string   // of this kernel, for kernel_info
	Logger         *slog.Logger
}

// Run serves until a client asks for shutdown, the process receives SIGTERM or
// ctx ends. It returns nil in those cases, and an error when the kernel could
// not start.
func Run(ctx context.Context, cfg Config) error {
	return errors.New("front: not built yet")
}

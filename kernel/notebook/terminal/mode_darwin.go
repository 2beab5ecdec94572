package terminal

import "golang.org/x/sys/unix"

// getMode is the request that only a terminal answers.
const getMode = unix.TIOCGETA

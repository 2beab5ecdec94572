package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/mattn/go-runewidth"
	"github.com/spf13/cobra"

	"forgekernel/display"
	"forgekernel/kernel/notebook/terminal"
)

// progressLine shows the progress of a command as one line of standard error
// that is written over again, where that is a terminal. What stays, such as a
// warning, gets lines of its own. Never does it touch standard output, which
// programs read.
type progressLine struct {
	mu   sync.Mutex
	w    io.Writer // of the line
	stay io.Writer // of what stays
}

// withProgress returns a context whose displays are such a line, and a function
// that wipes it, to be called before anything is printed.
func withProgress(cmd *cobra.Command) (ctx context.Context, wipe func()) {
	return withProgressOf(cmd.Context(), cmd)
}

// withProgressOf is the same for work under another context than the command's.
func withProgressOf(under context.Context, cmd *cobra.Command) (ctx context.Context, wipe func()) {
	line := &progressLine{w: io.Discard, stay: cmd.ErrOrStderr()}
	if w := cmd.ErrOrStderr(); terminal.IsScreen(w) {
		line.w = w
	}
	return display.WithSink(under, line), line.wipe
}

func (l *progressLine) wipe() { fmt.Fprint(l.w, "\r\x1b[K") }

func (l *progressLine) Show(o display.Output) error {
	text, _ := o.Bundle.Data["text/plain"].(string)
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.ID == "" { // nothing will write over it
		fmt.Fprint(l.w, "\r\x1b[K")
		_, err := fmt.Fprintln(l.stay, strings.TrimSuffix(text, "\n"))
		return err
	}
	// One that runs into the next line cannot be written over.
	_, err := fmt.Fprintf(l.w, "\r%s\x1b[K", runewidth.Truncate(text, terminal.Width(l.w)-1, "…"))
	return err
}

func (l *progressLine) Clear(bool) error { return nil }

package main

import (
	"io"
	"os"

	"forgekernel/display"
	"forgekernel/kernel/notebook/terminal"
)

// printText prints tables and charts in lines as wide as those of w.
func printText(w io.Writer, text string) error {
	_, err := io.WriteString(w, display.Fit(text, terminal.Width(w)))
	return err
}

// output is a file that remembers the first failure to write to it, so that a
// full disk is not taken for success by those who only print.
type output struct {
	file *os.File
	err  error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// Fd tells what the file is to those who print differently on a terminal.
func (o *output) Fd() uintptr { return o.file.Fd() }

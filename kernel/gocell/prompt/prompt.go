// Package prompt lets compiled packages ask the person at the notebook. The
// session installs how; in a program that is no notebook nobody can be asked.
package prompt

import (
	"errors"
	"sync"
)

// Asker shows a prompt, waits for a line, and makes it the next line of the
// cell's standard input. It fails when the front end takes no input.
type Asker func(prompt string, password bool) error

// ErrNobody means that the program runs without a notebook.
var ErrNobody = errors.New("there is no notebook that could ask for input")

var installed struct {
	sync.RWMutex
	ask Asker
}

// Install makes a the way to ask, for the whole process; nil removes it.
func Install(a Asker) {
	installed.Lock()
	defer installed.Unlock()
	installed.ask = a
}

// Ask asks through the installed Asker.
func Ask(prompt string, password bool) error {
	installed.RLock()
	ask := installed.ask
	installed.RUnlock()
	if ask == nil {
		return ErrNobody
	}
	return ask(prompt, password)
}

package session

import (
	"context"
	"errors"
	"fmt"

	"forgekernel/kernel/link"
)

var errNoCell = errors.New("only a running cell can ask for input")

// stdin is a cell's read of a line: one that was asked for before, else one
// that the person is asked for now.
func (s *server) stdin(ctx context.Context, prompt string, password bool) (string, error) {
	e := s.origins.current()
	if e == nil {
		return "", errNoCell
	}
	s.mu.Lock()
	if len(e.input) > 0 && prompt == "" {
		line := e.input[0]
		e.input = e.input[1:]
		s.mu.Unlock()
		return line, nil
	}
	s.mu.Unlock()
	return s.ask(ctx, e, prompt, password)
}

// ask asks the person in front of the notebook.
func (s *server) ask(ctx context.Context, e *execution, prompt string, password bool) (string, error) {
	if !e.allowStdin {
		return "", errors.New("this client does not let cells ask for input")
	}
	f, err := s.calls.call(ctx, link.InputRequest, e.id, link.InputPrompt{Prompt: prompt, Password: password})
	if err != nil {
		return "", err
	}
	answer, err := link.Decode[link.InputValue](f)
	if err == nil && answer.Error != "" {
		err = fmt.Errorf("no input: %s", answer.Error)
	}
	return answer.Value, err
}

// askAhead asks on behalf of a compiled package; the answer waits for the cell
// to read it.
func (s *server) askAhead(text string, password bool) error {
	e := s.origins.current()
	if e == nil {
		return errNoCell
	}
	line, err := s.ask(e.ctx, e, text, password)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.input = append(e.input, line)
	return nil
}

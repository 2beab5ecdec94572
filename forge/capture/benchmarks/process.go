package benchmarks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"forgekernel/forge/capture/child"
)

// request is a line to a peer.
type request struct {
	ID      int        `json:"id"`
	Do      string     `json:"do"` // hello, prepare, run, time or device
	Program string     `json:"program,omitempty"`
	Arrays  string     `json:"arrays,omitempty"`
	Results string     `json:"results,omitempty"`
	Model   *modelFile `json:"model,omitempty"`
	Lead    int        `json:"lead"`
	Runs    int        `json:"runs"`
}

// modelFile is where a program was imported from. Its inputs are m0, m1, … in the
// archive.
type modelFile struct {
	Path    string   `json:"path"`
	Inputs  []string `json:"inputs"`
	Outputs []string `json:"outputs"`
}

// answer is a line from a peer.
type answer struct {
	ID    int             `json:"id"`
	OK    json.RawMessage `json:"ok"`
	Error string          `json:"error"`
}

// reportedError is what a peer that works says went wrong.
type reportedError struct{ message string }

func (e *reportedError) Error() string { return e.message }

// process is a running peer.
type process struct {
	*child.Process
	last int // id of a request
}

// environment is that of a peer. On a GPU the compiler of PyTorch tries many kernels, and
// gets all processors for that.
func environment(threads int, d Device) []string {
	env := child.Environment(threads)
	if d == CPU {
		env = append(env, "TORCHINDUCTOR_COMPILE_THREADS=1")
	}
	return env
}

// launch starts a peer.
func launch(argv []string, threads int, d Device) (*process, error) {
	p, err := child.Start(argv, environment(threads, d))
	if err != nil {
		return nil, err
	}
	return &process{Process: p}, nil
}

// ask sends a request and decodes the answer, unless ctx ends first.
func (p *process) ask(ctx context.Context, r request, into any) error {
	p.last++
	r.ID = p.last
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if text, err = p.Ask(ctx, text); err != nil {
		return err
	}
	return p.decode(text, into)
}

// decode reads the answer to the last request.
func (p *process) decode(text []byte, into any) error {
	var a answer
	if err := strict(text, &a); err != nil {
		return fmt.Errorf("it answers %.60q, which is no answer: %w", text, err)
	}
	switch {
	case a.ID != p.last:
		return fmt.Errorf("it answers request %d when asked number %d", a.ID, p.last)
	case a.Error != "":
		return &reportedError{a.Error}
	case a.OK == nil:
		return fmt.Errorf("it answers %.60q, which says nothing", text)
	}
	if err := strict(a.OK, into); err != nil {
		return fmt.Errorf("it answers %.60q, which is no answer: %w", text, err)
	}
	return nil
}

// strict decodes a value in which every field is known.
func strict(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"forgekernel/forge/capture/child"
)

//go:embed peer.py
var program string

//go:embed convert.py
var converter string

// peer is a process of peer.py: another library with the same model. It answers
// one question at a time.
type peer struct {
	Name     string            `json:"peer"`
	Version  string            `json:"version"`
	Settings map[string]string `json:"settings"`

	process *child.Process // nil when it has ended
}

// question is one of those that peer.py lists.
type question struct {
	Op     string  `json:"op"`
	Text   string  `json:"text,omitempty"`
	Tokens []int32 `json:"tokens,omitempty"`
	N      int     `json:"n,omitempty"`
}

// reply has the fields that the question asked for.
type reply struct {
	Tokens  []int32   `json:"tokens"`
	Margins []float64 `json:"margins"`
	Loss    []float64 `json:"loss"`
	Seconds []float64 `json:"seconds"`
}

// openPeer starts a library on a model.
func openPeer(ctx context.Context, python, library, model string, threads int, more ...string) (*peer, error) {
	argv := append([]string{python, "-c", program, library, model, strconv.Itoa(threads)}, more...)
	process, err := child.Start(argv, append(child.Environment(threads), "TOKENIZERS_PARALLELISM=false"))
	if err != nil {
		return nil, err
	}
	p := &peer{Name: library, process: process}
	line, err := process.Next(ctx)
	if err == nil {
		err = json.Unmarshal(line, p)
	}
	if err != nil {
		return nil, p.failed(err)
	}
	return p, nil
}

// ask returns the answer to a question.
func (p *peer) ask(ctx context.Context, q question) (r reply, err error) {
	if p.process == nil {
		return r, p.failed(child.ErrEnded)
	}
	line, err := json.Marshal(q)
	if err == nil {
		line, err = p.process.Ask(ctx, line)
	}
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err != nil {
		return r, p.failed(fmt.Errorf("%s: %w", q.Op, err))
	}
	return r, nil
}

// failed ends a process that cannot be asked any more, and says why, with the last line
// that it wrote.
func (p *peer) failed(err error) error {
	if last := p.close(); last != "" {
		return fmt.Errorf("%s: %w; it last wrote: %s", p.Name, err, last)
	}
	return fmt.Errorf("%s: %w", p.Name, err)
}

// close ends the process, and returns the last line that it wrote to standard error.
func (p *peer) close() string {
	if p.process == nil {
		return ""
	}
	last := p.process.End()
	p.process = nil
	return last
}

// converted is the model of a GGUF file in another element type: a GGUF file, or a
// folder if the name has no such ending. It is written once.
func converted(ctx context.Context, python, source, dtype, out string) (string, error) {
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
		return "", err
	}
	part := filepath.Join(filepath.Dir(out), "part-"+filepath.Base(out))
	if err := os.RemoveAll(part); err != nil {
		return "", err
	}
	said, err := exec.CommandContext(ctx, python, "-c", converter, source, dtype, part).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("writing %s: %w: %s", out, err, bytes.TrimSpace(said))
	}
	return out, os.Rename(part, out)
}

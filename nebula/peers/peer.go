package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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

	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	said  bytes.Buffer // what it wrote to standard error
	ended bool
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

// openPeer starts a library on a model. When ctx ends, so does the process.
func openPeer(ctx context.Context, python, library, model string, threads int, more ...string) (*peer, error) {
	n := strconv.Itoa(threads)
	p := &peer{cmd: exec.CommandContext(ctx, python, append([]string{"-c", program, library, model, n}, more...)...)}
	p.cmd.Env = append(os.Environ(), "OMP_NUM_THREADS="+n, "MKL_NUM_THREADS="+n, "TOKENIZERS_PARALLELISM=false", "PYTHONDONTWRITEBYTECODE=1")
	p.cmd.Stderr = &p.said
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.read(p); err != nil {
		return nil, fmt.Errorf("%s: %w", library, err)
	}
	return p, nil
}

// ask returns the answer to a question.
func (p *peer) ask(q question) (reply, error) {
	if p.ended {
		return reply{}, fmt.Errorf("%s: its process has ended", p.Name)
	}
	line, err := json.Marshal(q)
	if err != nil {
		return reply{}, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return reply{}, fmt.Errorf("%s: %w", p.Name, p.end(err))
	}
	var r reply
	if err := p.read(&r); err != nil {
		return reply{}, fmt.Errorf("%s: %s: %w", p.Name, q.Op, err)
	}
	return r, nil
}

func (p *peer) read(into any) error {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return p.end(err)
	}
	return json.Unmarshal(line, into)
}

// end says why a process answers no more.
func (p *peer) end(err error) error {
	p.ended = true
	p.in.Close()
	status := p.cmd.Wait()
	if status == nil {
		status = err
	}
	lines := strings.Split(strings.TrimSpace(p.said.String()), "\n")
	return fmt.Errorf("its process has ended: %w: %s", status, lines[len(lines)-1])
}

// close ends the process.
func (p *peer) close() error {
	if p.ended {
		return nil
	}
	p.ended = true
	return errors.Join(p.in.Close(), p.cmd.Wait())
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

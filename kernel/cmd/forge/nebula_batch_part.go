package main

import (
	"encoding/json"
	"errors"
	"os"
	"sync"
)

// partSuffix names the file beside the output in which lines stand until all are there.
const partSuffix = ".part"

// part is a file that has each line of a batch as soon as it is there, in the order in
// which they end. Whatever ends the process leaves what was computed by then. A nil part
// keeps nothing.
type part struct {
	mu   sync.Mutex
	file *os.File
	err  error // the first of a write
}

// newPart begins the part of an output; nil where the output is no regular file.
func newPart(output string) (*part, error) {
	if output == "" {
		return nil, nil
	}
	if info, err := os.Stat(output); err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	f, err := os.Create(output + partSuffix)
	if err != nil {
		return nil, err
	}
	return &part{file: f}, nil
}

// keep appends a line.
func (p *part) keep(r batchResult) {
	if p == nil {
		return
	}
	line, err := json.Marshal(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil && err == nil {
		_, err = p.file.Write(append(line, '\n'))
	}
	p.err = errors.Join(p.err, err)
}

// close ends the part. It stays only if the output itself has not been written.
func (p *part) close(written bool) error {
	if p == nil {
		return nil
	}
	err := errors.Join(p.err, p.file.Close())
	if written {
		err = os.Remove(p.file.Name())
	}
	return err
}

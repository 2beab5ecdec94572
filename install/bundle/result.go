package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"forgekernel/forge/textfile"
)

// ResultName is the file of the result among what comes back.
const ResultName = "forge-result.json"

// Result is how a job went.
type Result struct {
	Schema  int     `json:"schema"`
	Job     string  `json:"job"`   // the ID of its manifest
	Stage   string  `json:"stage"` // "done", or which stage failed: "bundle", "host", "gpus" or "notebook"
	Error   string  `json:"error"`
	Seconds float64 `json:"seconds"`
}

var stages = []string{"bundle", "host", "gpus", "notebook", "done"}

// Failure is why the job failed, nil if it did not.
func (r *Result) Failure() error {
	if r.Stage == "done" {
		return nil
	}
	return errors.New(r.Error)
}

// ErrOther is the error of a result that is another job's.
var ErrOther = errors.New("it is the result of another job")

// maxResult bounds the file, in bytes.
const maxResult = 64 << 10

// ReadResult reads the result from the folder of what came back from a host. job is the ID
// that it must be of; empty for any.
func ReadResult(dir, job string) (*Result, error) {
	path := filepath.Join(dir, ResultName)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the job gave back no %s: its script ended before it could, or was not one of forge", ResultName)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxResult:
		return nil, fmt.Errorf("%s is not the result of a job", path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &Result{}
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("%s is not the result of a job: %w", path, textfile.JSONError(raw, err))
	}
	switch {
	case r.Schema != Schema:
		return nil, fmt.Errorf("%s has schema %d; this forge reads %d", path, r.Schema, Schema)
	case !slices.Contains(stages, r.Stage), (r.Stage == "done") != (r.Error == ""):
		return nil, fmt.Errorf("%s is not the result of a job", path)
	case job != "" && r.Job != job:
		return nil, fmt.Errorf("%s: %w", path, ErrOther)
	}
	return r, nil
}

package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/uuid/v5"

	"forgekernel/forge/capture"
	"forgekernel/kernel/client"
	"forgekernel/kernel/notebook"
	"forgekernel/kernel/wire"
)

// Record is what the metadata of a notebook says about its last run, under "forge" and
// there "run". It may be wrong: anybody can edit a notebook.
type Record struct {
	ID         string            `json:"id"`
	Started    string            `json:"started"` // UTC, to the microsecond
	Finished   string            `json:"finished"`
	Kernel     string            `json:"kernel,omitempty"` // name and version
	Parameters map[string]string `json:"parameters,omitempty"`
	Status     string            `json:"status"` // "ok", or how it ended
	Error      string            `json:"error,omitempty"`
	// Code is [CodeHash] of the notebook that was run.
	Code string `json:"code_sha256"`
	// Environment is where it was run; nil when that was not found out.
	Environment *capture.Environment `json:"environment,omitempty"`
}

const timeFormat = "2006-01-02T15:04:05.000000Z"

func newRecord(opts Options) *Record {
	return &Record{
		ID: uuid.Must(uuid.NewV7()).String(), Started: time.Now().UTC().Format(timeFormat),
		Parameters: opts.Params, Environment: opts.Environment,
	}
}

// Recorded is the record in the metadata of a notebook, nil if there is none.
func Recorded(nb *notebook.Notebook) *Record {
	ours, _ := nb.Metadata["forge"].(map[string]any)
	run, ok := ours["run"].(map[string]any)
	if !ok {
		return nil
	}
	content, err := json.Marshal(run)
	if err != nil {
		return nil
	}
	r := &Record{}
	if json.Unmarshal(content, r) != nil || r.ID == "" {
		return nil
	}
	return r
}

// CodeHash is the SHA-256 of the sources of the code cells, those without code left out.
func CodeHash(nb *notebook.Notebook) string {
	h := sha256.New()
	for _, c := range nb.Cells {
		if c.Type == notebook.Code && strings.TrimSpace(c.Source) != "" {
			fmt.Fprintf(h, "%d\n%s", len(c.Source), c.Source)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// kernel stores what the notebook says about its kernel.
func (r *Record) kernel(nb *notebook.Notebook, info wire.KernelInfoReply) error {
	language, err := notebook.Value(info.LanguageInfo)
	if err != nil {
		return err
	}
	r.Kernel = info.Implementation + " " + info.ImplementationVersion
	if nb.Metadata == nil {
		nb.Metadata = map[string]any{}
	}
	nb.Metadata["language_info"] = language
	if _, ok := nb.Metadata["kernelspec"]; !ok {
		nb.Metadata["kernelspec"] = map[string]any{
			"name": "forge", "display_name": "Forge", "language": "go",
		}
	}
	return nil
}

// end stores the record.
func (r *Record) end(nb *notebook.Notebook, err error) error {
	r.Finished = time.Now().UTC().Format(timeFormat)
	r.Status = outcome(err)
	r.Code = CodeHash(nb)
	if err != nil {
		r.Error = err.Error()
	}
	run, problem := notebook.Value(r)
	if problem != nil {
		return problem
	}
	ours, ok := nb.Metadata["forge"].(map[string]any)
	if !ok {
		ours = map[string]any{}
	}
	ours["run"] = run
	nb.Metadata["forge"] = ours
	return nil
}

func outcome(err error) string {
	var timeout *TimeoutError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &timeout):
		return "timeout"
	case errors.Is(err, client.ErrDead):
		return "kernel died"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	default:
		return "failed"
	}
}

// clock notes when the messages about the running cell were made, under the
// names that Jupyter's front ends use.
type clock struct {
	mu      sync.Mutex
	request string // msg_id of the execute_request
	times   map[string]any
}

func (c *clock) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.request, c.times = "", map[string]any{}
}

func (c *clock) read() map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.times)
}

// see is a client.Options.Trace.
func (c *clock) see(_ string, sent bool, m *wire.Message) {
	key := m.Header.MsgType
	switch key {
	case "execute_request", "execute_reply", "execute_input", "status":
	default:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if sent {
		c.request = m.Header.MsgID
		return
	}
	parent, err := m.ParentHeader()
	if err != nil || c.request == "" || parent.MsgID != c.request {
		return
	}
	switch key {
	case "execute_reply":
		c.times["shell.execute_reply"] = m.Header.Date
	case "execute_input":
		c.times["iopub.execute_input"] = m.Header.Date
	case "status":
		var status wire.Status
		if m.Decode(&status) == nil {
			c.times["iopub.status."+status.ExecutionState] = m.Header.Date
		}
	}
}

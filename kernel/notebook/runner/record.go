package runner

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/gofrs/uuid/v5"

	"forgekernel/kernel/client"
	"forgekernel/kernel/notebook"
	"forgekernel/kernel/wire"
)

// record is what the notebook's metadata says about its last run, under
// "forge" and there "run": when it was, on what kernel, with which parameters
// and how it ended.
type record map[string]any

const timeFormat = "2006-01-02T15:04:05.000000Z"

func newRecord(params map[string]string) record {
	r := record{
		"id":      uuid.Must(uuid.NewV7()).String(),
		"started": time.Now().UTC().Format(timeFormat),
	}
	if len(params) > 0 {
		values := map[string]any{}
		for name, value := range params {
			values[name] = value
		}
		r["parameters"] = values
	}
	return r
}

// kernel stores what the notebook says about its kernel.
func (r record) kernel(nb *notebook.Notebook, info wire.KernelInfoReply) error {
	language, err := notebook.Value(info.LanguageInfo)
	if err != nil {
		return err
	}
	r["kernel"] = info.Implementation + " " + info.ImplementationVersion
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
func (r record) end(nb *notebook.Notebook, err error) {
	r["finished"] = time.Now().UTC().Format(timeFormat)
	r["status"] = outcome(err)
	if err != nil {
		r["error"] = err.Error()
	}
	ours, ok := nb.Metadata["forge"].(map[string]any)
	if !ok {
		ours = map[string]any{}
	}
	ours["run"] = map[string]any(r)
	nb.Metadata["forge"] = ours
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

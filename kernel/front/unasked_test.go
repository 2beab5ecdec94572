package front

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"forgekernel/kernel/link"
)

// A cell that changes settings is always answered; what cannot be done changes
// nothing.
func TestConfigure(t *testing.T) {
	const nobody = math.MaxInt32 // beyond the greatest process number
	for name, c := range map[string]struct {
		pid     int
		body    string
		refusal string
		output  int64 // limits afterwards
		memory  int64
	}{
		"output":     {nobody, `{"output_limit":5}`, "", 5, 2},
		"memory":     {os.Getpid(), `{"memory_limit":0}`, "", 1, 0},
		"no process": {nobody, `{"memory_limit":4096,"output_limit":5}`, "the memory limit stays as it was: prlimit: no such process", 1, 2},
		"malformed":  {nobody, `{"output_limit":"x"}`, "config frame", 1, 2},
		"empty":      {nobody, ``, "no body", 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := &front{outputs: &outputs{}}
			f.outputs.limit.Store(1)
			f.memory.Store(2)
			s := &session{process: &process{cmd: &exec.Cmd{Process: &os.Process{Pid: c.pid}}}, outgoing: newMailbox()}
			f.unasked(s, link.Frame{Kind: link.Config, Cell: 7, Seq: 3, Body: json.RawMessage(c.body)})
			s.outgoing.close()
			ack, ok := s.outgoing.get()
			if !ok || ack.Kind != link.Ack || ack.Seq != 3 {
				t.Fatalf("the answer is %+v", ack)
			}
			var refusal link.Refusal
			if len(ack.Body) > 0 {
				refusal = decode[link.Refusal](ack)
			}
			if (refusal.Error == "") != (c.refusal == "") || !strings.Contains(refusal.Error, c.refusal) {
				t.Errorf("refusal %q, want %q", refusal.Error, c.refusal)
			}
			equal(t, "output limit", f.outputs.limit.Load(), c.output)
			equal(t, "memory limit", f.memory.Load(), c.memory)
		})
	}
}

package dap

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"forgekernel/kernel/gocell"
)

// The values are those of ipykernel's function.
func TestMurmur2(t *testing.T) {
	for text, want := range map[string]uint32{
		"": 0xedd39288, "a": 0x8129eeee, "ab": 0xa73301b9, "abc": 0xc7bbdbb5, "abcd": 0x2ff70f61, "func area(é)": 0x3bbe29db,
	} {
		if got := murmur2([]byte(text), hashSeed); got != want {
			t.Errorf("%q: %#x, want %#x", text, got, want)
		}
	}
}

// client speaks with a server as the front does.
type client struct {
	*Server
	t      *testing.T
	events chan map[string]any
	seq    int
}

func newClient(t *testing.T) (*client, *gocell.Session) {
	s, err := gocell.New(gocell.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, events: make(chan map[string]any, 100)}
	c.Server = New(Options{
		Session: s,
		Lines:   func(code string) []int { return gocell.StopLines(code, 1) },
		Event: func(raw json.RawMessage) {
			var e map[string]any
			json.Unmarshal(raw, &e)
			c.events <- e
		},
	})
	return c, s
}

func (c *client) ask(command string, arguments object) map[string]any {
	c.t.Helper()
	c.seq++
	raw, _ := json.Marshal(object{"type": "request", "seq": c.seq, "command": command, "arguments": arguments})
	var answer map[string]any
	if err := json.Unmarshal(c.Handle(context.Background(), raw), &answer); err != nil {
		c.t.Fatal(err)
	}
	return answer
}

func (c *client) must(command string, arguments object) map[string]any {
	c.t.Helper()
	answer := c.ask(command, arguments)
	if answer["success"] != true {
		c.t.Fatalf("%s: %v", command, answer["message"])
	}
	return answer["body"].(map[string]any)
}

func (c *client) event(name string) map[string]any {
	c.t.Helper()
	for {
		select {
		case e := <-c.events:
			if e["event"] == name {
				body, _ := e["body"].(map[string]any)
				return body
			}
		case <-time.After(20 * time.Second):
			c.t.Fatalf("no event %s", name)
		}
	}
}

// An interrupt ends a halted cell and tells the client that all goes on; what it
// knew of the cell is gone.
func TestInterruptHalted(t *testing.T) {
	c, s := newClient(t)
	c.must("initialize", nil)
	c.must("attach", nil)
	code := "x := []int{1, 2, 3}\nx[0]++"
	c.Ran(code)
	c.must("setBreakpoints", object{"source": object{"path": Path(code)}, "breakpoints": []object{{"line": 2}}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := s.Run(ctx, gocell.Cell{Name: "cell 1", Source: code, File: Path(code)})
		ended <- err
	}()
	thread := c.event("stopped")["threadId"]
	frames := c.must("stackTrace", object{"threadId": thread, "levels": 1})["stackFrames"].([]any)
	frame := frames[0].(map[string]any)["id"]
	scopes := c.must("scopes", object{"frameId": frame})["scopes"].([]any)
	globals := scopes[1].(map[string]any)["variablesReference"]
	vars := c.must("variables", object{"variablesReference": globals})["variables"].([]any)
	if text := fmt.Sprint(vars); !strings.Contains(text, "value:[1, 2, 3]") {
		t.Error(text)
	}
	cancel()
	c.event("continued")
	if err := <-ended; err == nil {
		t.Error("the cell was not interrupted")
	}
	for command, arguments := range map[string]object{
		"scopes": {"frameId": frame}, "variables": {"variablesReference": globals}, "stackTrace": {"threadId": thread},
		"evaluate": {"expression": "x", "frameId": frame}, "copyToGlobals": {"srcVariableName": "x", "srcFrameId": frame},
		"next": {"threadId": thread},
	} {
		if answer := c.ask(command, arguments); answer["success"] == true {
			t.Errorf("%s is answered: %v", command, answer["body"])
		}
	}
}

// Variables are not read while code runs that may change them.
func TestRunningCell(t *testing.T) {
	c, s := newClient(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	up := make(chan bool)
	if err := s.Define("up", func() { up <- true }, ""); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := s.Run(ctx, gocell.Cell{Name: "cell 1", Source: "m := map[int]int{}\nup()\nfor i := 0; ; i++ { m[i%10]++ }"})
		ended <- err
	}()
	<-up
	for range 100 {
		if text := fmt.Sprint(c.must("inspectVariables", nil)["variables"]); strings.Contains(text, "map[0") {
			t.Fatal(text)
		}
	}
	cancel()
	<-ended
	if text := fmt.Sprint(c.must("inspectVariables", nil)["variables"]); !strings.Contains(text, "map[0: ") {
		t.Error(text)
	}
}

// FuzzHandle holds that any message has one answer, and that it is a response.
func FuzzHandle(f *testing.F) {
	for name := range handlers {
		f.Add([]byte(`{"type":"request","seq":1,"command":"` + name + `"}`))
		f.Add([]byte(`{"type":"request","seq":1,"command":"` + name + `","arguments":{"frameId":1,"threadId":1,"expression":"1+","variablesReference":3,"source":{"path":"x"},"breakpoints":[{"line":-1}],"code":"x"}}`))
	}
	f.Add([]byte(`null`))
	f.Add([]byte(`{"type":"request","command":"threads","seq":1e99}`))
	s, err := gocell.New(gocell.Options{})
	if err != nil {
		f.Fatal(err)
	}
	server := New(Options{Session: s, Lines: func(code string) []int { return gocell.StopLines(code, 1) }, Event: func(json.RawMessage) {}})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r response
		if err := json.Unmarshal(server.Handle(context.Background(), raw), &r); err != nil || r.Type != "response" {
			t.Errorf("%q: %v, %+v", raw, err, r)
		}
	})
}

// The texts of cells that are kept are bounded, in number and in bytes.
func TestKeptFiles(t *testing.T) {
	c, _ := newClient(t)
	for i := range maxFiles + 10 {
		c.Ran(fmt.Sprint(i))
	}
	if c.ask("source", object{"source": object{"path": Path("3")}})["success"] == true {
		t.Error("the oldest text is kept")
	}
	c.Ran(strings.Repeat("x", maxText/2))
	c.Ran(strings.Repeat("y", maxText/2+1))
	if len(c.files) != 1 || len(c.files) != len(c.order) || c.size != maxText/2+1 {
		t.Errorf("%d texts of %d bytes", len(c.files), c.size)
	}
}

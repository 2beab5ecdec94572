package dap

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"forgekernel/kernel/gocell"
	"forgekernel/kernel/link"
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
	state  *link.Debugging // the latest, when c has its answer
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
		State: func(d *link.Debugging) { c.state = d },
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
		case <-time.After(5 * time.Minute):
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

// A session that takes over halts where the one before would have, as soon as it
// knows the cell.
func TestRestore(t *testing.T) {
	code := "x := 1\n\nx++"
	before, _ := newClient(t)
	before.must("initialize", object{"clientID": "test"})
	before.must("attach", nil)
	before.must("setExceptionBreakpoints", object{"filters": []string{"panic", "uncaught"}})
	list := before.must("setBreakpoints", object{"source": object{"path": Path(code)}, "breakpoints": []object{{"line": 2}, {"line": 3, "condition": "x > 1"}}})
	for _, b := range list["breakpoints"].([]any) {
		if b.(map[string]any)["verified"] != false {
			t.Error("a breakpoint in an unknown cell is verified")
		}
	}
	want := &link.Debugging{Client: "test", Seq: 5, Panics: true, Uncaught: true, Breakpoints: map[string][]link.Breakpoint{Path(code): {{Line: 2}, {Line: 3, Condition: "x > 1"}}}}
	if d := before.state; !reflect.DeepEqual(d, want) {
		t.Fatalf("state %+v, want %+v", d, want)
	}
	c, s := newClient(t)
	c.Restore(before.state)
	if info := c.must("debugInfo", nil); info["isStarted"] != true {
		t.Error("the debugger is not started")
	}
	c.Ran(code)
	if b := c.event("breakpoint")["breakpoint"].(map[string]any); b["verified"] != true || b["line"] != 3.0 {
		t.Errorf("breakpoint %v", b)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := s.Run(t.Context(), gocell.Cell{Name: "cell 1", Source: code, File: Path(code)})
		ended <- err
	}()
	if thread := c.event("stopped")["threadId"]; c.state.Halted == 0 || thread != float64(c.state.Halted) {
		t.Errorf("goroutine %v halted, the state says %d", thread, c.state.Halted)
	}
	c.must("continue", nil)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	c.must("disconnect", nil)
	c.event("terminated")
	if c.state != nil {
		t.Errorf("state %+v after the end", c.state)
	}
}

// serveModule is a proxy with one module of one file.
func serveModule(t *testing.T, file, text string) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for name, text := range map[string]string{file: text, path.Dir(file) + "/go.mod": "module example.com/half"} {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte(text))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Ext(r.URL.Path) == ".zip" {
			w.Write(archive.Bytes())
			return
		}
		io.WriteString(w, "module example.com/half")
	}))
	t.Cleanup(server.Close)
	for name, value := range map[string]string{"GOPROXY": server.URL, "GOSUMDB": "off", "GOENV": "off", "GOMODCACHE": t.TempDir()} {
		t.Setenv(name, value)
	}
}

// The files of a module that cells import are shown, and cells halt in them.
func TestModuleFiles(t *testing.T) {
	const file, text = "example.com/half@v1.0.0/half.go", "package half\n\nfunc Of(n int) int {\n\t// rounds down\n\treturn n / 2\n}\n"
	serveModule(t, file, text)
	c, s := newClient(t)
	if _, err := s.Get(t.Context(), "example.com/half@v1.0.0"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), gocell.Cell{Name: "cell 1", Source: "import \"example.com/half\"\nhalf.Of(1)"}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(c.must("modules", nil)["modules"]); got != "[map[id:"+file+" name:half.go path:"+file+"]]" {
		t.Error(got)
	}
	if got := c.must("source", object{"source": object{"path": file}})["content"]; got != text {
		t.Errorf("source %q", got)
	}
	c.must("initialize", nil)
	c.must("attach", nil)
	list := c.must("setBreakpoints", object{"source": object{"path": file}, "breakpoints": []object{{"line": 4}}})["breakpoints"].([]any)
	if b := list[0].(map[string]any); b["verified"] != true || b["line"] != 5.0 {
		t.Errorf("breakpoint %v", b)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := s.Run(t.Context(), gocell.Cell{Name: "cell 2", Source: "half.Of(7)", File: "cell"})
		ended <- err
	}()
	frames := c.must("stackTrace", object{"threadId": c.event("stopped")["threadId"]})["stackFrames"].([]any)
	if f := frames[0].(map[string]any); f["name"] != "Of" || f["source"].(map[string]any)["path"] != file {
		t.Errorf("frame %v", f)
	}
	c.must("continue", nil)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What JupyterLab is told: that the debugger is started before it is attached, and
// values without types, which it would show instead.
func TestJupyterLab(t *testing.T) {
	c, s := newClient(t)
	if _, err := s.Run(t.Context(), gocell.Cell{Name: "cell 1", Source: `f, text := 1.5, "a"`}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"": "map[evaluateName:f name:f type:float64 value:1.5", "jupyterlab": "map[evaluateName:f name:f value:1.5"} {
		c.must("initialize", object{"clientID": name})
		if c.must("debugInfo", nil)["isStarted"] != true {
			t.Error("not started")
		}
		if got := fmt.Sprint(c.must("inspectVariables", nil)["variables"]); !strings.Contains(got, want) {
			t.Errorf("%q sees %s", name, got)
		}
	}
}

// doesNotStop is what an evaluation fails with when code that runs is not held in time.
const doesNotStop = "code runs that does not stop for a look: it can be paused"

// What runs is held while its variables are read, and expressions computed: maps
// that are written to all the time, by a cell, its goroutines, and those that
// compiled code started for it.
func TestRunningCell(t *testing.T) {
	for _, code := range []string{
		"for { write() }", "for { write(); time.Sleep(time.Microsecond) }",
		"go func() { for { write() } }()\nselect {}", "func() { var wg sync.WaitGroup; wg.Go(func() { for { write() } }); wg.Wait() }()",
		"for { sort.Slice(make([]int, 100), func(i, j int) bool { write(); return true }) }",
	} {
		c, s := newClient(t)
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := s.Run(ctx, gocell.Cell{Source: "m := map[int]int{}\ntotal := 0\nfunc write() { for i := range 10 { m[i]++ }; total++ }"}); err != nil {
			t.Fatal(err)
		}
		up := make(chan bool)
		if err := s.Define("up", func() { up <- true }, ""); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := s.Run(ctx, gocell.Cell{Name: "cell 1", Source: "write()\nup()\n" + code})
			ended <- err
		}()
		<-up
		seen := false
		for round := 0; round < 20 || !seen; round++ { // on a busy machine it may not be held in time
			text := fmt.Sprint(c.must("inspectVariables", nil)["variables"])
			seen = seen || strings.Contains(text, "map[0: ")
			if answer := c.ask("evaluate", object{"expression": "len(fmt.Sprint(m)) > 0"}); answer["success"] != true && answer["message"] != doesNotStop {
				t.Errorf("%s: %v", code, answer)
			}
		}
		cancel()
		var stopped *gocell.InterruptError
		if err := <-ended; !errors.As(err, &stopped) {
			t.Errorf("%s: %v", code, err)
		}
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
	server := New(Options{Session: s, Lines: func(code string) []int { return gocell.StopLines(code, 1) }, Event: func(json.RawMessage) {}, State: func(*link.Debugging) {}})
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

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

// halted runs a cell to a line. It returns the frame there.
func halted(t *testing.T, code string, line int) (c *client, s *gocell.Session, frame any, end func()) {
	t.Helper()
	c, s = started(t)
	ended := c.run(s, code, object{"line": line})
	stopped := c.event("stopped")
	return c, s, c.top(stopped)["id"], func() {
		t.Helper()
		c.must("continue", object{"threadId": stopped["threadId"]})
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// children lists a variable's parts as name=value, by the expression for it.
func (c *client) children(in any, arguments object) (list []string, expr map[string]string) {
	c.t.Helper()
	all := object{"variablesReference": in}
	for k, v := range arguments {
		all[k] = v
	}
	return listed(c.must("variables", all))
}

func listed(body map[string]any) (list []string, expr map[string]string) {
	expr = map[string]string{}
	for _, v := range body["variables"].([]any) {
		v := v.(map[string]any)
		name := v["name"].(string)
		list = append(list, name+"="+v["value"].(string))
		expr[name], _ = v["evaluateName"].(string)
	}
	return list, expr
}

func (c *client) locals(frame any) (scope any, refs map[string]any) {
	c.t.Helper()
	scopes := c.must("scopes", object{"frameId": frame})["scopes"].([]any)
	scope = scopes[0].(map[string]any)["variablesReference"]
	refs = map[string]any{}
	for _, v := range c.must("variables", object{"variablesReference": scope})["variables"].([]any) {
		refs[v.(map[string]any)["name"].(string)] = v.(map[string]any)["variablesReference"]
	}
	return scope, refs
}

const values = `type P struct{ A int; b string }
g := func(r rune) rune { return r + 1 }
func f(n int) (res int, err error) {
	const inner = 9
	p := &P{1, "x"}
	pp, iface, anyp, anys := &p, error(io.EOF), any(&P{5, "ap"}), any(P{6, "as"})
	mm := map[any]int{1: 1, 1.5: 2, "a": 3, int8(4): 4, P{1, "k"}: 5}
	pm, nan := map[P]string{{1, "k"}: "v"}, map[float64]int{math.NaN(): 1, 2: 2}
	many := make([]int, 2500)
	big := map[int]int{}
	for i := range 100_001 { big[i] = -i }
	var fn func()
	ch := make(chan int)
	fmt.Sprint(n)
	res += n
	fmt.Sprint(pp, iface, anyp, anys, mm, pm, nan, len(many), len(big), inner, fn == nil, ch)
	return res, nil
}
f(3)`

func TestEvaluateHostile(t *testing.T) {
	c, _, frame, end := halted(t, values, 14)
	for _, e := range []struct{ expr, context, want string }{
		{"func() int { panic(\"x\") }()", "", "! panic: x"},
		{"func() int { os.Exit(3); return 1 }()", "repl", "! os.Exit ended"},
		{"func() int { runtime.Goexit(); return 1 }()", "", "! runtime.Goexit ended"},
		{"func() int { go func() { panic(1) }(); select {} }()", "", "! panic: 1 (in a goroutine)"},
		{"func() int { go func() { ch <- 1; panic(1) }(); return 1 }()", "", "1"},
		{"<-ch", "", "1"}, // the panic comes when what it was evaluated for is over
		{"func() int { n = 5; return n }()", "", "5"}, // of a copy: what has no address is a value
		{"n", "", "3"},
		{"strings.Map(g, \"abc\")", "", "\"bcd\""}, // compiled code calls what belongs to a cell
		{"inner + n", "", "12"},
		{"inner / 2.0", "", "4.5"},
		{"res", "", "0"},
		{"err", "", "nil"},
		{"f(1)", "", "1, nil"}, // its breakpoint halts nobody
		{"n", "hover", "3"}, {"len(many)", "hover", "2500"}, {"p.b", "hover", "\"x\""},
		{"g('a')", "hover", "! what the pointer rests on"}, {"<-ch", "hover", "! what the pointer rests on"}, {"func() int { return 1 }()", "hover", "! what the pointer"},
		{"n = 5", "", "! \"n = 5\" is not a Go expression"}, {"", "", "! \"\" is not a Go expression"}, {"inner = 3", "", "! "}, {"1/0", "", "! expression:1:3: invalid operation: division by zero"},
	} {
		answer := c.ask("evaluate", object{"expression": e.expr, "frameId": frame, "context": e.context})
		got := "! " + fmt.Sprint(answer["message"])
		if body, _ := answer["body"].(map[string]any); answer["success"] == true {
			got = body["result"].(string)
		}
		if got != e.want && (e.want[0] != '!' || !strings.HasPrefix(got, e.want)) {
			t.Errorf("%s (%s): %s, want %s", e.expr, e.context, got, e.want)
		}
	}
	end()
}

// What an evaluation waits for is given up when its client does.
func TestEvaluateInterrupted(t *testing.T) {
	c, _, frame, end := halted(t, values, 14)
	for _, expr := range []string{"func() int { for {} }()", "<-ch", "func() int { fn(); select {} }()", "func() int { time.Sleep(time.Hour); return 0 }()"} {
		for command, name := range map[string]string{"evaluate": "expression", "richInspectVariables": "variableName"} {
			raw, _ := json.Marshal(object{"type": "request", "seq": 1, "command": command, "arguments": object{name: expr, "frameId": frame}})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			var answer map[string]any
			json.Unmarshal(c.Handle(ctx, raw), &answer)
			cancel()
			if answer["success"] != false || answer["message"] == "" {
				t.Errorf("%s %s: %v", command, expr, answer)
			}
		}
	}
	end()
}

func TestPartsOfValues(t *testing.T) {
	c, _, frame, end := halted(t, values, 14)
	_, refs := c.locals(frame)
	for _, v := range []struct{ name, list, exprs string }{
		{"p", `[A=1 b="x"]`, "map[A:p.A b:p.b]"},
		{"pp", `[*=&P{A: 1, b: "x"}]`, "map[*:(*pp)]"},
		{"iface", `[s="EOF"]`, "map[s:iface.(*errors.errorString).s]"},
		{"anyp", `[A=5 b="ap"]`, "map[A:anyp.(*P).A b:anyp.(*P).b]"},
		{"anys", `[A=6 b="as"]`, "map[A:anys.(P).A b:anys.(P).b]"},
		{"mm", `["a"=3 1=1 1.5=2 4=4 P{A: 1, b: "k"}=5]`, `map["a":mm[string("a")] 1:mm[int(1)] 1.5:mm[float64(1.5)] 4:mm[int8(4)] P{A: 1, b: "k"}:mm[P{A: 1, b: "k"}]]`},
		{"pm", `[P{A: 1, b: "k"}="v"]`, `map[P{A: 1, b: "k"}:pm[P{A: 1, b: "k"}]]`},
		{"nan", "[NaN=1 2=2]", "map[2:nan[2] NaN:]"},
	} {
		list, exprs := c.children(refs[v.name], nil)
		if fmt.Sprint(list) != v.list || fmt.Sprint(exprs) != v.exprs {
			t.Errorf("%s: %s\n%s\nwant %s\n%s", v.name, list, exprs, v.list, v.exprs)
		}
	}
	for _, v := range []struct {
		name      string
		arguments object
		n         int
		last      string
	}{
		{"many", nil, 1001, "…=1500 more"}, {"big", nil, 1001, "…=99001 more"},
		{"many", object{"start": 2499, "count": 10}, 1, "[2499]=0"}, {"many", object{"start": 2400}, 100, "[2499]=0"}, {"big", object{"start": 100_000, "count": 9}, 1, "100000=-100000"},
		{"many", object{"count": 1 << 60}, 1000, "[999]=0"}, {"many", object{"start": -7, "count": -7, "filter": "indexed"}, 1001, "…=1500 more"},
		{"many", object{"filter": "named"}, 0, ""}, {"p", object{"filter": "indexed"}, 0, ""}, {"p", object{"filter": "named"}, 2, `b="x"`}, {"many", object{"start": 1 << 60}, 0, ""},
	} {
		list, _ := c.children(refs[v.name], v.arguments)
		if len(list) != v.n || v.n > 0 && list[v.n-1] != v.last {
			t.Errorf("%s %v: %d, the last is %s", v.name, v.arguments, len(list), list[len(list)-1:])
		}
	}
	end()
}

func TestSetParts(t *testing.T) {
	c, _, frame, end := halted(t, values, 14)
	locals, refs := c.locals(frame)
	for _, set := range []struct {
		in                any
		name, value, want string
	}{
		{refs["anyp"], "A", "53", "53"}, {refs["mm"], "4", "48", "48"}, {refs["pm"], `P{A: 1, b: "k"}`, `"set"`, `"set"`}, {refs["pp"], "*", "&P{7, \"new\"}", `&P{A: 7, b: "new"}`},
		{locals, "iface", "nil", "nil"}, {refs["anys"], "A", "54", "! expression:1:1: cannot assign"}, {refs["nan"], "NaN", "51", "! \"NaN\" cannot be set"}, {refs["iface"], "s", "\"\"", "! "},
		{locals, "res", "100", "! res has been folded to a constant"}, {locals, "inner", "5", "! expression:1:1: cannot assign"}, {locals, "iface", "5", "! expression:1:9: cannot use 5"}, {locals, "", "1", "! \"\" cannot be set"},
		{locals, "n, res", "1, 2", "! cannot assign to \"n, res\""}, {locals, "n", "1; res = 2", "! \"1; res = 2\" is not"}, {refs["many"], "[2500]", "1", "! panic: runtime error: index out of range"}, {-1, "n", "1", "! there is no variable -1"},
	} {
		answer := c.ask("setVariable", object{"variablesReference": set.in, "name": set.name, "value": set.value})
		got := "! " + fmt.Sprint(answer["message"])
		if body, _ := answer["body"].(map[string]any); answer["success"] == true {
			got = body["value"].(string)
		}
		if got != set.want && (set.want[0] != '!' || !strings.HasPrefix(got, set.want)) {
			t.Errorf("%s = %s: %s, want %s", set.name, set.value, got, set.want)
		}
	}
	for expr, want := range map[string]string{"mm[int8(4)]": "48", "len(mm)": "5", `pm[P{1, "k"}]`: `"set"`, "p.A": "7", "anyp.(*P).A": "53"} {
		if got := c.must("evaluate", object{"expression": expr, "frameId": frame})["result"]; got != want {
			t.Errorf("%s is %v, want %s", expr, got, want)
		}
	}
	end()
}

// Requests before initialize and after disconnect.
func TestOrderOfRequests(t *testing.T) {
	c, _ := newClient(t)
	for range 2 {
		for _, command := range []string{"attach", "setBreakpoints", "setExceptionBreakpoints", "continue", "next", "pause", "stackTrace", "scopes", "variables", "copyToGlobals", "restartFrame"} {
			if answer := c.ask(command, nil); answer["success"] == true || answer["message"] == "" {
				t.Errorf("%s: %v", command, answer)
			}
		}
		for _, command := range []string{"threads", "inspectVariables", "debugInfo", "modules", "configurationDone"} {
			c.must(command, nil)
		}
		c.must("initialize", nil)
		c.must("attach", nil)
		c.must("attach", nil) // a second client
		c.must("disconnect", nil)
	}
}

// Who leaves or interrupts does not wait for what a breakpoint computes.
func TestEndWithinCondition(t *testing.T) {
	for _, end := range []string{"interrupt", "disconnect"} {
		c, s := started(t)
		mark := make(chan bool)
		if err := s.Define("mark", func() { mark <- true }, ""); err != nil {
			t.Fatal(err)
		}
		code := "x := 1\nx++"
		c.Ran(code)
		c.must("setBreakpoints", object{"source": object{"path": Path(code)}, "breakpoints": []object{{"line": 2, "condition": "func() bool { mark(); for {} }()"}}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := s.Run(ctx, gocell.Cell{Name: "cell 1", Source: code, File: Path(code)})
			ended <- err
		}()
		<-mark
		if end == "interrupt" {
			cancel()
		} else {
			c.must("disconnect", nil)
		}
		if err := <-ended; (err != nil) != (end == "interrupt") {
			t.Errorf("%s: %v", end, err)
		}
		cancel()
		for len(c.events) > 0 {
			if e := <-c.events; e["event"] != "initialized" && e["event"] != "terminated" {
				t.Errorf("%s: %v", end, e)
			}
		}
	}
}

// Variables that are set are those that the program goes on with: captured ones,
// those of loops, results, and those that hide others.
func TestSetIsSeen(t *testing.T) {
	code := `type inner struct{ V int }
type outer struct { inner; p *int }
func f() (res int, text string) {
	x, y := 1, 2
	o := outer{inner{3}, &y}
	add := func(n int) { x += n }
	for i := 0; i < 4; i++ {
		add(i)
		if x := i * 10; x > 10 {
			text += fmt.Sprint(x, " ")
		}
	}
	defer func() {
		res += 1000
	}()
	res = x + o.V + *o.p
	return res, text + fmt.Sprint(y)
}
f()`
	c, s := started(t)
	c.Ran(code)
	c.must("setBreakpoints", object{"source": object{"path": Path(code)}, "breakpoints": []object{
		{"line": 8, "condition": "i == 1"}, {"line": 10, "condition": "i == 3"}, {"line": 16}, {"line": 13, "condition": "text == \"99 \""},
	}})
	ended := make(chan gocell.Result, 1)
	go func() {
		r, err := s.Run(t.Context(), gocell.Cell{Name: "cell 1", Source: code, File: Path(code)})
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	for _, at := range []struct {
		line float64
		set  [][2]string
	}{
		{8, [][2]string{{"x", "100"}, {"i", "2"}, {"o.V", "30"}, {"*o.p", "5"}}}, // the loop goes on with 2: x is 1 + 0, then 100 + 2 + 3
		{10, [][2]string{{"x", "99"}, {"text", `""`}}},                           // the inner one
		{13, nil},
		{16, [][2]string{{"x", "x + 1"}, {"y", "6"}}},
	} {
		stopped := c.event("stopped")
		frame := c.top(stopped)
		if frame["line"] != at.line {
			t.Fatalf("halts at %v, want %v", frame["line"], at.line)
		}
		scope, refs := c.locals(frame["id"])
		for _, set := range at.set {
			in, name := scope, set[0]
			switch name {
			case "o.V":
				in, name = refs["o"], "inner"
				set[1] = "inner{" + set[1] + "}"
			case "*o.p":
				c.must("evaluate", object{"expression": "func() int { *o.p = 5; return 0 }()", "frameId": frame["id"]})
				continue
			}
			if answer := c.ask("setVariable", object{"variablesReference": in, "name": name, "value": set[1]}); answer["success"] != true {
				t.Errorf("%s = %s: %v", set[0], set[1], answer["message"])
			}
		}
		c.must("continue", object{"threadId": stopped["threadId"]})
	}
	if got, want := fmt.Sprint((<-ended).Values), "[1142 99 6]"; got != want { // 106 + 30 + 6 + 1000
		t.Errorf("the program ends with %s, want %s", got, want)
	}
}

// While compiled code runs that may write to a map, none is gone through.
func TestCompiledCodeRuns(t *testing.T) {
	c, s := newClient(t)
	ended := make(chan error, 1)
	up := make(chan bool)
	if err := s.Define("up", func() { up <- true }, ""); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := s.Run(t.Context(), gocell.Cell{Source: "m, n, gate := map[int]int{1: 2}, 3, make(chan bool)\nsort.Slice([]int{2, 1}, func(i, j int) bool { up(); <-gate; return false })"})
		ended <- err
	}()
	<-up
	for {
		values, _ := listed(c.must("inspectVariables", nil))
		if text := strings.Join(values, " "); strings.Contains(text, "n=3") {
			if !strings.Contains(text, "m=map[int]int n=3") {
				t.Error(text)
			}
			break
		}
	}
	answer := c.ask("evaluate", object{"expression": "func() int { close(gate); return 0 }()"})
	for answer["message"] == doesNotStop {
		answer = c.ask("evaluate", object{"expression": "func() int { close(gate); return 0 }()"})
	}
	if answer["success"] != true {
		t.Error(answer)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if values, _ := listed(c.must("inspectVariables", nil)); !strings.Contains(strings.Join(values, " "), "m=map[1: 2]") {
		t.Error(values)
	}
}

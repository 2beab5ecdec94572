package dap

import (
	"fmt"
	"strings"
	"testing"

	"forgekernel/kernel/gocell"
)

// run starts a cell and returns what its end is told on.
func (c *client) run(s *gocell.Session, code string, breakpoints ...object) chan error {
	c.t.Helper()
	c.Ran(code)
	answer := c.must("setBreakpoints", object{"source": object{"path": Path(code)}, "breakpoints": breakpoints})
	for _, b := range answer["breakpoints"].([]any) {
		if b.(map[string]any)["verified"] != true {
			c.t.Fatal(b)
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := s.Run(c.t.Context(), gocell.Cell{Name: "cell 1", Source: code, File: Path(code)})
		ended <- err
		c.events <- map[string]any{"event": "ended"}
	}()
	return ended
}

// until collects the texts of what is put out and where the cell halts, which
// then goes on, until it ends.
func (c *client) until(look string) string {
	c.t.Helper()
	var b strings.Builder
	for e := range c.events {
		body, _ := e["body"].(map[string]any)
		switch e["event"] {
		case "output":
			fmt.Fprintf(&b, "> %s", body["output"])
		case "stopped":
			frame := c.top(body)
			value := c.must("evaluate", object{"expression": look, "frameId": frame["id"]})["result"]
			fmt.Fprintf(&b, "%s at %v: %v\n", body["reason"], frame["line"], value)
			c.must("continue", object{"threadId": body["threadId"]})
		case "ended":
			return b.String()
		}
	}
	return ""
}

func (c *client) top(stopped map[string]any) map[string]any {
	c.t.Helper()
	frames := c.must("stackTrace", object{"threadId": stopped["threadId"], "levels": 1})["stackFrames"].([]any)
	return frames[0].(map[string]any)
}

func started(t *testing.T) (*client, *gocell.Session) {
	t.Helper()
	c, s := newClient(t)
	for _, command := range []string{"initialize", "attach"} {
		c.must(command, nil)
	}
	t.Cleanup(func() { c.must("disconnect", nil) })
	return c, s
}

func TestConditions(t *testing.T) {
	code := `func f(n int) (sum int) {
	for i := range n {
		sum += i
	}
	return sum
}
f(6)`
	for _, test := range []struct {
		breakpoint object
		want       string
	}{
		{object{"condition": "i == 2 || sum > 5"}, "breakpoint at 3: 2\nbreakpoint at 3: 4\nbreakpoint at 3: 5\n"},
		{object{"hitCondition": "3"}, "breakpoint at 3: 2\n"},
		{object{"hitCondition": "%3"}, "breakpoint at 3: 2\nbreakpoint at 3: 5\n"},
		{object{"hitCondition": ">= 5"}, "breakpoint at 3: 4\nbreakpoint at 3: 5\n"},
		{object{"condition": "i%2 == 1", "hitCondition": "<=2"}, "breakpoint at 3: 1\nbreakpoint at 3: 3\n"},
		{object{"logMessage": `\{i\} is {i}, {fmt.Sprint(sum, []int{i})}`, "condition": "i < 2"}, "> {i} is 0, \"0 [0]\"\n> {i} is 1, \"0 [1]\"\n"},
		{object{"logMessage": `{fmt.Sprint("}", map[string]int{"{": i})}`, "hitCondition": "1"}, "> \"}map[{:0]\"\n"},
		{object{"logMessage": "{nope}", "hitCondition": "1"}, "> {expression:1:1: undefined: nope}\n"},
		{object{"condition": "i", "hitCondition": "1"}, ""},
	} {
		c, s := started(t)
		test.breakpoint["line"] = 3
		ended := c.run(s, code, test.breakpoint)
		got := c.until("i")
		if test.want == "" { // each time it says why it halts
			if n := strings.Count(got, "> the condition i of line 3: it is not a boolean\nbreakpoint at 3"); n != 6 {
				t.Errorf("%v: %s", test.breakpoint, got)
			}
		} else if got != test.want {
			t.Errorf("%v: got\n%swant\n%s", test.breakpoint, got, test.want)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestBadConditions(t *testing.T) {
	c, _ := started(t)
	c.Ran("x := 1")
	for _, b := range []object{{"hitCondition": "x"}, {"hitCondition": "0"}, {"hitCondition": "!3"}, {"logMessage": "{x"}, {"logMessage": "{}"}, {"logMessage": "{x = 2}"}, {"condition": "x = 1"}, {"condition": "true; false"}} {
		b["line"] = 1
		answer := c.must("setBreakpoints", object{"source": object{"path": Path("x := 1")}, "breakpoints": []object{b}})
		if got := answer["breakpoints"].([]any)[0].(map[string]any); got["verified"] == true || got["message"] == nil {
			t.Errorf("%v: %v", b, got)
		}
	}
}

// A step goes on over a breakpoint whose condition is false.
func TestStepOverCondition(t *testing.T) {
	c, s := started(t)
	code := "func g() int {\n\tx := 1\n\treturn x\n}\ny := g()\ny++"
	ended := c.run(s, code, object{"line": 5}, object{"line": 3, "condition": "x == 2"})
	stopped := c.event("stopped")
	if line := c.top(stopped)["line"]; line != 5.0 {
		t.Fatal(line)
	}
	c.must("next", object{"threadId": stopped["threadId"]})
	stopped = c.event("stopped")
	if line := c.top(stopped)["line"]; line != 6.0 || stopped["reason"] != "step" {
		t.Errorf("%v at %v", stopped["reason"], line)
	}
	c.must("continue", object{"threadId": stopped["threadId"]})
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestSetVariable(t *testing.T) {
	c, s := started(t)
	code := `type P struct{ A int; M map[string]int }
total := 10
func f(n int, p P, q *P, list []string) string {
	local, any1, twin := n+1, any(1), n
	local++
	twin += n
	return fmt.Sprint(n, local, any1, twin, p, *q, list, total)
}
q := &P{1, map[string]int{"k": 1}}
f(3, P{A: 2}, q, []string{"a", "b"})`
	ended := c.run(s, code, object{"line": 7})
	stopped := c.event("stopped")
	frame := c.top(stopped)["id"]
	scopes := c.must("scopes", object{"frameId": frame})["scopes"].([]any)
	locals := scopes[0].(map[string]any)["variablesReference"]
	globals := scopes[1].(map[string]any)["variablesReference"]
	reference := func(name string) any {
		for _, v := range c.must("variables", object{"variablesReference": locals})["variables"].([]any) {
			if v := v.(map[string]any); v["name"] == name {
				return v["variablesReference"]
			}
		}
		t.Fatalf("there is no variable %s", name)
		return nil
	}
	for _, set := range []struct {
		in          any
		name, value string
		want        string
	}{
		{locals, "local", "n * 100", "300"},
		{locals, "any1", `"text"`, `"text"`},
		{locals, "twin", "local + 1", "301"},
		{reference("p"), "A", "7", "7"},
		{reference("list"), "[1]", `"c"`, `"c"`},
		{globals, "total", "total + 1", "11"},
	} {
		answer := c.ask("setVariable", object{"variablesReference": set.in, "name": set.name, "value": set.value})
		if body, _ := answer["body"].(map[string]any); answer["success"] != true || body["value"] != set.want {
			t.Errorf("%s = %s: %v", set.name, set.value, answer)
		}
	}
	for name, value := range map[string]string{"local": `"x"`, "nope": "1", "n": "1 +"} {
		if answer := c.ask("setVariable", object{"variablesReference": locals, "name": name, "value": value}); answer["success"] == true {
			t.Errorf("%s = %s is done", name, value)
		}
	}
	c.must("evaluate", object{"expression": "func() int { q.M[\"k\"] = 5; return 0 }()", "frameId": frame})
	c.must("continue", object{"threadId": stopped["threadId"]})
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(t.Context(), gocell.Cell{Name: "cell 2", Source: "total"})
	if err != nil || fmt.Sprint(r.Values) != "[11]" {
		t.Errorf("%v, %v", r.Values, err)
	}
}

// A variable that shares its place with another is not set, since both would be.
func TestSetSharedVariable(t *testing.T) {
	c, s := started(t)
	ended := c.run(s, "func f(a int) int {\n\tb := a\n\treturn a + b\n}\nf(1)", object{"line": 3})
	stopped := c.event("stopped")
	scopes := c.must("scopes", object{"frameId": c.top(stopped)["id"]})["scopes"].([]any)
	locals := scopes[0].(map[string]any)["variablesReference"]
	answer := c.ask("setVariable", object{"variablesReference": locals, "name": "b", "value": "5"})
	if message := fmt.Sprint(answer["message"]); answer["success"] == true || !strings.Contains(message, "and a share storage here") {
		t.Error(answer)
	}
	c.must("continue", object{"threadId": stopped["threadId"]})
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestPanicFilters(t *testing.T) {
	code := `func caught() { defer func() { recover() }(); panic("caught") }
func open() { defer func() { fmt.Sprint() }(); panic("open") }
caught()
open()`
	for filter, want := range map[string]string{
		panics: "exception at 1: 1\nexception at 2: 1\n", uncaught: "exception at 2: 1\n", "none": "",
	} {
		c, s := started(t)
		c.must("setExceptionBreakpoints", object{"filters": []string{filter}})
		ended := c.run(s, code)
		if got := c.until("1"); got != want {
			t.Errorf("%s: got %s, want %s", filter, got, want)
		}
		if err := <-ended; err == nil {
			t.Error("no panic")
		}
	}
}

package dap

import (
	"fmt"
	"go/parser"
	"strings"
	"testing"

	"forgekernel/kernel/gocell"
)

const account = `type Account struct{ Bal int; Tags []string; By map[string]int }
total := 10
func pay(a *Account, n int, v any) string {
	local, float := n+1, 1.5
	local++
	get := func() *Account { n++; return a }
	bal := get().Bal
	return fmt.Sprint(bal, a.Tags, a.By, n, v, local, float, total)
}
receipt := pay(&Account{1, []string{"x"}, map[string]int{"k": 1}}, 3, "text")`

// The console assigns as setVariable does and answers with the new value; the program
// goes on with it.
func TestConsoleAssigns(t *testing.T) {
	c, s, frame, end := halted(t, account, 7)
	const takes = "! the console takes a Go expression or an assignment to one variable that there is, such as x = 2, and not "
	for _, e := range []struct{ text, context, want string }{
		{"a.Bal = 50", "repl", "50"},
		{" a.Bal += local * 2 // twice", "repl", "60"},
		{"a.Tags[0] = \"}\"", "repl", `"}"`},
		{"a.Tags = append(a.Tags, \"y\")", "repl", `["}", "y"]`},
		{"a.By[\"k\"]--", "repl", "0"},
		{"a.By[\"new\"] |= 6", "repl", "6"},
		{"local = 7", "repl", "7"},
		{"local <<= 2", "repl", "28"},
		{"v = nil", "repl", "nil"},
		{"v = Account{Bal: 2}", "repl", "Account{Bal: 2, Tags: nil, By: nil}"},
		{"total++", "repl", "11"},
		{"*a = Account{Bal: a.Bal + 1,\n\tTags: a.Tags, By: a.By}", "repl", `Account{Bal: 61, Tags: ["}", "y"], By: map["k": 0, "new": 6]}`},
		{"get().Bal -= 1", "repl", ""}, // get is called once
		{"_ = get()", "repl", ""},
		{"a.Bal", "repl", "60"},
		{"a.Bal == 60", "repl", "true"},
		{"local = \"x\"", "repl", `! expression:1:9: cannot use "x"`},
		{"nope = 1", "repl", "! expression:1:1: undefined: nope"},
		{"a.Bal = 1 +", "repl", takes + `"a.Bal = 1 +"`},
		{"z := 1", "repl", takes + `"z := 1"`},
		{"local, n = 1, 2", "repl", takes + `"local, n = 1, 2"`},
		{"local = 1; n = 2", "repl", takes},
		{"for {}", "repl", takes + `"for {}"`},
		{"local = 1 }; func g() {", "repl", takes},
		{"", "repl", takes},
		{"a.Bal = 1", "watch", `! "a.Bal = 1" is not a Go expression`},
		{"a.Bal = 1", "hover", `! "a.Bal = 1" is not a Go expression`},
	} {
		answer := c.ask("evaluate", object{"expression": e.text, "frameId": frame, "context": e.context})
		got := "! " + fmt.Sprint(answer["message"])
		if body, _ := answer["body"].(map[string]any); answer["success"] == true {
			got = body["result"].(string)
		}
		if got != e.want && (!strings.HasPrefix(e.want, "! ") || !strings.HasPrefix(got, e.want)) {
			t.Errorf("%s (%s): %s, want %s", e.text, e.context, got, e.want)
		}
	}
	if got := c.must("evaluate", object{"expression": "total *= 3", "context": "repl"})["result"]; got != "33" { // of no frame
		t.Errorf("total is %v", got)
	}
	end()
	r, err := s.Run(t.Context(), gocell.Cell{Name: "cell 2", Source: "receipt"})
	if want := "[60 [} y] map[k:0 new:6] 6 {2 [] map[]} 28 1.5 33]"; err != nil || fmt.Sprint(r.Values) != want {
		t.Errorf("%v, %v, want %s", r.Values, err, want)
	}
}

// What is taken for an assignment consists of expressions.
func FuzzParseAssignment(f *testing.F) {
	for _, text := range []string{"a = 1", "a.b[0] += 2", "*p++", "x--", "a, b = 1, 2", "a := 1", "a = 1 }; func() {", "a = 1 // }", "//line x:1\na = 1", "a =\r\n`\r\n`"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, ok := parseAssignment(text)
		if !ok {
			return
		}
		for _, part := range []string{a.variable, a.value} {
			if _, err := parser.ParseExpr(part); err != nil {
				t.Errorf("%q has the part %q: %v", text, part, err)
			}
		}
	})
}

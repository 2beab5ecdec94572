package shader

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// TestHostileText has modules whose size or nesting would exhaust a checker
// that does not count: each ends at once, with an error or without.
func TestHostileText(t *testing.T) {
	many := func(n int, s string) string { return strings.Repeat(s, n) }
	var calls strings.Builder
	calls.WriteString("fn f0() -> u32 { return 1u; }\n")
	for i := range 40 {
		fmt.Fprintf(&calls, "fn f%d() -> u32 { return f%d() + f%d(); }\n", i+1, i, i)
	}
	var chain strings.Builder
	for i := range 200 {
		fmt.Fprintf(&chain, "var v%d = 0u;\n", i)
	}
	chain.WriteString("for (var k = 0u; k < 3u; k++) {\n")
	for i := range 199 {
		fmt.Fprintf(&chain, "v%d += v%d;\n", i, i+1)
	}
	chain.WriteString("v199 += i; }\n_ = v0;\n")
	entry := func(body string) string {
		return "@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {\n" + body + "\n}"
	}
	for _, c := range []struct{ name, src, text string }{
		{"parentheses", "const a = " + many(100000, "(") + "1" + many(100000, ")") + ";", "nesting depth"},
		{"signs", "const a = " + many(100000, "- ") + "1;", "nesting depth"},
		{"sum", "const a = 1" + many(100000, " + 1") + ";", "expression depth"},
		{"indices", "const a = b" + many(100000, "[0]") + ";", "nesting depth"},
		{"blocks", entry(many(100000, "{")), "nesting depth"},
		{"else", entry("if (true) { }" + many(100000, " else if (true) { }")), "nesting depth"},
		{"types", "var<private> a: " + many(100000, "array<") + "u32" + many(100000, ", 2>") + ";", "nesting depth"},
		{"templates", many(100000, "a<"), "expected"},
		{"loops", entry(many(60, "for (var k = 0u; k < 1u; k++) {\n") + many(60, "}")), ""},
		{"calls", calls.String() + entry("_ = f40();"), "operations once its calls are expanded"},
		{"variables that become wide one by one", entry(chain.String()), ""},
		{"constants", many(40, "const a = array<u32, 200000>();\n"), "redeclaration"},
		{"constant words", "const a = array<u32, 3000000>();\nconst b = array<u32, 3000000>();", "more than 4194304 components"},
		{"elements", "var<workgroup> a: array<array<u32, 65535>, 65535>;", "too large"},
		{"registers", entry(many(300, "{ var a: array<u32, 16384>; a[i] = 1u; }\n")), "variables of more than"},
		{"long text", many(syntax.MaxBytes+1, " "), "the limit is"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Parse(c.src)
			if err == nil && len(m.module.Funcs) > 0 {
				err = m.Dispatch(context.Background(), Call{Entry: "main", Groups: [3]uint32{1, 1, 1}})
			}
			switch {
			case c.text == "" && err != nil:
				t.Error(err)
			case c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text)):
				t.Errorf("error %v, want %q", err, c.text)
			}
		})
	}
}

package cell

import (
	"strings"
	"testing"
	"unicode/utf8"

	"forgekernel/kernel/link"
)

// nasty are cells that a person may be in the middle of, or paste by mistake.
var nasty = []string{
	"", " ", "\n", "\t\n\r\n", "\x00", "\xff\xfe\x80", "0,0\x04\x0e", "a,b\xff", "a, \xc3", "\xfe,00#", "x := \"\xff\xc3\"\ny := \"\xed\xa0\x80\"", "\ufefffmt.Println()", "x\x00.y",
	"fmt.Println(\"unclosed\nfmt.Pri", "x := `raw\nfmt.Pri", "/* open\nfmt.", "// é\r\nfmt.Println(é)\r\n", "'a", "'", "\"", "`", "\"\\", "\"\\\n",
	"😀 := 1\n😀.", "s := \"😀👩‍👩‍👧 e\u0301\"; strings.ToUp(s).", "größe, 変数 := 1, 2\n変数.", "\U0010ffff\U00010000x.",
	"((((((", "))))))", "{{{{", "[[[[", "f(g(h([]int{1, map[string]int{\"a\": ", "func f() { if x { for { switch { case", "if x := f(; x { }",
	"type T[K comparable, V any] struct { m map[K]V }\nfunc (t *T[K, V]) Get(k K) V { return t.m[k] }\nt := &T[string, int]{}\nt.Get(", "Map[int, string](", "x[",
	"L:\nfor {\n\tbreak L\n\tgoto L\n}\ncontinue", "goto", "break ", "L:", ":", "case", "switch x { case ", "switch x.(type) {\ncase ", "select { case <-",
	"%", "%%", "%%%", "%ti", "%%time\n%%go\nfmt.Pri", "%time\tfmt.Println(\"é\", str", "!", "!!", "!ls \\\n-l ", "%load ~/\\ ", "?", "x?\ny", "??x", "%who\n%debug 0 \n%goroutines stop \nx.",
	"%%bash\nls é/\x00", "%%writefile 'x\ny", "%%forge --show ir,", "%%forge --shapes 8x\ndef f(x):\n    return x.soft",
	"def f(größe: f32[2]):\n\treturn größe.", "def", "def f(", "def f(x):\n  return [x for x in", "# 😀\ndef f(x): return relu(x",
	"import \"", "import (\n\t\"fmt\"\n\tm \"math/", "import", "package main\nimport \"fmt\"\nfunc main() { fmt.", "import . \"strings\"\nToUp",
	"m[\"", "m[\"é", "m[\"a\\", "m[`", "m[\"a\"].x[\"", "os.Open(\"/", "os.Open(\"./😀", "a.b.c.d.e", "....", "x..y", ".5.", "1.", "0x", "1e", "\"a\".", "nil.", "func() {}.", "(.)",
	"T{", "T{{", "&T{a: ", "[]T{{}, {", "struct{ a int }{", "var x struct { a", "type T struct { T }", "type T = T", "type T [len(T{})]int", "const x = x", "var a, b = b, a",
	"func (T) ", "func (t *T[", "func f[T ", "func f[T any](x T) { x.", "var _ = 1 << 1 << 100", "x := 1 <<", "-", "<-", "&&", "a &^= ", "go ", "defer ", "return ", "\\", "$", "#", "@", "~", "^", ";;;;", ",,,,",
	"for i := range 3 {\n\tdefer func() { recover().", "interface{ m(); ~int | ", "func f(a, b int, c ...", "x, ok := <-", "x.(", "x.(type", "*", "**", "*p.", "cellcursor.", "cell·main", "_.", "_",
	strings.Repeat("(", 100), strings.Repeat("[]", 60) + "int{", strings.Repeat("f(", 50), strings.Repeat("{\n", 60), strings.Repeat("a.", 60), strings.Repeat("if x { ", 30),
}

// askEverywhere asks about a cell at every code point, and at those beside it.
func askEverywhere(t *testing.T, in *Interp, code string, step int) {
	t.Helper()
	points := utf8.RuneCountInString(code)
	for cursor := -1; cursor <= points+1; cursor += step {
		r := in.Complete(code, cursor)
		checkCompletion(t, code, cursor, r)
		if i := in.Inspect(code, cursor, 1); i.Found && i.Data["text/plain"] == "" {
			t.Fatalf("inspection of %.200q at %d found nothing to say", code, cursor)
		}
	}
}

// checkCompletion checks that what is replaced lies around the cursor, in the cell.
func checkCompletion(t *testing.T, code string, cursor int, r link.CompleteReply) {
	t.Helper()
	cursor = min(max(cursor, 0), utf8.RuneCountInString(code))
	if r.Matches == nil || r.Start < 0 || r.Start > cursor || r.End < cursor || r.End > utf8.RuneCountInString(code) {
		t.Fatalf("completion of %.200q at %d: %d matches for %d to %d", code, cursor, len(r.Matches), r.Start, r.End)
	}
}

// At every place of every cell, whatever state it is in.
func TestAssistEverywhere(t *testing.T) {
	n := newNotebook(t)
	n.ok(t, "m := map[string]int{\"a\": 1, \"é\": 2, \"\\xff\": 3, \"\\n\": 4}\ntype T struct{ a int; next *T }\nx := T{}")
	for _, code := range nasty {
		askEverywhere(t, n.Interp, code, 1)
	}
}

// What is large or deep takes no longer than a person waits: each of these took
// seconds or minutes while all of it was looked at.
func TestAssistInLargeCells(t *testing.T) {
	n := newNotebook(t)
	for _, code := range []string{
		strings.Repeat("x := 1\nfmt.Println(x)\n", 50_000), strings.Repeat("a", 1<<20), strings.Repeat("\xff", 1<<17), strings.Repeat("\x00", 1<<17),
		strings.Repeat("a.", 1<<17), strings.Repeat("a+", 1<<17), strings.Repeat("\"a\"+", 1<<16), strings.Repeat("f(", 1<<17), strings.Repeat("{", 1<<18),
		strings.Repeat("L: ", 1<<16), "if x {} " + strings.Repeat("else if x {} ", 1<<15), "x := \"" + strings.Repeat("é", 1<<19), "m[\"" + strings.Repeat("a", 1<<20),
		strings.Repeat("%time x\n", 1<<15), strings.Repeat("!x\n", 1<<16),
	} {
		points := utf8.RuneCountInString(code)
		askEverywhere(t, n.Interp, code, max(1, points/2))
	}
}

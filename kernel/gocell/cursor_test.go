package gocell

import (
	"context"
	"go/token"
	"go/types"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, `
type Shape struct{ Width, height int; strings.Builder }
func (s *Shape) Area() int { return s.Width * s.height }
func (s Shape) area2() int { return 0 }
longVariableName := 1
shape := &Shape{}
import m "math"
func helper(x int) string { return "" }
const Limit = 3
`)
	for _, tt := range []struct {
		src  string // | is the cursor
		want string // all matches, or some when it ends with …
	}{
		{"longVar|", "longVariableName:variable:int"},
		{"fmt.Printl|", "Println:function:(a ...any) (n int, err error)"},
		{"fmt.Println(strings.ToUpp|)", "ToUpper:function:(s string) string … ToUpperSpecial:function…"},
		{"shape.A|", "Area:method:() int"},
		{"shape.a|", "area2:method:() int"},
		{"shape.Wi|", "Width:field:int"},
		{"shape.WriteStr|", "WriteString:method:(s string) (int, error)"},
		{"shape.Area().|", ""},
		{"m.Sq|", "Sqrt:function:(x float64) float64 … SqrtPi:constant:untyped float…"},
		{"hel|", "helper:function:(x int) string"},
		{"y := shape\ny.Ar|", "Area:method:() int"},
		{"for i, item := range []string{} {\n\titem|", "item:variable:string"},
		{"func f(argument int) { argu|", "argument:variable:int"},
		{"if x := longVariableName; x > 0 { strconv.Ito|", "Itoa:function:(i int) string"},
		{"var t time.Ti| = 1", "Time:struct:struct … Timer:struct:struct…"},
		{"http.StatusTeap|", "StatusTeapot:constant:untyped int"},
		{"strco|", "strconv:module:strconv"},
		{"Lim|", "Limit:constant:untyped int"},
		{"sel|", "select:keyword:"},
		{`"fmt.Prin|"`, ""},
		{"// fmt.Prin|", ""},
		{"LONGV|", "longVariableName:variable:int"},
		{"func (s *Shape) grow(n int) { s.Wi|", "Width:field:int"},
		{"func (s *Shape) grow(n int) { s.Width = longVar|", "longVariableName:variable:int"},
		{"func (s Shape) grow(amount int) int { return amo|\n}\nshape.grow(1)", "amount:variable:int"},
		{"time.Now().Ye|", "Year:method:() int … YearDay:method:() int"},
		{"a := []Shape{}; a[0].Ar|", "Area:method:() int"},
		{"fmt.|", "Println:function:(a ...any) (n int, err error)…"},
	} {
		at := strings.Index(tt.src, "|")
		src := strings.Replace(tt.src, "|", "", 1)
		got := s.Complete(src, at)
		var list []string
		for _, c := range got.Candidates {
			list = append(list, c.Text+":"+c.Kind+":"+c.Signature)
		}
		for _, want := range strings.Split(strings.TrimSuffix(tt.want, "…"), " … ") {
			if want != "" && !slices.ContainsFunc(list, func(g string) bool { return strings.HasPrefix(g, want) }) {
				t.Errorf("%s: %v, want %s", tt.src, list, want)
			}
		}
		if !strings.HasSuffix(tt.want, "…") && len(list) != len(strings.FieldsFunc(tt.want, func(r rune) bool { return r == '…' })) {
			t.Errorf("%s: %d matches %v, want only %q", tt.src, len(list), list, tt.want)
		}
		from, to := word(src, at)
		if len(list) > 0 && (got.Start != from || got.End != to) {
			t.Errorf("%s: replaces %d to %d", tt.src, got.Start, got.End)
		}
	}
}

func TestCompletePlaces(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, "type Point struct{ Xpos, Ypos int; next *Point }\ntype Line struct{ From, To Point }")
	for _, tt := range []struct{ src, replaced, want string }{
		{`import "net/h|`, "net/h", "net/http"},
		{`import "net/ht|tp/"`, "net/http/", "net/http"},
		{"import (\n\t\"fmt\"\n\tm \"encoding/js|\"\n)", "encoding/js", "encoding/json"},
		{`import . "strin|"`, "strin", "strings"},
		{"Point{X|", "X", "Xpos"},
		{"Point{Xpos: 1, Y|}", "Y", "Ypos"},
		{"p := &Point{\n\tne|\n}", "ne", "next"},
		{"[]Point{{Xpos: 2}, {Yp|", "Yp", "Ypos"},
		{"Line{From: Point{Xp|}}", "Xp", "Xpos"},
		{"map[string]*Point{\"a\": {Xp|}}", "Xp", "Xpos"},
	} {
		at := strings.Index(tt.src, "|")
		src := strings.Replace(tt.src, "|", "", 1)
		got := s.Complete(src, at)
		if !slices.ContainsFunc(got.Candidates, func(c Candidate) bool { return c.Text == tt.want }) || src[got.Start:got.End] != tt.replaced {
			t.Errorf("%s: %v in place of %q", tt.src, got.Candidates, src[got.Start:got.End])
		}
	}
	for _, src := range []string{"Point{Xpos: Y|}", "Point{Xpos: 1, Xp|}", `fmt.Println("net/h|`, "[]int{Xp|}"} {
		at := strings.Index(src, "|")
		if got := s.Complete(strings.Replace(src, "|", "", 1), at).Candidates; len(got) > 0 {
			t.Errorf("%s: %v", src, got)
		}
	}
}

func TestInspect(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, `
// twice doubles.
// It is simple.
func twice(x int) int { return 2 * x }

// T has an A.
type T struct{ A int }

// M is empty.
func (t T) M() string { return "" }
v := T{1}
`)
	for _, tt := range []struct {
		src             string
		detail          int
		sig, doc, where string
	}{
		{"fmt.Print|ln(1)", 0, "func fmt.Println(a ...any) (n int, err error)", "Println formats using the default formats", "fmt"},
		{"twi|ce(3)", 0, "func twice(x int) int", "twice doubles.\nIt is simple.", "cell"},
		{"v.|M()", 0, "func (T).M() string", "M is empty.", "cell"},
		{"T.|M", 0, "func (T).M() string", "M is empty.", "cell"},
		{"T|", 0, "type T struct{A int}", "T has an A.", "cell"},
		{"v.A|", 0, "field A int", "", ""},
		{"v|", 0, "var v T", "", "cell"},
		{"fm|t.Println", 0, "package fmt", "Package fmt implements formatted I/O", "fmt"},
		{"(&strings.Builder{}).String|", 0, "func (*strings.Builder).String() string", "String returns the accumulated string", "strings"},
		{"time.Second|", 0, "const time.Second time.Duration = 1000000000", "", "time"},
		{"const big = 1 << 70; big|", 0, "const big untyped int = 1180591620717411303424", "", ""},
		{"display.Show|", 0, "func display.Show(v ...any)", "Show displays", "forgekernel/display"},
		{"len|(x)", 0, "func len(v Type) int", "The len built-in function returns the length of v", "the language"},
		{"append|(x, 1)", 0, "func append(slice []Type, elems ...Type) []Type", "appends elements", "the language"},
		{"min(|1, 2)", 0, "func min[T cmp.Ordered](x T, y ...T) T", "", "the language"},
		{"var x int|", 0, "type int int", "at least 32 bits", "the language"},
		{"var e error|", 0, "type error interface {", "conventional interface", "the language"},
		{"x := nil|", 0, "var nil", "zero value", "the language"},
		{"const a = iota|", 0, "const iota", "untyped integer ordinal", "the language"},
		{"de|fer v.M()", 0, "defer f(x)", "at the end of the cell", "the language"},
		{"func f() { re|turn }", 0, "return x, err", "Ends the function", "the language"},
		// Within a call it is that of the function, where no name is touched.
		{"twice(|)", 0, "func twice(x int) int", "twice doubles.", "cell"},
		{"twice(|", 0, "func twice(x int) int", "twice doubles.", "cell"},
		{"y := twice(1 + |\nfmt.Println(y)", 0, "func twice(x int) int", "twice doubles.", "cell"},
		{"fmt.Println(1, |twice(2))", 0, "func twice(x int) int", "twice doubles.", "cell"},
		{"fmt.Println(twice(2), |)", 0, "func fmt.Println(a ...any) (n int, err error)", "", "fmt"},
		{"fmt.Println((1 + | 2))", 0, "func fmt.Println(a ...any) (n int, err error)", "", "fmt"},
		{"fmt.Println([]int{1, |})", 0, "func fmt.Println(a ...any) (n int, err error)", "", "fmt"},
		{"fmt.Println(\"a | b\")", 0, "func fmt.Println(a ...any) (n int, err error)", "", "fmt"},
		{"fmt.Println(nosuch|)", 0, "func fmt.Println(a ...any) (n int, err error)", "", "fmt"},
		{"slices.Max[[]int](| nil)", 0, "func slices.Max[S ~[]E, E cmp.Ordered](x S) E", "", "slices"},
		{"v.M(|)", 0, "func (T).M() string", "M is empty.", "cell"},
		{"strings.NewReplacer(\"a\", \"b\").Replace(|)", 0, "func (*strings.Replacer).Replace(s string) string", "", "strings"},
	} {
		at := strings.Index(tt.src, "|")
		got, ok := s.Inspect(strings.Replace(tt.src, "|", "", 1), at, tt.detail)
		if !ok {
			t.Errorf("%s: not found", tt.src)
			continue
		}
		if tt.sig != "" && !strings.HasPrefix(got.Signature, tt.sig) || !strings.Contains(got.Doc, tt.doc) || tt.where != "" && got.Defined != tt.where {
			t.Errorf("%s: %+v", tt.src, got)
		}
	}
	for name := token.BREAK; name <= token.VAR; name++ {
		if got, ok := s.Inspect(name.String(), 1, 0); !ok || got.Signature == "" || got.Doc == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, name := range types.Universe.Names() {
		if got, ok := s.Inspect("_ = "+name, 5, 0); !ok || got.Signature == "" || got.Doc == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got, _ := s.Inspect("twice", 2, 1); got.Source != "func twice(x int) int { return 2 * x }" {
		t.Errorf("source is %q", got.Source)
	}
	if got, _ := s.Inspect("T", 1, 1); got.Source != "type T struct{ A int }" {
		t.Errorf("source is %q", got.Source)
	}
	if got, _ := s.Inspect("T.M", 3, 1); got.Source != `func (t T) M() string { return "" }` {
		t.Errorf("source is %q", got.Source)
	}
	if got, _ := s.Inspect("fmt.Println(v)", 13, 0); got.Signature != "var v T" || got.Call != "func fmt.Println(a ...any) (n int, err error)" {
		t.Errorf("an argument is %+v", got)
	}
	for src, want := range map[string]string{"v": "M() string", "T": "M() string", "twice": ""} {
		if got, _ := s.Inspect(src, len(src), 0); strings.Join(got.Methods, " ") != want {
			t.Errorf("methods of %s are %q", src, got.Methods)
		}
	}
	for _, src := range []string{"(", "(1 + ", "func f(", "if (", "[1](", "f](", ")(", "]("} {
		if got, ok := s.Inspect(src, len(src), 0); ok {
			t.Errorf("%s is in a call of %+v", src, got)
		}
	}
	if _, ok := s.Inspect("nosuchname", 3, 0); ok {
		t.Error("an unknown name is found")
	}
	if _, ok := s.Inspect("1 + 2", 1, 0); ok {
		t.Error("a space is found")
	}
}

// What belongs to a place alone, and what has the type that belongs there, comes first.
func TestCompleteFirst(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, `type Point struct{ Xpos, Ypos int; next *Point; Tags map[string]int }
type Level int
const ( Low Level = iota; High )
type Shape interface{ Area() float64 }
ages := map[string]int{"ann": 1, "bob": 2, "a \"b\"": 3}
squares := map[int]int{2: 4, 10: 100}
levels := map[Level]string{Low: "l"}
point := &Point{Tags: map[string]int{"tag": 1}}
nested := map[string]map[string]int{"in": {"ner": 1}}
list := []map[string]int{{"first": 1}}
var held any = map[string]int{"kept": 1}
level := Low
name := "n"
count := 1
pi := 3.14
func size(p *Point) int { return 0 }
func label(l Level, s string) float64 { return 0 }
var none map[string]int`)
	for _, tt := range []struct{ src, replaced, want string }{ // the first candidates, in order
		{`ages["|`, ``, `a \"b\""] ann"] bob"]`},
		{`ages["a|`, `a`, `a \"b\""] ann"]`},
		{`ages["|"]`, ``, `a \"b\" ann bob`},
		{`ages["an|n"]`, `ann`, `ann`},
		{"ages[`|`]", ``, `a "b" ann bob`},
		{`ages["b|]`, `b`, `bob"`},
		{`x := ages["b|, 2)`, `b`, `bob"]`},
		{`fmt.Println(ages["b|"], 2)`, `b`, `bob`},
		{`ages[|]`, ``, `"a \"b\"" "ann" "bob"`},
		{`ages[|`, ``, `"a \"b\"" "ann" "bob" name`},
		{`squares[|]`, ``, `10 2 count`},
		{`squares[1|]`, `1`, `10`},
		{`levels[|]`, ``, `High Low level`},
		{`point.Tags["|"]`, ``, `tag`},
		{`nested["in"]["|"]`, ``, `ner`},
		{`list[0]["|"]`, ``, `first`},
		{`held.(map[string]int)["|"]`, ``, ``}, // not without evaluating
		{`none["|"]`, ``, ``}, {`nosuch["|"]`, ``, ``}, {`list["|"]`, ``, ``}, {`name["|"]`, ``, ``},
		{`label(|)`, ``, `High Low level`},
		{`label(level, |)`, ``, `name`},
		{`var l Level = |`, ``, `High Low l level`},
		{`if level == |`, ``, `High Low level`},
		{`switch level { case |`, ``, `High Low level`},
		{`switch level { case Low, H|`, `H`, `High`},
		{`switch time.Now().Weekday() { case |`, ``, `time.Friday time.Monday`},
		{`switch time.Now().Month() { case time.Ma|`, `Ma`, `March May`},
		{`time.Sleep(|)`, ``, `time.Hour time.Microsecond`},
		{`level = |`, ``, `High Low level`},
		{`func f() Level { return | }`, ``, `High Low f level`},
		{`func f() (int, Level) { return 1, | }`, ``, `High Low level`},
		{`strings.Repeat(name, |)`, ``, `count size`},
		{`strings.Repeat(|)`, ``, `name`},
		{`Point{|`, ``, `Tags Xpos Ypos next`},
		{`Point{next: |`, ``, `point`},
		{`[]Level{|`, ``, `High Low level`},
		{`ch := make(chan Level); ch <- |`, ``, `High Low level`},
		{`fmt.Println(|)`, ``, `High Level`}, // anything may stand there
		{"goto |\nL:", "", "L"},
		{"L:\nfor { break |", "", "L"},
		{"L:\nfor { for { continue | } }", "", "L"},
		{"L:\nfor { }\nfor { break | }", "", ""},
		{"func f() {\nA:\n\tfor {\n\t\tfunc() {\n\t\tB:\n\t\t\tgoto |\n\t\t}()\n\t}\n}", "", "B"},
		{"break\n|", "", "High Level"},
		{`len|`, `len`, `len`},
	} {
		at := strings.Index(tt.src, "|")
		src := strings.Replace(tt.src, "|", "", 1)
		got := s.Complete(src, at)
		var list []string
		for _, c := range got.Candidates[:min(len(got.Candidates), max(1, len(strings.Fields(tt.want))))] {
			list = append(list, c.Text)
		}
		if text := strings.Join(list, " "); !strings.HasPrefix(text, tt.want) || tt.want == "" && text != "" || src[got.Start:got.End] != tt.replaced {
			t.Errorf("%s: %q in place of %q, want %q in place of %q", tt.src, text, src[got.Start:got.End], tt.want, tt.replaced)
		}
	}
	if got := s.Complete("append", 6).Candidates[0]; got.Signature != "(slice []Type, elems ...Type) []Type" {
		t.Errorf("append is %+v", got)
	}
	for src, file := range map[string]bool{`os.Open("/et`: true, "x := `./a": true, `ages["/`: false, `// "/et`: false, `'/et`: false, `"/etc" + `: false} {
		if got := s.Complete(src, len(src)); got.File != file {
			t.Errorf("%s: %+v", src, got)
		}
	}
}

// A variable is shown with its value, in cells that use it and in the one that
// made it, but not where another has its name.
func TestInspectValue(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	const cell = "// count counts.\ncount := 3\ntype Loop struct{ next *Loop }\nloop := &Loop{}\nloop.next = loop\n" +
		"var empty error\ndone := make(chan bool)\nfunc twice(x int) int { return 2 * x }\nfunc (Loop) String() string { for {} }\nages := map[string]int{\"ann\": 1}"
	mustRun(t, s, cell)
	mustRun(t, s, "import text \"strings\"")
	for _, tt := range []struct{ src, value, defined string }{
		{"count|", "3", "cell"},
		{"x := 1 + cou|nt", "3", "cell"},
		{cell[:17] + "cou|nt := 3", "3", "cell"},
		{"loop|", "&Loop{next: &Loop{…}}", "cell"},
		{"empty|", "nil", "cell"},
		{"twice|", "", "cell"},
		{"func f(count int) int { return coun|t }", "", ""},
		{"count := \"a\"; cou|nt", "", ""},
		{"for count := range 3 { cou|nt }", "", ""},
		{"func f(twice int) int { return twi|ce }", "", ""},
		{"func f(text int) int { return tex|t }", "", ""}, // an import
		{"type Row struct{ twi|ce int }", "", ""},
	} {
		at := strings.Index(tt.src, "|")
		got, ok := s.Inspect(strings.Replace(tt.src, "|", "", 1), at, 0)
		if !ok || got.Value != tt.value || got.Defined != tt.defined {
			t.Errorf("%s: %v, %+v", tt.src, ok, got)
		}
	}
	if got, _ := s.Inspect("// sum adds.\nfunc sum() {}", 20, 0); got.Doc != "sum adds." {
		t.Errorf("a function of the cell itself: %+v", got)
	}
	// A cell that runs is held meanwhile.
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx, Cell{Name: "busy", Source: "text := \"a\"\nready := make(chan int, 1)\nready <- 1\nfor { count++ }"})
	}()
	for src, want := range map[string]string{"ready": "chan int", "count": "", "text": `"a"`, "loop": "&Loop{next: &Loop{…}}"} {
		for got := ""; got == "" || !strings.HasPrefix(got, want); runtime.Gosched() { // it may not run yet, or come to no poll in time
			help, _ := s.Inspect(src, 1, 0)
			got = help.Value
		}
	}
	stop()
	<-ended
	if got := s.Complete(`ages["`, 6); len(got.Candidates) != 1 {
		t.Errorf("keys when nothing runs: %v", got.Candidates)
	}
}

func TestCompleteness(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	for src, want := range map[string]string{
		"":                           "complete",
		"1 + 1":                      "complete",
		"func f() {}":                "complete",
		"func f() {":                 "incomplete \t",
		"if x {\n\tfor {\n":          "incomplete \t\t",
		"fmt.Println(":               "incomplete \t",
		"x :=":                       "incomplete ",
		"x := 1 +":                   "incomplete ",
		"s := `raw":                  "incomplete ",
		"/* comment":                 "incomplete ",
		"func func":                  "invalid",
		"x := )":                     "invalid",
		"x := \"open":                "invalid",
		"for i := 0; i < 3; i++ { }": "complete",
		"a b c":                      "invalid",
		"var x = []int{1,\n2,":       "incomplete \t",
	} {
		status, indent := s.Completeness(src)
		if got := status + " " + indent; strings.TrimSuffix(got, " ") != strings.TrimSuffix(want, " ") {
			t.Errorf("%q is %q, want %q", src, got, want)
		}
	}
}

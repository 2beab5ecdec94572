package runner

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"forgekernel/kernel/notebook"
)

func TestInject(t *testing.T) {
	nb := book("first", "#parameters\nsteps := 10\nname, rate := \"a\", 0.5\nvar (\n\tdeep bool\n\ttitle string\n)", "last")
	params := map[string]string{"steps": "20", "name": "it's \"x\"", "rate": "1", "deep": "true", "title": `"quoted"`}
	if err := inject(nb, params); err != nil {
		t.Fatal(err)
	}
	const want = `// Parameters of this run
deep = true
name = "it's \"x\""
rate = 1
steps = 20
title = "quoted"`
	if len(nb.Cells) != 4 || nb.Cells[2].Source != want || !nb.Cells[2].HasTag(TagInjected) {
		t.Fatalf("cell 3 is\n%s", nb.Cells[2].Source)
	}
	if err := inject(nb, map[string]string{"steps": "5 * 2"}); err != nil {
		t.Fatal(err)
	}
	if len(nb.Cells) != 4 || nb.Cells[2].Source != "// Parameters of this run\nsteps = 5 * 2" {
		t.Errorf("a second injection leaves %d cells and\n%s", len(nb.Cells), nb.Cells[2].Source)
	}
}

// A value is written as its variable needs it.
func TestLiterals(t *testing.T) {
	const defining = "#parameters\nn, x, yes := 10, 0.5, true\nname := \"a\"\nwait := 5 * time.Second\nlimit := time.Duration(0)\nvar size float32\nlist := []int{1}"
	for _, c := range []struct{ name, value, want string }{
		{"n", "20", "20"}, {"n", "-3", "-3"}, {"n", "len(list)", "len(list)"},
		{"x", "2", "2"}, {"x", "1e-3", "1e-3"}, {"size", "2", "2"},
		{"yes", "false", "false"}, {"yes", "n > 3", "n > 3"},
		{"name", "cpu", `"cpu"`}, {"name", "a,b=c", `"a,b=c"`}, {"name", "7", `"7"`}, {"name", "", `""`}, {"name", "`raw`", "`raw`"},
		{"wait", "1m30s", "time.Duration(90000000000)"}, {"wait", "2 * time.Minute", "2 * time.Minute"}, {"limit", "0s", "time.Duration(0)"},
		{"list", "[]int{1, 2}", "[]int{1, 2}"},
	} {
		nb := book(defining)
		if err := inject(nb, map[string]string{c.name: c.value}); err != nil {
			t.Errorf("%s=%s: %v", c.name, c.value, err)
			continue
		}
		if want := "// Parameters of this run\n" + c.name + " = " + c.want; nb.Cells[1].Source != want {
			t.Errorf("%s=%s became %q, want %q", c.name, c.value, nb.Cells[1].Source, want)
		}
	}
	for _, c := range []struct{ name, value, want string }{
		{"n", "0.5", "the value is a number with a fraction, and the variable a whole number"},
		{"n", `"20"`, "the value is text, and the variable a whole number"},
		{"n", "true", "the value is true or false, and the variable a whole number"},
		{"yes", "1", "the value is a whole number, and the variable true or false"},
		{"wait", "5", "the value is a whole number, and the variable a duration"},
		{"size", "'c'", "the value is a character"},
		{"x", "5 apples", "the value is not a Go expression"},
		{"n", "99999999999999999999", "the value does not fit the variable, which is of type int"},
		{"n", "1 << 70", "the value does not fit the variable, which is of type int"},
		{"n", "many", "many is not defined"},
		{"n", "math.Pi", "the value does not fit the variable, which is of type int"},
		{"x", "math.Pie", "math.Pie is not defined"},
		{"n", "len(5)", "the value does not fit the variable"},
		{"list", "[]string{}", "the value does not fit the variable, which is of type []int"},
		{"list", "7", "the value does not fit the variable, which is of type []int"},
		{"limit", "0.5 * x", "the value does not fit the variable, which is of type time.Duration"},
	} {
		var params *ParamsError
		err := inject(book(defining), map[string]string{c.name: c.value})
		if !errors.As(err, &params) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v, want %q", c.name, c.value, err, c.want)
		}
	}
}

// A value may use what cells before define.
func TestValueOfEarlierCells(t *testing.T) {
	nb := book("many := 3", "#parameters\nn := 1\nm := many")
	for name, value := range map[string]string{"n": "many", "m": "math.MaxInt8"} {
		if err := Check(nb, map[string]string{name: value}); err != nil {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

func TestInjectErrors(t *testing.T) {
	for _, c := range []struct {
		cell, name, value, want string
	}{
		{"x := 1", "x", "2", "no cell of the notebook is tagged parameters"},
		{"#parameters\nx := 1\ny := 2", "z", "2", "has no variable z; it has x, y"},
		{"#parameters\nx := 1", "x", "2 +", "x=2 +: the value is not a Go expression"},
		{"#parameters\nx := 1", "x", "", "x=: the value is not a Go expression"},
		{"#parameters\nx := 1", "x", "1; y()", "the value is not a Go expression"},
		{"#parameters\nx := 1", "x", "1\ny()", "the value is not a Go expression"},
		{"#parameters\nx := 1", "x", "1 // y", "the value is not a Go expression"},
		{"#parameters\ndef f(x):\n    return x", "x", "2", "nothing but definitions of Go variables"},
		{"#parameters\n}; func g() {", "x", "2", "has no variable x"},
	} {
		nb := book(c.cell)
		err := inject(nb, map[string]string{c.name: c.value})
		var params *ParamsError
		if !errors.As(err, &params) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %s=%s: %v, want %q", c.cell, c.name, c.value, err, c.want)
		}
		if len(nb.Cells) != 1 {
			t.Errorf("%q: a failure left %d cells", c.cell, len(nb.Cells))
		}
	}
}

func FuzzInject(f *testing.F) {
	f.Add("x := 1", "2")
	f.Add("var x, y = \"a\", 2", "`b`")
	f.Fuzz(func(t *testing.T, cell, value string) {
		nb := &notebook.Notebook{Cells: []*notebook.Cell{
			{Type: notebook.Code, Source: cell, Metadata: map[string]any{"tags": []any{TagParameters}}}}}
		if inject(nb, map[string]string{"x": value}) != nil {
			return
		}
		injected := "package p; func _() {\n" + nb.Cells[1].Source + "\n}"
		file, err := parser.ParseFile(token.NewFileSet(), "", injected, 0)
		if err != nil {
			t.Fatalf("%q became %q: %v", value, nb.Cells[1].Source, err)
		}
		body := file.Decls[0].(*ast.FuncDecl).Body
		if len(file.Decls) != 1 || len(body.List) != 1 {
			t.Errorf("%q became more than an assignment: %q", value, nb.Cells[1].Source)
		}
	})
}

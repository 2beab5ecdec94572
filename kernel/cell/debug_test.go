package cell

import (
	"reflect"
	"strings"
	"testing"
)

func TestDebug(t *testing.T) {
	n := newNotebook(t)
	if _, _, failure := n.run(t, "%debug"); failure == nil || failure.Name != "UsageError" {
		t.Errorf("without a panic: %+v", failure)
	}
	n.run(t, "func pick(xs []int, k int) int {\n\tm := map[string]int{\"k\": k}\n\treturn xs[k] + m[\"k\"]\n}\nfunc twice(k int) int { return 2 * pick([]int{1, 2}, k) }")
	if _, _, failure := n.run(t, "y := twice(5)"); failure == nil {
		t.Fatal("no panic")
	}
	for code, want := range map[string][]string{
		"%debug":                {"cell 2:3", "pick", `xs=[1, 2], k=5, m=map["k": 5]`, "twice", "k=5", "cell 3:1"},
		"%debug 1":              {"cell 2:5 twice", "k", "int", "5"},
		"%debug len(xs)":        {"2"},
		"%debug 0 m[\"k\"] - 1": {"4"},
		"%debug 1 k":            {"5"},
	} {
		printed, out, failure := n.run(t, code)
		if failure != nil {
			t.Errorf("%s: %+v", code, failure)
			continue
		}
		text, _ := out.Result.Data["text/plain"].(string)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s shows\n%s\nwithout %s", code, text, w)
			}
		}
		if code == "%debug" && printed != "panic: runtime error: index out of range [5] with length 2\n" {
			t.Errorf("printed %q", printed)
		}
	}
	for _, code := range []string{"%debug 9", "%debug -1", "%debug nosuch", "%debug 1 ) ("} {
		if _, _, failure := n.run(t, code); failure == nil {
			t.Errorf("%s is taken", code)
		}
	}
	n.run(t, "%reset -f")
	if _, _, failure := n.run(t, "%debug"); failure == nil {
		t.Error("a panic outlives %reset")
	}
}

func TestStopLines(t *testing.T) {
	n := newNotebook(t)
	for code, want := range map[string][]int{
		"x := 1\n\ny := 2":                    {1, 3},
		"%env A=1\n// c\nx := 1":              {3},
		"%%time\nx := 1":                      {2},
		"%%go\n\nx := 1":                      {3},
		"%%bash\nls":                          nil,
		"def f(a):\n    return a":             nil,
		"%who":                                nil,
		"func f() {\n\tfor {\n\t\tx()\n\t}\n": {3},
		"":                                    nil,
	} {
		if got := n.StopLines(code); !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
			t.Errorf("%q: got %v, want %v", code, got, want)
		}
	}
}

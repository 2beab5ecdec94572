package script

import (
	"slices"
	"strings"
	"testing"
)

func TestCompleteness(t *testing.T) {
	for _, c := range []struct {
		source string
		status Status
		indent string
	}{
		{"", Complete, ""},
		{"def f(x):", Incomplete, "    "},
		{"def f(x):\n", Incomplete, "    "},
		{"def f(x):\n  y = x\n", Incomplete, "  "},
		{"def f(x):\n    y = (x +\n", Incomplete, "        "},
		{"def f(x,\n", Incomplete, "    "},
		{"def f(x):\n    \"\"\"Doc", Incomplete, "        "},
		{"def f(x):\n    return x", Complete, ""},
		{"def f(x):\n    return undefined(x)", Complete, ""},
		{"def f(x):\n    return x\n\ndef g(x):\n", Incomplete, "    "},
		{"def f(x)\n", Invalid, ""},
		{"def f(x):\n    y = x ** 2\n", Invalid, ""},
		{"x = 1", Invalid, ""},
		{strings.Repeat(" ", MaxSource+1), Invalid, ""},
	} {
		if status, indent := Completeness(c.source); status != c.status || indent != c.indent {
			t.Errorf("%q is %s with indent %q, want %s with %q", c.source, status, indent, c.status, c.indent)
		}
	}
}

// at splits a source at its cursor, written as |.
func at(source string) (string, int) {
	before, after, _ := strings.Cut(source, "|")
	return before + after, len([]rune(before))
}

func scopeOf(t *testing.T, source string) Scope {
	t.Helper()
	file, err := Parse("scope.fs", source, nil, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return fileScope{file}
}

// fileScope is a scope of the functions of one file.
type fileScope struct{ *File }

func (s fileScope) Lookup(name string) *Func { return s.find(name) }

func (s fileScope) Names() []string {
	var names []string
	for _, f := range s.Funcs {
		names = append(names, f.Name.Name)
	}
	return names
}

func TestCompletions(t *testing.T) {
	scope := scopeOf(t, "def renorm(x, scale):\n    return x / scale\n")
	for _, c := range []struct{ source, want string }{
		{"def f(x):\n    return re|", "relu renorm reshape"},
		{"def f(rest):\n    result = rest\n    return re|lu(x)", "relu renorm reshape rest result"},
		{"def f(rest):\n    return x.re|", "relu reshape"},
		{"def f(x):\n    return sum(x, a|", "abs axis="},
		{"def f(x):\n    return sum(x, keepdims=|", "False True"},
		{"def f(x):\n    return relu(x, k|", ""},
		{"def f(x: |", "f32"},
		{"def f(|", ""},
		{"d|", "def"},
		{"def f(x):\n    ret|", "return"},
		{"def f(x):\n    # re|", ""},
		{"def f(x):\n    'öä' # wörd re|", ""},
		{"def f(x):\n    '''re|", ""},
		{"def f(x):\n    return 1e|", ""},
		{"def first(x):\n    return x\ndef f(x):\n    return fi|", "first"},
	} {
		source, cursor := at(c.source)
		list, start, end := Completions(source, cursor, scope)
		var got []string
		for _, candidate := range list {
			got = append(got, candidate.Text)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q completes to %q, want %q", c.source, got, c.want)
		}
		if end != cursor || start > end {
			t.Errorf("%q replaces %d to %d of cursor %d", c.source, start, end, cursor)
		}
	}
}

func TestInspect(t *testing.T) {
	scope := scopeOf(t, "def renorm(x, scale):\n    'Divides.'\n    return x / scale\n")
	for _, c := range []struct{ source, name, signature, doc string }{
		{"def f(x):\n    return so|ftmax(x)", "softmax", "softmax(x, axis=-1)", "last axis"},
		{"def f(x):\n    return sum(x, |)", "sum", "sum(x, axis=…, keepdims=False)", "keepdims=True keeps"},
		{"def f(x):\n    return renorm|(x)", "renorm", "renorm(x, scale)", "Divides."},
		{"de|f f(x):\n", "def", "def name(x: f32[8,16], y):", "pure function"},
		{"def f(x):\n    return transpose|", "transpose", "transpose(x, axes…)", "reversed"},
	} {
		source, cursor := at(c.source)
		if name := NameAt(source, cursor); name != c.name {
			t.Errorf("%q is at %q, want %q", c.source, name, c.name)
		}
		info, ok := Inspect(c.name, scope)
		if !ok || info.Signature != c.signature || !strings.Contains(info.Doc, c.doc) {
			t.Errorf("Inspect(%s) is %v %+v, want %s with …%s…", c.name, ok, info, c.signature, c.doc)
		}
	}
	if _, ok := Inspect("nothing", nil); ok {
		t.Error("Inspect knows nothing")
	}
}

// Every builtin is documented, and its documentation starts with the
// operator's.
func TestBuiltinsDocumented(t *testing.T) {
	for _, name := range builtinNames() {
		info, ok := Inspect(name, nil)
		if !ok || len(info.Doc) < 20 || !slices.Contains([]string{"x", "a"}, builtins[name].operands[0]) {
			t.Errorf("%s: %+v", name, info)
		}
	}
}

func FuzzAssist(f *testing.F) {
	for _, source := range chunks(f) {
		f.Add(source, len(source)/2)
	}
	f.Fuzz(func(t *testing.T, source string, cursor int) {
		if len(source) > 1000 || cursor < 0 {
			return
		}
		Completeness(source)
		NameAt(source, cursor)
		if _, start, end := Completions(source, cursor, nil); start > end {
			t.Fatalf("replaces %d to %d", start, end)
		}
	})
}

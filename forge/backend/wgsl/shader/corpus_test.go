package shader

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"forgekernel/forge/backend/wgsl/shader/check"
	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// The corpus is files of small programs, parted by lines "---". The first line
// of a program is a comment with its name. A valid program writes binding 0,
// which starts as zeros; its other buffers are filled with a pattern. Lines
// "// key: value" give
//
//	groups     the workgroups, 1 1 1 where it is not there
//	want       the first scalars of binding 0 afterwards
//	tolerance  the error that is allowed, relative to 1 or to the value
//	set        an override and its value
//
// An invalid program has "//! text" on the line where it has to be refused; the
// message of this package has to contain the text.
type entry struct {
	name, source string
	groups       [3]uint32
	want         []string
	tolerance    float64
	overrides    map[string]float64
	line         int // of the error
	text         string
}

const pattern = 64 // words of a buffer that the corpus fills

func corpus(t testing.TB, kind string) []entry {
	t.Helper()
	files, err := filepath.Glob("testdata/" + kind + "/*.wgsl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus of %s programs: %v", kind, err)
	}
	var list []entry
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, src := range strings.Split(string(text), "\n---\n") {
			list = append(list, readEntry(t, filepath.Base(file), src))
		}
	}
	return list
}

func readEntry(t testing.TB, file, src string) entry {
	e := entry{source: src, groups: [3]uint32{1, 1, 1}, overrides: map[string]float64{}}
	first, _, _ := strings.Cut(src, "\n")
	e.name = strings.TrimSuffix(file, ".wgsl") + "/" + strings.TrimPrefix(first, "// ")
	for i, line := range strings.Split(src, "\n") {
		if _, text, ok := strings.Cut(line, "//! "); ok {
			e.line, e.text = i+1, text
		}
		key, value, ok := strings.Cut(strings.TrimPrefix(line, "// "), ": ")
		if !ok || !strings.HasPrefix(line, "// ") {
			continue
		}
		f := strings.Fields(value)
		var err error
		switch key {
		case "groups":
			for i := range e.groups {
				var n uint64
				n, err = strconv.ParseUint(f[i], 10, 32)
				e.groups[i] = uint32(n)
			}
		case "want":
			e.want = append(e.want, f...)
		case "tolerance":
			e.tolerance, err = strconv.ParseFloat(f[0], 64)
		case "set":
			e.overrides[f[0]], err = strconv.ParseFloat(f[1], 64)
		}
		if err != nil {
			t.Fatalf("%s: line %d: %v", e.name, i+1, err)
		}
	}
	return e
}

// buffers makes the buffers of a valid program.
func (e *entry) buffers(t testing.TB, m *Module) (map[Binding][]byte, []*check.Var) {
	bindings := map[Binding][]byte{}
	var vars []*check.Var
	for _, v := range m.module.Vars {
		if v.Space != check.Storage && v.Space != check.Uniform {
			continue
		}
		data := make([]byte, max(4*pattern, (leastBytes(v.Type)+15)/16*16))
		if v.Binding != 0 {
			list := kindsOf(v.Type, len(data))
			for i, at := 0, 0; at < len(data); i++ {
				switch k := list[i%len(list)]; k {
				case check.F32:
					binary.LittleEndian.PutUint32(data[at:], math.Float32bits(float32(i%23)*0.75-6))
					at += 4
				case check.F16:
					binary.LittleEndian.PutUint16(data[at:], check.HalfBits(float32(i%23)*0.75-6))
					at += 2
				case check.I32:
					binary.LittleEndian.PutUint32(data[at:], uint32(int32(i*7919%97-40)))
					at += 4
				default:
					binary.LittleEndian.PutUint32(data[at:], uint32(i*7919%97))
					at += 4
				}
			}
		}
		bindings[Binding{v.Group, v.Binding}] = data
		vars = append(vars, v)
	}
	return bindings, vars
}

// kindsOf lists the scalar kinds of a buffer's content, padding as u32.
func kindsOf(t *check.Type, _ int) []check.Kind {
	for t.Kind == check.Array {
		t = t.Elem
	}
	var kinds []check.Kind
	for _, l := range leaves(t) {
		kinds = append(kinds, l.kind)
	}
	if t.Kind != check.Struct {
		return kinds[:1]
	}
	return []check.Kind{check.U32}
}

func show(k check.Kind, w uint32) string {
	switch k {
	case check.F32:
		return strconv.FormatFloat(float64(math.Float32frombits(w)), 'g', -1, 32)
	case check.I32:
		return strconv.Itoa(int(int32(w)))
	}
	return strconv.FormatUint(uint64(w), 10)
}

// differ compares two words of a kind and says whether they are not the same.
func differ(k check.Kind, a, b uint32, tolerance float64) bool {
	if k != check.F32 || a == b {
		return a != b
	}
	x, y := float64(math.Float32frombits(a)), float64(math.Float32frombits(b))
	if x != x || y != y {
		return (x != x) != (y != y)
	}
	return x != y && !(math.Abs(x-y) <= tolerance*max(1, math.Abs(x)))
}

func TestValid(t *testing.T) {
	for _, e := range corpus(t, "valid") {
		t.Run(e.name, func(t *testing.T) {
			m := parse(t, e.source)
			bindings, vars := e.buffers(t, m)
			if err := m.Dispatch(context.Background(), Call{Groups: e.groups, Bindings: bindings, Overrides: e.overrides}); err != nil {
				t.Fatal(err)
			}
			kind := kindsOf(vars[0].Type, 0)[0]
			for i, want := range e.want {
				w, err := wanted(kind, want)
				if err != nil {
					t.Fatal(err)
				}
				if got := binary.LittleEndian.Uint32(bindings[Binding{}][4*i:]); differ(kind, w, got, e.tolerance) {
					t.Errorf("scalar %d of binding 0 is %s, want %s", i, show(kind, got), want)
				}
			}
		})
	}
}

func wanted(k check.Kind, text string) (uint32, error) {
	if k == check.F32 {
		f, err := strconv.ParseFloat(text, 32)
		return math.Float32bits(float32(f)), err
	}
	n, err := strconv.ParseInt(text, 0, 64)
	return uint32(n), err
}

func TestInvalid(t *testing.T) {
	for _, e := range corpus(t, "invalid") {
		t.Run(e.name, func(t *testing.T) {
			_, err := Parse(e.source)
			if err == nil {
				t.Fatal("accepted")
			}
			s, ok := err.(*syntax.Error)
			if !ok {
				t.Fatalf("error is a %T: %v", err, err)
			}
			if s.Pos.Line != e.line || !strings.Contains(s.Message, e.text) || e.line == 0 {
				t.Errorf("error %q, want line %d: %q", err, e.line, e.text)
			}
		})
	}
}

package script

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"forgekernel/display"
	"forgekernel/forge/ir"
)

// TestChunks checks testdata/*.fs. A file is divided into chunks by lines of
// "---"; each chunk is a source of its own. An error must occur exactly on the
// lines that end in
//
//	### 5-9 "regexp"
//
// from column 5 up to, not including, column 9, with a message or hint that
// matches. A chunk that starts with "# trace 8x16,16x12" is traced for inputs
// of those shapes when it parses.
func TestChunks(t *testing.T) {
	files, err := filepath.Glob("testdata/*.fs")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			before := 0
			for _, chunk := range strings.Split(string(data), "\n---\n") {
				// Empty lines in front keep line numbers those of the file.
				checkChunk(t, filepath.Base(path), strings.Repeat("\n", before)+chunk)
				before += strings.Count(chunk, "\n") + 2
			}
		})
	}
}

// chunks are all sources of testdata, for fuzzing.
func chunks(f *testing.F) []string {
	files, err := filepath.Glob("testdata/*.fs")
	if err != nil {
		f.Fatal(err)
	}
	var all []string
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, strings.Split(string(data), "\n---\n")...)
	}
	return all
}

// expectation is one error that a chunk must cause.
type expectation struct {
	line, col, end int
	pattern        *regexp.Regexp
}

var expected = regexp.MustCompile(`### (\d+)-(\d+) ("(?:[^"\\]|\\.)*")`)

func checkChunk(t *testing.T, name, source string) {
	t.Helper()
	var want []expectation
	for i, line := range strings.Split(source, "\n") {
		for _, m := range expected.FindAllStringSubmatch(line, -1) {
			col, _ := strconv.Atoi(m[1])
			end, _ := strconv.Atoi(m[2])
			pattern, err := strconv.Unquote(m[3])
			if err != nil {
				t.Fatalf("%s:%d: %s: %v", name, i+1, m[3], err)
			}
			want = append(want, expectation{i + 1, col, end, regexp.MustCompile(pattern)})
		}
		if strings.Contains(line, "###") && !expected.MatchString(line) {
			t.Errorf("%s:%d: this expectation is malformed", name, i+1)
		}
	}
	for _, d := range problems(t, name, source) {
		want = match(t, d, want)
	}
	for _, w := range want {
		t.Errorf("%s:%d:%d-%d: no error matches %q", name, w.line, w.col, w.end, w.pattern)
	}
}

// problems are what parsing, and tracing if asked for, reports.
func problems(t *testing.T, name, source string) Errors {
	file, err := Parse(name, source, nil, Limits{})
	if header := strings.TrimLeft(source, "\n"); err == nil && strings.HasPrefix(header, "# trace") {
		line, _, _ := strings.Cut(header, "\n")
		var specs []ir.Spec
		for _, shape := range strings.Split(strings.TrimSpace(strings.TrimPrefix(line, "# trace")), ",") {
			specs = append(specs, ir.F32(parseDims(t, shape)...))
		}
		_, err = file.Funcs[len(file.Funcs)-1].Trace(nil, specs)
	}
	var errs Errors
	if err != nil && !errors.As(err, &errs) {
		t.Fatalf("%s: the error is a %T: %v", name, err, err)
	}
	return errs
}

func parseDims(t *testing.T, shape string) []int {
	var dims []int
	for _, d := range strings.FieldsFunc(shape, func(r rune) bool { return r == 'x' || r == '_' }) {
		n, err := strconv.Atoi(d)
		if err != nil {
			t.Fatalf("shape %q: %v", shape, err)
		}
		dims = append(dims, n)
	}
	return dims
}

// match removes the expectation that d fulfils.
func match(t *testing.T, d *display.Diagnostic, want []expectation) []expectation {
	t.Helper()
	for i, w := range want {
		if d.Line == w.line && w.pattern.MatchString(d.Message+"; "+d.Hint) {
			if d.Col != w.col || d.EndCol != w.end {
				t.Errorf("columns %d-%d, want %d-%d, of %v", d.Col, d.EndCol, w.col, w.end, d)
			}
			return append(want[:i:i], want[i+1:]...)
		}
	}
	t.Errorf("unexpected error, columns %d-%d: %v", d.Col, d.EndCol, d)
	return want
}

package gocell

import (
	"path/filepath"
	"testing"

	"forgekernel/kernel/gocell/eval"
)

// FuzzSplit checks that no source makes the splitter, the parser, the checker
// or completion panic, and that both sections keep every byte in its place.
func FuzzSplit(f *testing.F) {
	files, _ := filepath.Glob("testdata/scenarios/*.txt")
	for _, file := range files {
		for _, sc := range readScenarios(f, file) {
			for _, c := range sc.cells {
				f.Add(c.source)
			}
		}
	}
	for _, s := range []string{"", "func", "func(", "func (x", ")", "package", "package main; x", "import", "import \"", "L:", "x := ;", "`", "/*", "type T", "var (", "\xff", "func (T) M", "é := 1", "{", "case", "x.\ny.", "·", "a, b", "x; a, f(\n1), // c", "a); go f(b, c", "a)(b, c", "import \"net/h", "T{a, b"} {
		f.Add(s)
	}
	s, err := New(Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, src string) {
		list, _ := scan(src)
		cut := splitCell(src, list)
		if len(cut.declarations) != len(src) || len(cut.statements) != len(src) {
			t.Fatalf("sections have %d and %d bytes of %d", len(cut.declarations), len(cut.statements), len(src))
		}
		for i := range len(src) {
			d, st := cut.declarations[i] == src[i], cut.statements[i] == src[i]
			if !d && !st && src[i] != ' ' {
				t.Fatalf("byte %d is in neither section", i)
			}
		}
		s.mu.Lock()
		c, faults := s.newCheck(t.Context(), &eval.Source{Name: "cell", Line: 1, Text: src})
		if len(faults) == 0 {
			c.run()
			c.rollback()
		}
		c.compileError(faults)
		s.mu.Unlock()
		s.Completeness(src)
		s.Complete(src, len(src))
		s.Inspect(src, len(src)/2, 1)
	})
}

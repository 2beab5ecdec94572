package script

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden compares the graphs of the example programs, traced for their
// annotated shapes, with testdata/golden. After a deliberate change, run the
// test with -update and read the difference.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("../../notebooks/programs/*.fs")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no example programs: %v", err)
	}
	for _, path := range paths {
		base := filepath.Base(path)
		t.Run(base, func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file, err := Parse(base, string(data), nil, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			entry := file.Funcs[len(file.Funcs)-1]
			specs, ok := entry.Specs()
			if !ok {
				t.Fatal("the entry is not annotated")
			}
			traced, err := entry.Trace(nil, specs)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "golden", strings.TrimSuffix(base, ".fs")+".ir")
			if *update {
				if err := os.WriteFile(golden, []byte(traced.Graph.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got := traced.Graph.String(); got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

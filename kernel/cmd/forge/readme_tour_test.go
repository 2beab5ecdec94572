package main

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// The cells of README's tour do what it says, one after another.
func TestReadmeTour(t *testing.T) {
	page, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tour, found := strings.Cut(string(page), "\n## A tour")
	if !found {
		t.Fatal("README has no tour")
	}
	tour, _, _ = strings.Cut(tour, "\n## ")
	blocks := regexp.MustCompile("(?ms)^```(?:python|go)\n(.*?)^```$").FindAllStringSubmatch(tour, -1)
	if len(blocks) < 5 {
		t.Errorf("the tour has %d cells", len(blocks))
	}
	kernel := startKernel(t)
	for _, b := range blocks {
		if got := run(t, kernel, b[1]); got.status != "ok" {
			t.Errorf("%s\n%s: %s\n%s", b[1], got.ename, got.evalue, got.traceback)
		} else if len(got.outputs) == 0 {
			t.Errorf("%s\nshows nothing", b[1])
		}
	}
}

// Links of the pages lead somewhere.
func TestReadmeLinks(t *testing.T) {
	root := os.DirFS("../../..")
	for _, page := range []string{"README.md", "kernel/README.md", "forge/README.md", "nebula/README.md", "kernel/cmd/forge/README.md", "kernel/peers/README.md", "nebula/peers/README.md", "forge/capture/benchmarks/README.md", "install/SECURITY.md", "install/TROUBLESHOOTING.md", "install/kaggle/README.md", "install/colab/README.md"} {
		checkLinks(t, root, page)
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func checkLinks(t *testing.T, root fs.FS, page string) {
	t.Helper()
	text, err := fs.ReadFile(root, page)
	if err != nil {
		t.Error(err)
		return
	}
	for _, m := range link.FindAllStringSubmatch(string(text), -1) {
		file, anchor, _ := strings.Cut(m[1], "#")
		if strings.Contains(file, "://") {
			continue
		}
		to := page
		if file != "" {
			to = path.Join(path.Dir(page), file)
		}
		there, err := fs.ReadFile(root, to)
		if err != nil {
			t.Errorf("%s: %s leads nowhere: %v", page, m[1], err)
		} else if anchor != "" && !hasHeading(string(there), anchor) {
			t.Errorf("%s: %s has no heading %s", page, to, anchor)
		}
	}
}

// hasHeading tells whether a page has a heading with an anchor, as GitHub names them.
func hasHeading(text, anchor string) bool {
	for line := range strings.Lines(text) {
		heading, found := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !found || !strings.HasPrefix(line, "#") {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(heading))
		if name == anchor {
			return true
		}
	}
	return false
}

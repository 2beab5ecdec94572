package install

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The messages that the page on trouble shows are those of the code, word for word,
// but for what differs from one time to the other.
func TestTroubleshooting(t *testing.T) {
	page, err := os.ReadFile("TROUBLESHOOTING.md")
	if err != nil {
		t.Fatal(err)
	}
	said := literals(t, "..")
	blocks := regexp.MustCompile("(?ms)^```text\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 25 {
		t.Errorf("the page shows %d messages", len(blocks))
	}
	for _, block := range blocks {
		message := strings.TrimSpace(block[1])
		parts := strings.Split(message, "…")
		if !slices.ContainsFunc(parts, func(p string) bool { return len(strings.TrimSpace(p)) >= 8 }) {
			t.Errorf("%q is too short for a message", message)
		}
		for _, part := range parts {
			if !strings.Contains(said, strings.TrimSpace(part)) {
				t.Errorf("%q: nothing in the code says %q", message, part)
			}
		}
	}
}

// literals are the strings of all programs below a folder.
func literals(t *testing.T, root string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch name := e.Name(); {
		case err != nil:
			return err
		case e.IsDir() && (name == "testdata" || name == "build" || name == "standin" || strings.HasPrefix(name, ".") && name != ".."):
			return filepath.SkipDir
		case e.IsDir(), strings.HasSuffix(name, "_test.go"):
			return nil
		case strings.HasSuffix(name, ".go"):
			return goStrings(&all, path)
		case name == "bootstrap.py" || name == "forge_magic.py" || name == "page.js" || name == "runner.js":
			raw, err := os.ReadFile(path)
			all.WriteString(strings.ReplaceAll(string(raw), `\"`, `"`))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// goStrings adds the strings of a file, in which %% is one sign as in what is printed.
func goStrings(all *strings.Builder, path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile(path, -1, len(raw)), raw, nil, 0)
	for {
		_, tok, text := s.Scan()
		switch tok {
		case token.EOF:
			return nil
		case token.STRING:
			value, err := strconv.Unquote(text)
			if err != nil {
				return err
			}
			all.WriteString(strings.ReplaceAll(value, "%%", "%") + "\x00")
		}
	}
}

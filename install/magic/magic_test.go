package magic

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "modules")
	for _, binary := range []string{"", `/opt/a "quoted" folder/forge`} { // the second replaces the first
		path, err := Write(folder, binary)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := `INSTALLED = "` + strings.ReplaceAll(binary, `"`, `\"`) + `"  # the binary`
		if text := string(raw); strings.Count(text, "INSTALLED =") != 1 || !strings.Contains(text, want) {
			t.Errorf("%s does not have the line %s", path, want)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 || entries[0].Name() != "forge_magic.py" {
		t.Errorf("in the folder: %v, %v", entries, err)
	}
	if info, err := entries[0].Info(); err != nil || info.Mode() != 0o644 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := Write("/dev/null/modules", ""); err == nil {
		t.Error("written below a file")
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"forgekernel/kernel/notebook"
)

// Text that an editor of Windows wrote is read with its byte order mark, and refused in
// words as UTF-16; what is no text is refused in words as well.
func TestTextOfEditors(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	nb := &notebook.Notebook{Cells: []*notebook.Cell{{Type: notebook.Markdown, Source: "# Title"}}}
	if err := nb.WriteFile("plain.ipynb"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("plain.fs", []byte("def f(x: f32[2]):\n    return relu(x)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("plain.jsonl", []byte("{\"prompt\": \"x\", \"max_tokens\": 2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"dump plain.fs --after simplify -o plain.ir", "bench plain.fs --backend interp --iters 1 -o plain.json",
	} {
		if _, errs, status := outcomeOf(t, strings.Fields(args)...); status != 0 {
			t.Fatalf("%s: status %d: %s", args, status, errs)
		}
	}
	for _, args := range []string{
		"run FILE.fs", "explain FILE.fs", "run --from FILE.ir", "notebook html FILE.ipynb -o -", "capture verify FILE.json",
		"bench report FILE.json --allow-dirty", "nebula batch --model tiny --input FILE.jsonl", "nebula generate --model tiny --max-tokens 2 --prompt-file FILE.fs",
	} {
		name := args[strings.Index(args, "FILE"):]
		name, _, _ = strings.Cut(strings.TrimPrefix(name, "FILE"), " ")
		text, err := os.ReadFile("plain" + name)
		if err != nil {
			t.Fatal(err)
		}
		wide := []byte("\xff\xfe")
		for _, unit := range utf16.Encode([]rune(string(text))) {
			wide = append(wide, byte(unit), byte(unit>>8))
		}
		for file, c := range map[string]struct {
			content []byte
			status  int
			says    string
		}{
			"marked":  {append([]byte("\xef\xbb\xbf"), text...), 0, ""},
			"wide":    {wide, exitFailure, "wide" + name + ": it is text in UTF-16, which editors of Windows call Unicode: save it as UTF-8\n"},
			"missing": {nil, exitFailure, "missing" + name + ": no such file or directory\n"},
		} {
			if c.content != nil {
				if err := os.WriteFile(filepath.Join(dir, file+name), c.content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, errs, status := outcomeOf(t, strings.Fields(strings.ReplaceAll(args, "FILE", file))...)
			if said := errs + out; status != c.status || !strings.Contains(said, c.says) || strings.Contains(said, "open ") {
				t.Errorf("%s: %s: status %d: %s", args, file, status, said)
			}
		}
	}
	for content, says := range map[string]string{"": "it is empty", "[1,2": "its JSON ends too early", "def f": "line 1 is not JSON: def f"} {
		if err := os.WriteFile("odd", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range []string{"notebook run odd", "notebook html odd -o -", "capture show odd", "nebula compare odd"} {
			if _, errs, status := outcomeOf(t, strings.Fields(args)...); status != exitFailure || !strings.Contains(errs, says) || strings.Count(errs, "\n") != 1 {
				t.Errorf("%s with %q: status %d: %s", args, content, status, errs)
			}
		}
	}
}

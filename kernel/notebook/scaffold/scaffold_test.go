package scaffold

import (
	"strings"
	"testing"

	"forgekernel/kernel/notebook"
	"forgekernel/kernel/notebook/runner"
)

// A scaffold has all that a reader expects: a goal, parameters, the environment,
// sections and exercises.
func TestNew(t *testing.T) {
	if got := strings.Join(Names(), " "); got != "bench tutorial" {
		t.Fatalf("templates %s", got)
	}
	for _, name := range Names() {
		nb, err := New(name, "What it costs")
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		parameters := 0
		for _, c := range nb.Cells {
			text.WriteString(c.Source + "\n")
			if c.HasTag(runner.TagParameters) {
				parameters++
			}
			if len(c.Outputs) > 0 || c.ExecutionCount > 0 {
				t.Errorf("%s: a cell has run", name)
			}
		}
		for _, want := range []string{"# What it costs\n", "**Goal.**", "forge.Environment()", "## 1. ", "## Exercises"} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%s: %q is missing", name, want)
			}
		}
		if parameters != 1 || strings.Contains(text.String(), placeholder) || nb.Cells[0].Type != notebook.Markdown {
			t.Errorf("%s: %d cells of parameters, or a title that was not set", name, parameters)
		}
	}
	if _, err := New("poem", "x"); err == nil || !strings.Contains(err.Error(), `no template "poem"; there are bench and tutorial`) {
		t.Errorf("error %v", err)
	}
}

func TestTitle(t *testing.T) {
	for name, want := range map[string]string{"my-first_run": "My first run", "10-été": "10 été", "éa": "Éa", "-": "Untitled", "": "Untitled"} {
		if got := Title(name); got != want {
			t.Errorf("%q has the title %q, want %q", name, got, want)
		}
	}
}

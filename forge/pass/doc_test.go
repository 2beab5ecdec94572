package pass

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestTable keeps PASSES.md equal to the tables of passes, rules and
// constraints.
func TestTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Passes\n\nGenerated from the tables in this package.\n\n| pass | what it does | rule | exact | why |\n|---|---|---|---|---|\n")
	for _, p := range table {
		name, doc := "`"+p.Name+"`", p.Doc
		for _, r := range p.Rules {
			exact := "yes"
			if !r.Exact {
				exact = "bounded"
			}
			fmt.Fprintf(&b, "| %s | %s | `%s` | %s | %s |\n", name, doc, r.Name, exact, r.Why)
			name, doc = "", ""
		}
	}
	b.WriteString("\n## Order\n\n| first | then | because |\n|---|---|---|\n")
	for _, c := range constraints {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", c.first, c.then, c.reason)
	}
	if *update {
		if err := os.WriteFile("PASSES.md", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile("PASSES.md")
	if err != nil || string(have) != b.String() {
		t.Errorf("PASSES.md differs from the tables; run go test ./forge/pass -update (%v)", err)
	}
}

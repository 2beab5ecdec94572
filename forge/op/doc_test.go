package op

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite OPERATORS.md")

func TestOperatorTable(t *testing.T) {
	if *update {
		if err := os.WriteFile("OPERATORS.md", []byte(Doc()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile("OPERATORS.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != Doc() {
		t.Error("OPERATORS.md differs from the registrations; run go test ./forge/op -update")
	}
}

package onnx

import (
	"os"
	"testing"
)

func TestOperatorTable(t *testing.T) {
	const file = "ONNX.md"
	if *update {
		if err := os.WriteFile(file, []byte(Doc()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != Doc() {
		t.Errorf("%s differs from the registrations; run go test ./forge/onnx -update", file)
	}
	if len(operators) < 120 {
		t.Errorf("there are %d operators", len(operators))
	}
	for name := range notes {
		if _, ok := operators[name]; !ok {
			t.Errorf("there is a note on %s, which is no operator", name)
		}
	}
}

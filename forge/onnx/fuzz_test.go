package onnx

import (
	"os"
	"path/filepath"
	"testing"
)

// Whatever the bytes, a model is refused with an error or gives a valid graph.
func FuzzModel(f *testing.F) {
	models, err := filepath.Glob(filepath.Join(nodeTests, "*", "model.onnx"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range models {
		if raw, err := os.ReadFile(name); err == nil && len(raw) < 2048 {
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := Read("fuzz.onnx", raw)
		if err != nil {
			return
		}
		importAnything(t, m)
	})
}

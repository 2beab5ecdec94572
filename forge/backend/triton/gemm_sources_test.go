package triton

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// TestWriteProducts writes the modules that peers/gemm.py times, to the folder
// FORGE_TRITON_MODULES.
func TestWriteProducts(t *testing.T) {
	dir := os.Getenv("FORGE_TRITON_MODULES")
	if dir == "" {
		t.Skip("FORGE_TRITON_MODULES names no folder")
	}
	for _, dtype := range []string{"bf16", "f16", "f32"} {
		for _, s := range [][3]int{{4096, 4096, 4096}, {1024, 1024, 1024}, {64, 4096, 4096}, {4000, 1000, 500}} {
			g, err := ir.Parse(op.Registry, fmt.Sprintf(`graph product(%%a: %[1]s[%[2]d,%[4]d], %%b: %[1]s[%[4]d,%[3]d]) {
  %%c: %[1]s[%[2]d,%[3]d] = matmul %%a, %%b
  return %%c
}`, dtype, s[0], s[1], s[2]))
			if err != nil {
				t.Fatal(err)
			}
			m, err := Source(g)
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("%s_%d_%d_%d.py", dtype, s[0], s[1], s[2])
			if err := os.WriteFile(filepath.Join(dir, name), []byte(m.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

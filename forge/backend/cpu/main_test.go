package cpu_test

import (
	"os"
	"testing"
)

// TestMain keeps libraries of tests out of the user's cache.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "forge-cpu-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("FORGE_CACHE_DIR", dir)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

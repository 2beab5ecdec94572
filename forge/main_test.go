package forge_test

import (
	"os"
	"testing"

	"forgekernel/forge"
)

// TestMain keeps what tests compile out of the user's cache.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "forge-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("FORGE_CACHE_DIR", dir)
	code := m.Run()
	forge.Close()
	os.RemoveAll(dir)
	os.Exit(code)
}

package cpu_test

import (
	"os"
	"testing"

	"forgekernel/forge/backend/cpu"
)

// TestMain keeps libraries of tests out of the user's cache. Where FORGE_CACHE_DIR
// is set they are kept there, so that what has not changed is not compiled again.
func TestMain(m *testing.M) {
	if os.Getenv("FORGE_CACHE_DIR") != "" {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "forge-cpu-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("FORGE_CACHE_DIR", dir)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// everything is set by make conformance: all programs run on all kinds of vectors.
// By default the widest ones run them all, and the others a part: what they share is
// most of it, and the C compiler needs minutes for the rest.
var everything = os.Getenv("FORGE_CONFORMANCE") == "full"

// selected reports whether program i of a list runs on a kind of vectors.
func selected(target cpu.Target, i int) bool {
	return everything || target.Name == cpu.Targets()[0].Name || i%6 == 0
}

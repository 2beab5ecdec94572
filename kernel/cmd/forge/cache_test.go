package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestCache compiles a program, shows what is kept of it, and clears it.
func TestCache(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("FORGE_CACHE_DIR", dir)
	inFolder(t, map[string]string{"mlp.fs": mlpSource})
	succeed(t, "run mlp.fs --backend cpu")
	var r cacheReport
	if err := json.Unmarshal([]byte(succeed(t, "cache --json")), &r); err != nil {
		t.Fatal(err)
	}
	if r.Folder != filepath.Join(dir, "cpu") || len(r.Objects) != 1 || r.Bytes != r.Objects[0].Bytes || r.Limit != 256<<20 {
		t.Errorf("the cache is %+v", r)
	}
	if out := succeed(t, "cache"); !strings.Contains(out, "1 compiled programs") || !strings.Contains(out, r.Objects[0].Name) {
		t.Errorf("cache prints %s", out)
	}
	if out := succeed(t, "cache clear"); !strings.HasPrefix(out, "removed 1 compiled programs") {
		t.Errorf("cache clear prints %s", out)
	}
	if out := succeed(t, "cache"); !strings.Contains(out, "0 compiled programs") {
		t.Errorf("an empty cache prints %s", out)
	}
}

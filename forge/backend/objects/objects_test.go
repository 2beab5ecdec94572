package objects

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// put keeps an object of a size.
func put(t *testing.T, c *Cache, name string, size int) string {
	t.Helper()
	path, err := c.Build(name, func(dir string) (string, error) {
		return "made", os.WriteFile(filepath.Join(dir, "made"), make([]byte, size), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func names(t *testing.T, c *Cache) string {
	t.Helper()
	list, err := c.Objects()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, o := range list {
		all = append(all, strings.TrimSuffix(o.Name, suffix))
	}
	return strings.Join(all, " ")
}

// TestRoom removes what was used longest ago, where finding is using.
func TestRoom(t *testing.T) {
	c := &Cache{Dir: t.TempDir(), Limit: 400}
	for i, name := range []string{"a", "b", "c"} {
		path := put(t, c, name, 100-32+i)
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Duration(i-10)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Find("a"); err != nil {
		t.Fatal(err)
	}
	put(t, c, "d", 100)
	if got := names(t, c); got != "d a c" {
		t.Errorf("the cache holds %s", got)
	}
	put(t, c, "huge", 1000)
	if got := names(t, c); got != "huge" {
		t.Errorf("after an object over the limit it holds %s", got)
	}
}

// TestDamage removes objects that are not what was kept.
func TestDamage(t *testing.T) {
	c := &Cache{Dir: t.TempDir(), Limit: DefaultLimit}
	if _, err := c.Find("x"); !errors.Is(err, ErrMissing) {
		t.Errorf("an empty cache: %v", err)
	}
	for name, damage := range map[string]func(path string, raw []byte) error{
		"the checksum does not match": func(path string, raw []byte) error { raw[3] ^= 1; return os.WriteFile(path, raw, 0o600) },
		"it is not an object":         func(path string, raw []byte) error { return os.WriteFile(path, raw[:5], 0o600) },
		"other users may write":       func(path string, raw []byte) error { return os.Chmod(path, 0o666) },
	} {
		path := put(t, c, "x", 50)
		raw, err := os.ReadFile(path)
		if err == nil {
			err = damage(path, raw)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Find("x"); err == nil || errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), name) {
			t.Errorf("got error %v, want %s", err, name)
		}
		if _, err := c.Find("x"); !errors.Is(err, ErrMissing) {
			t.Errorf("%s: it is still there: %v", name, err)
		}
	}
}

// TestFailedBuild leaves nothing.
func TestFailedBuild(t *testing.T) {
	c := &Cache{Dir: t.TempDir(), Limit: DefaultLimit}
	no := errors.New("no")
	if _, err := c.Build("x", func(string) (string, error) { return "", no }); !errors.Is(err, no) {
		t.Errorf("got error %v", err)
	}
	if _, err := c.Build("x", func(string) (string, error) { return "none", nil }); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a build without an object: %v", err)
	}
	if left, _ := os.ReadDir(c.Dir); len(left) > 0 {
		t.Errorf("%v was left", left)
	}
}

// TestAbandonedBuild removes what a killed process left, and nothing younger.
func TestAbandonedBuild(t *testing.T) {
	c := &Cache{Dir: t.TempDir(), Limit: DefaultLimit}
	old, young := filepath.Join(c.Dir, builds+"old"), filepath.Join(c.Dir, builds+"young")
	for _, dir := range []string{old, young} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-2*abandoned)); err != nil {
		t.Fatal(err)
	}
	put(t, c, "x", 1)
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old one: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("the young one: %v", err)
	}
}

// TestTogether has several users of one cache, which is too small for all.
func TestTogether(t *testing.T) {
	c := &Cache{Dir: t.TempDir(), Limit: 300}
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 30 {
				name := fmt.Sprint((worker + i) % 5)
				if _, err := c.Find(name); err == nil {
					continue
				} else if !errors.Is(err, ErrMissing) {
					t.Error(err)
				}
				_, err := c.Build(name, func(dir string) (string, error) {
					return "made", os.WriteFile(filepath.Join(dir, "made"), make([]byte, 100), 0o600)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	list, err := c.Objects()
	if err != nil || len(list) < 1 || len(list) > 3 {
		t.Errorf("the cache holds %v, %v", list, err)
	}
}

func TestClear(t *testing.T) {
	c := &Cache{Dir: t.TempDir(), Limit: DefaultLimit}
	put(t, c, "x", 1)
	put(t, c, "y", 1)
	if removed, err := c.Clear(); err != nil || len(removed) != 2 || names(t, c) != "" {
		t.Errorf("removed %v, %v; there is %s", removed, err, names(t, c))
	}
}

// TestDir looks for a place as the package comment says.
func TestDir(t *testing.T) {
	home, temporary, own := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("XDG_CACHE_HOME", home)
	expect := func(want string) {
		t.Helper()
		if got, err := Dir("cpu"); err != nil || got != want {
			t.Errorf("the folder is %s, %v, not %s", got, err, want)
		}
	}
	t.Setenv("FORGE_CACHE_DIR", own)
	expect(filepath.Join(own, "cpu"))
	t.Setenv("FORGE_CACHE_DIR", "")
	expect(filepath.Join(home, "forge", "cpu"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "forge", "cpu", "file"))
	if err := os.WriteFile(filepath.Join(home, "forge", "cpu", "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	private := filepath.Join(temporary, fmt.Sprintf("forge-%d", os.Getuid()))
	expect(filepath.Join(private, "cpu"))
	if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the temporary folder has mode %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(private, 0o770); err != nil {
		t.Fatal(err)
	}
	if _, err := Dir("cpu"); err == nil || !strings.Contains(err.Error(), "other users may write to "+private) {
		t.Errorf("a folder of others: %v", err)
	}
}

func TestLimit(t *testing.T) {
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	for text, want := range map[string]int64{"": DefaultLimit, "3": 3 << 20, "0": 0} {
		t.Setenv("FORGE_CACHE_LIMIT", text)
		if c, err := Open("cpu"); err != nil || c.Limit != want {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	}
	for _, text := range []string{"-1", "many", "1e3", "99999999999"} {
		t.Setenv("FORGE_CACHE_LIMIT", text)
		if _, err := Open("cpu"); err == nil || !strings.Contains(err.Error(), "number of MiB") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

package gomod

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/sumdb/note"
)

// served is a proxy on the loopback with modules made of texts.
type served struct {
	*httptest.Server
	files map[string][]byte // by path on the proxy

	mu    sync.Mutex
	asked []string
}

func serve(t *testing.T) *served {
	s := &served{files: map[string][]byte{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.Path)
		s.mu.Unlock()
		content, ok := s.files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write(content)
	}))
	t.Cleanup(s.Close)
	return s
}

// add adds a version; files are names and texts, one of them go.mod.
func (s *served) add(t *testing.T, m module.Version, files map[string]string) {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for name, text := range files {
		f, err := w.Create(m.String() + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte(text))
	}
	w.Close()
	base := "/" + m.Path + "/@v/"
	s.files[base+m.Version+".zip"] = buf.Bytes()
	s.files[base+m.Version+".mod"] = []byte(files["go.mod"])
	s.files[base+"list"] = append(s.files[base+"list"], m.Version+"\n"...)
}

// fetcher uses a proxy and an empty cache; settings are NAME=value.
func fetcher(t *testing.T, proxy string, settings ...string) (*Fetcher, error) {
	env := map[string]string{"GOPROXY": proxy, "GOSUMDB": "off", "GOPATH": t.TempDir(), "GOENV": "off"}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		env[name] = value
	}
	return New(func(name string) string { return env[name] })
}

func mustFetcher(t *testing.T, proxy string, settings ...string) *Fetcher {
	t.Helper()
	f, err := fetcher(t, proxy, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var (
	a1 = module.Version{Path: "example.com/a", Version: "v1.0.0"}
	a2 = module.Version{Path: "example.com/a", Version: "v1.2.0"}
	b1 = module.Version{Path: "example.com/b", Version: "v1.0.0"}
	c1 = module.Version{Path: "example.com/c", Version: "v0.1.0"}
	d1 = module.Version{Path: "example.com/d", Version: "v1.0.0"}
)

func none(string) bool { return false }

func TestQuery(t *testing.T) {
	s := serve(t)
	s.add(t, a1, map[string]string{"go.mod": "module example.com/a"})
	s.add(t, module.Version{Path: a1.Path, Version: "v1.3.0-rc1"}, map[string]string{"go.mod": "module example.com/a"})
	s.add(t, a2, map[string]string{"go.mod": "module example.com/a"})
	s.files["/example.com/only/@latest"] = []byte(`{"Version":"v0.0.0-20240101000000-0123456789ab"}`)
	f := mustFetcher(t, s.URL)
	for query, want := range map[string]string{
		"example.com/a": "v1.2.0", "example.com/a@latest": "v1.2.0", "example.com/a@v1.0.0": "v1.0.0",
		"example.com/only": "v0.0.0-20240101000000-0123456789ab",
	} {
		if m, err := f.Query(t.Context(), query); err != nil || m.Version != want {
			t.Errorf("%s: %v, %v", query, m, err)
		}
	}
	for _, query := range []string{"", "a b", "example.com/a@v1", "example.com/a@master", "example.com/none", "example.com/a@v2.0.0", "../x@v1.0.0"} {
		if m, err := f.Query(t.Context(), query); err == nil {
			t.Errorf("%q gives %v", query, m)
		}
	}
}

// The newest version is the one that the go command takes: none that was retracted, and none
// of a time before modules where a later one has a go.mod.
func TestLatest(t *testing.T) {
	const path = "example.com/a"
	mod := "module example.com/a\n"
	for name, c := range map[string]struct {
		versions [][2]string // with what their go.mod has
		want     string
	}{
		"retracted":             {[][2]string{{"v1.0.0", mod}, {"v1.1.0", mod}, {"v1.2.0", mod + "go 1.20\nretract [v1.1.0, v1.2.0]\n"}}, "v1.0.0"},
		"incompatible":          {[][2]string{{"v1.4.0", mod + "go 1.20\n"}, {"v2.0.3+incompatible", mod}}, "v1.4.0"},
		"before modules":        {[][2]string{{"v1.4.0", mod}, {"v2.0.3+incompatible", mod}}, "v2.0.3+incompatible"},
		"a pre-release":         {[][2]string{{"v1.0.0-rc1", mod}, {"v1.0.0-rc2", mod}}, "v1.0.0-rc2"},
		"all of them retracted": {[][2]string{{"v1.0.0", mod + "retract v1.0.0\n"}}, ""},
	} {
		s := serve(t)
		for _, v := range c.versions {
			s.add(t, module.Version{Path: path, Version: v[0]}, map[string]string{"go.mod": v[1]})
		}
		m, err := mustFetcher(t, s.URL).Query(t.Context(), path)
		if m.Version != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

func TestSelect(t *testing.T) {
	s := serve(t)
	s.add(t, a1, map[string]string{"go.mod": "module example.com/a\ngo 1.20\nrequire example.com/b v1.0.0"})
	s.add(t, a2, map[string]string{"go.mod": "module example.com/a\ngo 1.20"})
	s.add(t, b1, map[string]string{"go.mod": "module example.com/b\ngo 1.20\nrequire (\n\texample.com/a v1.2.0\n\texample.com/c v0.1.0\n\texample.com/host v1.0.0\n)"})
	s.add(t, c1, map[string]string{"go.mod": "module example.com/c\nrequire example.com/unlisted v1.0.0"})
	f := mustFetcher(t, s.URL)
	list, err := f.Select(t.Context(), []module.Version{a1}, func(path string) bool { return path == "example.com/host" })
	if got := fmt.Sprint(list); err != nil || got != "[example.com/a@v1.2.0 example.com/b@v1.0.0 example.com/c@v0.1.0]" {
		t.Errorf("%s, %v", got, err)
	}
	// A release candidate of Go lists what it needs as its release does.
	s.add(t, d1, map[string]string{"go.mod": "module example.com/d\ngo 1.22rc1\nrequire example.com/e v1.0.0"})
	s.files["/example.com/e/@v/v1.0.0.mod"] = []byte("module example.com/e\ngo 1.20\nrequire example.com/unlisted v1.0.0")
	list, err = f.Select(t.Context(), []module.Version{d1}, none)
	if got := fmt.Sprint(list); err != nil || got != "[example.com/d@v1.0.0 example.com/e@v1.0.0 example.com/unlisted@v1.0.0]" {
		t.Errorf("%s, %v", got, err)
	}
	// Without pruning, as before Go 1.17, everything is followed.
	if _, err := f.Select(t.Context(), []module.Version{c1}, none); !errors.Is(err, errNotFound) {
		t.Error(err)
	}
}

func TestPackage(t *testing.T) {
	s := serve(t)
	s.add(t, a1, map[string]string{
		"go.mod": "module example.com/a\ngo 1.21", "a.go": "package a", "a_test.go": "package a", "a_windows.go": "package a",
		"tag.go": "//go:build !purego\n\npackage a\nimport \"unsafe\"", "plain.go": "//go:build purego\n\npackage a",
		"sub/s.go": "package sub", "internal/i.go": "package i", "x/cgo/c.go": "package cgo\nimport \"C\"", "x/unsafe/u.go": "package u\nimport _ \"unsafe\"",
		"x/asm/f.go": "package asm\nfunc fast(x int) int", "x/link/l.go": "package l\n//go:linkname a b\nfunc f() {}",
		"x/embed/e.go": "package e\n//go:embed x\nvar s string", "x/other/o_windows.go": "package other",
		"cmd/tool/main.go": "package main", "cmd/tool/more.go": "package main", "gen.go": "//go:build ignore\n\npackage main", "x/broken/b.go": "pakage b",
	})
	s.add(t, module.Version{Path: "example.com/a/sub", Version: "v1.0.0"}, map[string]string{"go.mod": "module example.com/a/sub", "other.go": "package sub"})
	f := mustFetcher(t, s.URL)
	b := f.Open([]module.Version{a1, {Path: "example.com/a/sub", Version: "v1.0.0"}})
	defer b.Close()
	p, err := b.Package(t.Context(), "example.com/a")
	if err != nil || p.Go != "go1.21" || len(p.Files) != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := b.Package(t.Context(), "example.com/a/sub"); err != nil || p.Module.Path != "example.com/a/sub" || p.Go != "go1.16" {
		t.Errorf("the package of the longer path is taken: %+v, %v", p, err)
	}
	for path, want := range map[string]string{
		"x/cgo": "cgo", "x/unsafe": "package unsafe", "x/asm": "assembly: fast", "x/link": "go:linkname", "x/embed": "go:embed", "x/other": "for this machine",
	} {
		if _, err := b.Package(t.Context(), "example.com/a/"+path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := b.Package(t.Context(), "example.com/a/none"); err == nil {
		t.Error("a package that is not there is read")
	}
	// Programs are not for importing, and the file that a generator keeps aside makes none of a package.
	list, err := b.Packages(t.Context(), a1)
	const want = " /sub /x/asm /x/broken /x/cgo /x/embed /x/link /x/other /x/unsafe"
	if got := strings.ReplaceAll(strings.Join(list, " "), "example.com/a", ""); err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
}

// checksums starts a checksum database of what a proxy serves, changed by twist.
func checksums(t *testing.T, s *served, twist func(line string) string) (setting string) {
	signer, key, err := note.GenerateKey(nil, "sums.example.com")
	if err != nil {
		t.Fatal(err)
	}
	lookup := func(path, version string) ([]byte, error) {
		base := "/" + path + "/@v/" + strings.TrimSuffix(version, "/go.mod")
		zipped := filepath.Join(t.TempDir(), "x.zip")
		if err := os.WriteFile(zipped, s.files[base+".zip"], 0o600); err != nil {
			return nil, err
		}
		h, err := dirhash.HashZip(zipped, dirhash.DefaultHash)
		if err != nil {
			return nil, err
		}
		m, err := hashOf(s.files[base+".mod"])
		v := strings.TrimSuffix(version, "/go.mod")
		return []byte(twist(fmt.Sprintf("%s %s %s\n%s %s/go.mod %s\n", path, v, h, path, v, m))), err
	}
	server := httptest.NewServer(sumdb.NewServer(sumdb.NewTestServer(signer, lookup)))
	t.Cleanup(server.Close)
	return "GOSUMDB=" + key + " " + server.URL
}

func TestChecksums(t *testing.T) {
	s := serve(t)
	s.add(t, a1, map[string]string{"go.mod": "module example.com/a", "a.go": "package a"})
	get := func(f *Fetcher) error {
		b := f.Open([]module.Version{a1})
		defer b.Close()
		_, err := b.Package(context.Background(), "example.com/a")
		return err
	}
	right := checksums(t, s, func(line string) string { return line })
	f := mustFetcher(t, s.URL, right)
	if err := get(f); err != nil {
		t.Fatal(err)
	}
	wrong := checksums(t, s, func(line string) string { return strings.Replace(line, "h1:", "h1:A", 1) })
	f = mustFetcher(t, s.URL, wrong)
	if err := get(f); err == nil || !strings.Contains(err.Error(), "another checksum") {
		t.Errorf("%v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(f.cache, "example.com", "a", "@v", "*.zip*")); len(left) > 0 {
		t.Errorf("the cache keeps %v", left)
	}
	for setting, off := range map[string]bool{
		"GONOSUMDB=example.com": true, "GOPRIVATE=other.com,example.com/*": true, "GOSUMDB=off": true,
		"GONOSUMCHECK=1": false, "GOFLAGS=-mod=mod -insecure": false, // which the go command does not know
	} {
		f, err := fetcher(t, s.URL, wrong, setting, "GONOPROXY=none")
		if err != nil {
			t.Fatal(err)
		}
		if err := get(f); (err == nil) != off {
			t.Errorf("%s: %v", setting, err)
		}
	}
}

func TestDatabases(t *testing.T) {
	for setting, want := range map[string]string{
		"":                                   "sum.golang.org https://sum.golang.org",
		"sum.golang.org":                     "sum.golang.org https://sum.golang.org",
		"sum.golang.org https://mirror.com/": "sum.golang.org https://mirror.com",
		"sum.golang.google.cn":               "sum.golang.org https://sum.golang.google.cn",
		"own.com+1+k":                        "own.com https://own.com",
		"own.com+1+k https://other.com":      "own.com https://other.com",
	} {
		db, err := parseSums(setting)
		if err != nil || db.name+" "+db.url != want {
			t.Errorf("%q: %+v, %v", setting, db, err)
		}
	}
	if db, err := parseSums("off"); db != nil || err != nil {
		t.Errorf("off: %+v, %v", db, err)
	}
	for _, bad := range []string{"nonsense", "off off", "own.com+1+k a b"} {
		if db, err := parseSums(bad); err == nil {
			t.Errorf("GOSUMDB=%q gives %+v", bad, db)
		}
	}
}

func TestCache(t *testing.T) {
	s := serve(t)
	s.add(t, a1, map[string]string{"go.mod": "module example.com/a", "a.go": "package a"})
	f := mustFetcher(t, s.URL)
	for range 2 {
		z, err := f.Zip(t.Context(), a1)
		if err != nil {
			t.Fatal(err)
		}
		z.Close()
	}
	if n := strings.Count(strings.Join(s.asked, " "), ".zip"); n != 1 {
		t.Errorf("the archive was asked for %d times", n)
	}
	path, _ := f.cached(a1, "zip")
	other := serve(t)
	other.add(t, a1, map[string]string{"go.mod": "module example.com/a", "a.go": "package evil"})
	if err := os.WriteFile(path, other.files["/example.com/a/@v/v1.0.0.zip"], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Zip(t.Context(), a1); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("a changed archive: %v", err)
	}
}

// TestOneFetch asks for one module from several sides at once, with fetchers that
// share a cache as those of several processes do.
func TestOneFetch(t *testing.T) {
	s := serve(t)
	s.add(t, a1, map[string]string{"go.mod": "module example.com/a", "a.go": "package a"})
	cache := "GOMODCACHE=" + t.TempDir()
	var all sync.WaitGroup
	for range 4 {
		f := mustFetcher(t, s.URL, cache)
		all.Go(func() {
			if _, err := f.Mod(t.Context(), a1); err != nil {
				t.Error(err)
			}
			z, err := f.Zip(t.Context(), a1)
			if err != nil {
				t.Error(err)
				return
			}
			z.Close()
		})
	}
	all.Wait()
	if len(s.asked) != 2 {
		t.Errorf("asked for %v", s.asked)
	}
	f := mustFetcher(t, s.URL, cache)
	unlock, err := f.lock(t.Context(), a2)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Mod(ctx, a2); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for another's fetch ends with %v", err)
	}
}

// What a proxy must not be able to do.
func TestHostileProxy(t *testing.T) {
	for name, content := range map[string]func() []byte{
		"path out of the module": func() []byte { return archive("../../evil.go", "x") },
		"another module":         func() []byte { return archive("example.com/b@v1.0.0/b.go", "package b") },
		"not an archive":         func() []byte { return []byte("no") },
		"nothing":                func() []byte { return nil },
	} {
		s := serve(t)
		s.add(t, a1, map[string]string{"go.mod": "module example.com/a"})
		s.files["/example.com/a/@v/v1.0.0.zip"] = content()
		f := mustFetcher(t, s.URL)
		if _, err := f.Zip(t.Context(), a1); err == nil {
			t.Errorf("%s is taken", name)
		}
		left, _ := filepath.Glob(filepath.Join(f.cache, "example.com", "a", "@v", "*"))
		left = slices.DeleteFunc(left, func(name string) bool { return strings.HasSuffix(name, ".lock") })
		if len(left) > 0 {
			t.Errorf("%s: the cache keeps %v", name, left)
		}
	}
	s := serve(t)
	s.files["/example.com/a/@v/v1.0.0.mod"] = []byte("module example.com/other")
	s.files["/example.com/b/@v/v1.0.0.mod"] = []byte("module example.com/b\nrequire ../../etc v1.0.0")
	s.files["/example.com/c/@v/v0.1.0.mod"] = bytes.Repeat([]byte("x"), 17<<20)
	f := mustFetcher(t, s.URL)
	for _, m := range []module.Version{a1, b1, c1} {
		if list, err := f.Select(t.Context(), []module.Version{m}, none); err == nil {
			t.Errorf("%v gives %v", m, list)
		}
	}
}

// TestSilentDatabase interrupts the look-up of a checksum that is not answered.
func TestSilentDatabase(t *testing.T) {
	asked, ended := make(chan bool, 100), make(chan bool)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- true
		<-ended
	}))
	defer silent.Close()
	defer close(ended)
	s := serve(t)
	s.add(t, a1, map[string]string{"go.mod": "module example.com/a"})
	_, key, err := note.GenerateKey(nil, "example.com/sums")
	if err != nil {
		t.Fatal(err)
	}
	f := mustFetcher(t, s.URL, "GOSUMDB="+key+" "+silent.URL)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := f.Mod(ctx, a1); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupt gives %v", err)
	}
}

func archive(name, text string) []byte {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	f, _ := w.Create(name)
	f.Write([]byte(text))
	w.Close()
	return buf.Bytes()
}

func TestProxies(t *testing.T) {
	s := serve(t)
	s.add(t, a1, map[string]string{"go.mod": "module example.com/a"})
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 500) }))
	defer broken.Close()
	empty := serve(t)
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "example.com/a/@v"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "example.com/a/@v/v1.0.0.mod"), []byte("module example.com/a"), 0o600); err != nil {
		t.Fatal(err)
	}
	for list, want := range map[string]string{
		empty.URL + "," + s.URL:  "",
		broken.URL + "|" + s.URL: "",
		broken.URL + "," + s.URL: "500",
		"file://" + dir:          "",
		"off":                    "GOPROXY=off",
		"direct":                 "needs version control",
		empty.URL + ",direct":    "not found",
	} {
		_, err := mustFetcher(t, list).Mod(t.Context(), a1)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", list, err)
		}
	}
	if _, err := mustFetcher(t, s.URL, "GOPRIVATE=example.com").Mod(t.Context(), a1); err == nil || !strings.Contains(err.Error(), "private") {
		t.Errorf("%v", err)
	}
	for _, list := range []string{"ftp://x", "::", " , "} {
		if _, err := fetcher(t, list); err == nil {
			t.Errorf("GOPROXY=%q is taken", list)
		}
	}
}

package gomod

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
)

// zipOf makes an archive of named texts, whatever the names are.
func zipOf(entries ...[2]string) []byte {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, e := range entries {
		f, _ := w.CreateHeader(&zip.FileHeader{Name: e[0], NonUTF8: true, Method: zip.Deflate})
		io.WriteString(f, e[1])
	}
	w.Close()
	return buf.Bytes()
}

// bomb makes an archive whose one file has n zero bytes and says that it has said.
func bomb(n, said int) []byte {
	var packed bytes.Buffer
	z, _ := flate.NewWriter(&packed, flate.BestSpeed)
	sum, zeros := crc32.NewIEEE(), make([]byte, 1<<20)
	for left := n; left > 0; left -= len(zeros) {
		part := zeros[:min(left, len(zeros))]
		z.Write(part)
		sum.Write(part)
	}
	z.Close()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	f, _ := w.CreateRaw(&zip.FileHeader{Name: "example.com/a@v1.0.0/a.go", Method: zip.Deflate, CRC32: sum.Sum32(),
		CompressedSize64: uint64(packed.Len()), UncompressedSize64: uint64(said)})
	f.Write(packed.Bytes())
	w.Close()
	return buf.Bytes()
}

// many makes an archive of n files.
func many(n int, name func(i int) string) []byte {
	entries := make([][2]string, n)
	for i := range entries {
		entries[i] = [2]string{name(i), "package a\n"}
	}
	return zipOf(entries...)
}

// symlink makes an archive with a link in it.
func symlink(to string) []byte {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	h := &zip.FileHeader{Name: "example.com/a@v1.0.0/a.go"}
	h.SetMode(os.ModeSymlink | 0o777)
	f, _ := w.CreateHeader(h)
	io.WriteString(f, to)
	w.Close()
	return buf.Bytes()
}

// TestHostileArchives has archives that nobody may take, each refused by one
// sentence; the cache keeps nothing of them.
func TestHostileArchives(t *testing.T) {
	const in = "example.com/a@v1.0.0/"
	good := zipOf([2]string{in + "a.go", "package a\n"})
	for name, content := range map[string][]byte{
		"parent":               zipOf([2]string{in + "../../../evil.go", "x"}),
		"absolute":             zipOf([2]string{"/etc/evil.go", "x"}),
		"drive":                zipOf([2]string{in + "c:/evil.go", "x"}),
		"backslash":            zipOf([2]string{in + "..\\..\\evil.go", "x"}),
		"NUL":                  zipOf([2]string{in + "a.go\x00.txt", "x"}),
		"not UTF-8":            zipOf([2]string{in + "\xff\xfe.go", "x"}),
		"line break":           zipOf([2]string{in + "a\n.go", "x"}),
		"device":               zipOf([2]string{in + "con.go", "x"}),
		"case":                 zipOf([2]string{in + "a.go", "x"}, [2]string{in + "A.go", "x"}),
		"twice":                zipOf([2]string{in + "a.go", "x"}, [2]string{in + "a.go", "y"}),
		"file and folder":      zipOf([2]string{in + "a", "x"}, [2]string{in + "a/b.go", "x"}),
		"other version":        zipOf([2]string{"example.com/a@v1.0.1/a.go", "x"}),
		"no prefix":            zipOf([2]string{"a.go", "x"}),
		"capital go.mod":       zipOf([2]string{in + "GO.MOD", "module example.com/a"}),
		"go.mod in a folder":   zipOf([2]string{in + "b/GO.mod", "module example.com/a"}),
		"says too much":        bomb(1<<20, 1<<40),
		"bomb":                 bomb(600<<20, 600<<20),
		"bomb that lies":       bomb(600<<20, 100),
		"truncated":            good[:len(good)-30],
		"without its middle":   append(slices.Clone(good[:40]), good[60:]...),
		"20,000 bad names":     many(20_000, func(i int) string { return fmt.Sprint(in, "..", i, "\\") }),
		"negative central dir": append(slices.Clone(good[:len(good)-6]), 0xff, 0xff, 0xff, 0xff, 0, 0),
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.files["/example.com/a/@v/v1.0.0.mod"] = []byte("module example.com/a")
			s.files["/example.com/a/@v/v1.0.0.zip"] = content
			f := mustFetcher(t, s.URL)
			z, err := f.Zip(t.Context(), a1)
			if err == nil {
				z.Close()
				t.Fatal("is taken")
			}
			if text := err.Error(); !strings.HasPrefix(text, "example.com/a@v1.0.0: ") || len(text) > 1000 {
				t.Errorf("%.300s", text)
			}
			left, _ := filepath.Glob(filepath.Join(f.cache, "example.com", "a", "@v", "*"))
			if left = slices.DeleteFunc(left, func(name string) bool { return strings.HasSuffix(name, ".lock") }); len(left) > 0 {
				t.Errorf("the cache keeps %v", left)
			}
		})
	}
}

// TestOddArchives has archives that may be taken, and what comes of them.
func TestOddArchives(t *testing.T) {
	const in = "example.com/a@v1.0.0/"
	for name, c := range map[string]struct {
		content []byte
		want    string // of the error of package example.com/a
	}{
		"link":           {symlink("/etc/passwd"), ""},
		"20,000 folders": {many(20_000, func(i int) string { return fmt.Sprint(in, "d", i, "/a.go") }), "no module has"},
		"large source":   {bomb(65<<20, 65<<20), "more than 67108864 bytes of source"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.files["/example.com/a/@v/v1.0.0.mod"] = []byte("module example.com/a")
			s.files["/example.com/a/@v/v1.0.0.zip"] = c.content
			b := mustFetcher(t, s.URL).Open([]module.Version{a1})
			defer b.Close()
			if _, err := b.Packages(t.Context(), a1); err != nil {
				t.Error(err)
			}
			p, err := b.Package(t.Context(), a1.Path)
			if c.want == "" && (err != nil || len(p.Files) != 1) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestHostileGoMods has the go.mod of a module, and what choosing versions says.
func TestHostileGoMods(t *testing.T) {
	requires := func(n int, of func(i int) string) string {
		var b strings.Builder
		b.WriteString("module example.com/a\nrequire (\n")
		for i := range n {
			b.WriteString("\t" + of(i) + "\n")
		}
		return b.String() + ")\n"
	}
	for name, c := range map[string]struct{ mod, want string }{
		"requires itself":    {"module example.com/a\nrequire example.com/a v1.0.0\n", "[example.com/a@v1.0.0]"},
		"cycle":              {"module example.com/a\nrequire example.com/b v1.0.0\n", "[example.com/a@v1.0.0 example.com/b@v1.0.0]"},
		"3,000 requires":     {requires(3000, func(i int) string { return fmt.Sprintf("example.com/m%d v1.0.0", i) }), "leads to more than"},
		"300,000 lines":      {requires(300_000, func(i int) string { return "example.com/a v1.0.0" }), "[example.com/a@v1.0.0]"},
		"no module line":     {"go 1.20\n", "[example.com/a@v1.0.0]"},
		"empty":              {"", "[example.com/a@v1.0.0]"},
		"not text":           {"\x00\x01\xff", "go.mod:1"},
		"unclosed":           {"module example.com/a\nrequire (\n", "go.mod"},
		"replace":            {"module example.com/a\nrequire example.com/c v0.1.0\nreplace example.com/c => ../c\n", "[example.com/a@v1.0.0 example.com/c@v0.1.0]"},
		"exclude":            {"module example.com/a\nrequire example.com/c v0.1.0\nexclude example.com/c v0.1.0\n", "[example.com/a@v1.0.0 example.com/c@v0.1.0]"},
		"deprecated":         {"// Deprecated: use b.\nmodule example.com/a\n", "[example.com/a@v1.0.0]"},
		"version of no form": {"module example.com/a\nrequire example.com/c v1.x\n", "v1.x"},
		"branch":             {"module example.com/a\nrequire example.com/c main\n", "main"},
		"a candidate's Go":   {"module example.com/a\ngo 1.21rc1\nrequire example.com/p v1.0.0\n", "[example.com/a@v1.0.0 example.com/p@v1.0.0 example.com/q@v1.0.0]"},
		"not there":          {"module example.com/a\nrequire example.com/none v0.1.0\n", "not found"},
		"standard library":   {"module example.com/a\nrequire fmt v1.0.0\n", "fmt"},
		"a path above":       {"module example.com/a\nrequire example.com/../b v1.0.0\n", "malformed module path"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.files["/example.com/a/@v/v1.0.0.mod"] = []byte(c.mod)
			s.files["/example.com/b/@v/v1.0.0.mod"] = []byte("module example.com/b\nrequire example.com/a v1.0.0\n")
			s.files["/example.com/p/@v/v1.0.0.mod"] = []byte("module example.com/p\ngo 1.21\nrequire example.com/q v1.0.0\n")
			s.files["/example.com/q/@v/v1.0.0.mod"] = []byte("module example.com/q\ngo 1.21\nrequire example.com/r v1.0.0\n")
			s.files["/example.com/c/@v/v0.1.0.mod"] = []byte("module example.com/c\n")
			for i := range 3000 {
				s.files[fmt.Sprintf("/example.com/m%d/@v/v1.0.0.mod", i)] = fmt.Appendf(nil, "module example.com/m%d\n", i)
			}
			list, err := mustFetcher(t, s.URL).Select(t.Context(), []module.Version{a1}, none)
			got := fmt.Sprint(list)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) || len(got) > 1000 {
				t.Errorf("%.300s, want %s", got, c.want)
			}
		})
	}
}

// TestHostileAnswers has proxies that answer as none should.
func TestHostileAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		want   string
	}{
		"redirect loop": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "redirects"},
		"to a file": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(302)
		}, "unsupported protocol"},
		"too short": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "module example.com/a\n")
		}, "EOF"},
		"negative length": {func(w http.ResponseWriter, r *http.Request) { raw(w, "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nx") }, "bad Content-Length"},
		"two lengths": {func(w http.ResponseWriter, r *http.Request) {
			raw(w, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nxxxxxxx")
		}, "Content-Length"},
		"no HTTP": {func(w http.ResponseWriter, r *http.Request) { raw(w, "SSH-2.0-x\r\n") }, "malformed"},
		"bad chunks": {func(w http.ResponseWriter, r *http.Request) {
			raw(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
		}, "chunk"},
		"hangs up": {func(w http.ResponseWriter, r *http.Request) { raw(w, "") }, "EOF"},
		"bad gzip": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "no gzip at all")
		}, "gzip"},
		"server error": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) }, "500"},
		"nothing new":  {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(304) }, "304"},
		"long headers": {func(w http.ResponseWriter, r *http.Request) {
			raw(w, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 12<<20)+"\r\n\r\n")
		}, "headers"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(c.answer))
			defer server.Close()
			_, err := mustFetcher(t, server.URL).Mod(t.Context(), a1)
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1000 {
				t.Errorf("%.300v, want %s", err, c.want)
			}
		})
	}
}

func raw(w http.ResponseWriter, text string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		io.WriteString(conn, text)
		conn.Close()
	}
}

// TestInterruptOfFetch interrupts what does not come to an end: an answer that
// does not begin, one that trickles, and work on an archive.
func TestInterruptOfFetch(t *testing.T) {
	ended := make(chan bool)
	for name, answer := range map[string]func(w http.ResponseWriter){
		"silent": func(w http.ResponseWriter) { <-ended },
		"stalled": func(w http.ResponseWriter) {
			io.WriteString(w, "PK\x03\x04")
			w.(http.Flusher).Flush()
			<-ended
		},
		"trickling": func(w http.ResponseWriter) {
			for {
				if _, err := io.WriteString(w, "P"); err != nil {
					return
				}
				w.(http.Flusher).Flush()
				select {
				case <-ended:
					return
				case <-time.After(time.Millisecond):
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan bool, 10)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- true
				answer(w)
			}))
			t.Cleanup(server.CloseClientConnections)
			f := mustFetcher(t, server.URL)
			for _, call := range []func(ctx context.Context) error{
				func(ctx context.Context) error { _, err := f.Mod(ctx, a1); return err },
				func(ctx context.Context) error { _, err := f.Zip(ctx, a1); return err },
				func(ctx context.Context) error { _, err := f.Query(ctx, a1.Path); return err },
			} {
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					<-asked
					time.Sleep(5 * time.Millisecond)
					cancel()
				}()
				if err := call(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("%v", err)
				}
			}
			left, _ := filepath.Glob(filepath.Join(f.cache, "example.com", "a", "@v", "*.tmp"))
			if len(left) > 0 {
				t.Errorf("the cache keeps %v", left)
			}
		})
	}
	close(ended)
}

// TestInterruptOfHash interrupts the work on a large archive that is there.
func TestInterruptOfHash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.zip")
	if err := os.WriteFile(path, bomb(64<<20, 64<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := checkZip(ctx, a1, path); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := checkZip(ctx, a1, path); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

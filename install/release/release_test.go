package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPackIsReproducible(t *testing.T) {
	at := time.Unix(1_700_000_000, 0).UTC()
	files := map[string]file{"forge": {[]byte("program"), true}, "a/b.txt": {data: []byte("text")}, "INSTALL.txt": {}}
	first, err := pack("forge-1", at, files)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 { // maps have no order
		if again, err := pack("forge-1", at, files); err != nil || !bytes.Equal(first, again) {
			t.Fatalf("packed again it differs: %v", err)
		}
	}
	z, err := gzip.NewReader(bytes.NewReader(first))
	if err != nil || !z.ModTime.IsZero() || z.Name != "" {
		t.Fatalf("%+v, %v", z.Header, err)
	}
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		if executable := h.Mode == 0o755; executable != (h.Name == "forge-1/forge") || h.Uid != 0 || h.Uname != "" || !h.ModTime.Equal(at) {
			t.Errorf("%+v", h)
		}
	}
	if want := []string{"forge-1/INSTALL.txt", "forge-1/a/b.txt", "forge-1/forge"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

func TestUnpackKeepsToItsFolder(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc"}); err != nil {
		t.Fatal(err)
	}
	if err := unpack(t.TempDir(), &b); err == nil || !strings.Contains(err.Error(), "neither a file nor a folder") {
		t.Errorf("a link: %v", err)
	}
}

// The whole way twice, from two folders: every file comes out with the same bytes.
func TestBuildIsReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the binary twice")
	}
	t.Chdir("../..") // git archive takes the part of the repository that it stands in
	if _, err := os.Stat(".git"); err != nil {
		t.Skip("this is no checkout of a commit")
	}
	var built [2]map[string]file
	for i := range built {
		src, err := checkout()
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(src.dir)
		if built[i], err = src.build(runtime.GOOS + "/" + runtime.GOARCH); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"INSTALL.txt", "forge", "forge_magic.py", "kernelspec/forge/kernel.json", "kernelspec/forge/logo-32x32.png",
		"kernelspec/forge/logo-64x64.png", "kernelspec/forge/logo-svg.svg"}
	for _, name := range want {
		if first, second := built[0][name], built[1][name]; len(first.data) == 0 || !bytes.Equal(first.data, second.data) || first.executable != (name == "forge") {
			t.Errorf("%s: %d and %d bytes, executable: %v", name, len(first.data), len(second.data), first.executable)
		}
	}
	if got := slices.Sorted(maps.Keys(built[0])); !slices.Equal(got, want) && !slices.Contains(got, "LICENSE") {
		t.Errorf("the archive has %v", got)
	}
}

// What the binary asks of the C library by name, without versions: every one is in glibc
// 2.31, which is in Debian 11 and Ubuntu 20.04. Before a name is added here, look there.
var fromC = strings.Fields(`__errno_location abort dlclose dlerror dlopen dlsym free malloc nanosleep pthread_attr_destroy
	pthread_attr_getstacksize pthread_attr_init pthread_cond_broadcast pthread_create pthread_detach pthread_mutex_lock
	pthread_mutex_unlock pthread_setspecific pthread_sigmask setegid setenv seteuid setgid setgroups setregid setresgid
	setresuid setreuid setuid sigfillset unsetenv`)

func TestBinaryStartsOnOldHosts(t *testing.T) {
	path := os.Getenv("FORGE_BIN")
	if path == "" {
		t.Skip("FORGE_BIN names no binary to look at")
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	// No library of CUDA is among them: those are opened when they are used.
	if slices.Sort(libraries); !slices.Equal(libraries, []string{"libc.so.6", "libdl.so.2", "libpthread.so.0"}) {
		t.Errorf("it needs the libraries %v", libraries)
	}
	symbols, err := f.ImportedSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if !slices.Contains(fromC, s.Name) || s.Version != "" {
			t.Errorf("it needs %s, version %q, of the C library", s.Name, s.Version)
		}
	}
	if len(symbols) != len(fromC) {
		t.Errorf("%d symbols are imported; the list has %d", len(symbols), len(fromC))
	}
}

package library

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

func TestCandidates(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	stubs := filepath.Join(first, "stubs")
	if err := os.Mkdir(stubs, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{first, second, stubs} {
		if err := os.WriteFile(filepath.Join(dir, "libforge-none.so.1"), []byte("no library"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("NEBULA_CUDA_LIBS", strings.Join([]string{stubs, "relative", first}, ":"))
	t.Setenv("LD_LIBRARY_PATH", second)
	names := []string{"libforge-none.so.2", "libforge-none.so.1"}
	want := []string{filepath.Join(first, names[1]), filepath.Join(second, names[1]), names[0], names[1]}
	if got := candidates(names); !slices.Equal(got, want) {
		t.Errorf("candidates %q, want %q", got, want)
	}
	_, err := Open(names...)
	var missing *Missing
	if !errors.As(err, &missing) || len(missing.Tried) != 2 {
		t.Fatalf("error %v, want one of two files that do not load", err)
	}
	for _, part := range []string{"libforge-none.so.2 or libforge-none.so.1 was not found", filepath.Join(first, names[1])} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}

func TestCall(t *testing.T) {
	libc, err := Open("libc.so.6", "libSystem.B.dylib")
	if err != nil {
		t.Skip("no C library: ", err)
	}
	number := []byte("42\x00")
	if got := libc.Call("atoi", uintptr(unsafe.Pointer(&number[0]))); got != 42 {
		t.Errorf("atoi gives %d", got)
	}
	if got := libc.CallPair("abs", 7, 9); got != 7 {
		t.Errorf("abs gives %d", got)
	}
	words := []uintptr{5}
	if got := libc.CallWords("abs", words); got != 5 {
		t.Errorf("abs gives %d", got)
	}
	if n := testing.AllocsPerRun(100, func() { libc.CallPair("abs", 7, 9); libc.CallWords("abs", words) }); n > 0 && !raceEnabled {
		t.Errorf("a call allocates %g times", n)
	}
	if err := libc.Require("atoi", "forge_no_such"); err == nil || !strings.Contains(err.Error(), "it has no forge_no_such") {
		t.Errorf("error %v", err)
	}
	if got := Text(&number[0]); got != "42" {
		t.Errorf("text %q", got)
	}
}

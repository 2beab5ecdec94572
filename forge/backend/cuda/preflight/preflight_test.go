package preflight

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakeVariable makes this test binary a process of an attempt that does what it says.
const fakeVariable = "FORGE_FAKE_PREFLIGHT"

func TestMain(m *testing.M) {
	mode, fake := os.LookupEnv(fakeVariable)
	if !fake {
		os.Exit(m.Run())
	}
	rank, size := os.Args[len(os.Args)-2], os.Args[len(os.Args)-1]
	what, of, _ := strings.Cut(mode, " ")
	if of != rank {
		what = "agree"
	}
	switch what {
	case "agree":
		fmt.Println(agreed, rank, size)
	case "wrong":
		fmt.Println("an all-reduce gives wrong values")
		os.Exit(1)
	case "silent":
	case "hang":
		time.Sleep(time.Hour)
	case "id":
		if err := Attend(context.Background(), os.Stdin, os.Stdout, 0, 1); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

func TestTogether(t *testing.T) {
	for mode, want := range map[string]string{
		"agree":    "",
		"wrong 1":  "rank 1: exit status 1: an all-reduce gives wrong values",
		"silent 0": "rank 0: it says nothing of what it found",
		"id 0":     "rank 0: exit status 1: an ID has 128 bytes",
	} {
		t.Setenv(fakeVariable, mode)
		err := together(t.Context(), 3, []string{os.Args[0], "-x"}, nil, "00\n")
		if got := fmt.Sprint(err); want != "" && !strings.Contains(got, want) || want == "" && err != nil {
			t.Errorf("%s: %v, want %q", mode, err, want)
		}
	}
}

// TestHang sees that a process that does not end is ended, and the others with it.
func TestHang(t *testing.T) {
	t.Setenv(fakeVariable, "hang 1")
	enough := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, enough)
	defer cancel()
	if err := together(ctx, 2, []string{os.Args[0]}, nil, ""); !errors.Is(err, enough) {
		t.Errorf("it ends with %v", err)
	}
	t.Setenv(fakeVariable, "hang")
	if err := together(t.Context(), 2, []string{filepath.Join(t.TempDir(), "nothing")}, nil, ""); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("without a program: %v", err)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("FORGE_CACHE_DIR", dir)
	v := Verdict{Direct: true, Driver: "13.0", NCCL: "2.28.9", Devices: []string{"GPU-1", "GPU-2"}, Taken: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Took: 2}
	path := v.file()
	if err := v.write(path); err != nil {
		t.Fatal(err)
	}
	got, err := read(path)
	if err != nil || got.String() != v.String() || !strings.Contains(got.String(), "2 GPUs exchange tensors directly (NCCL 2.28.9, driver for CUDA 13.0, 2026-01-02)") {
		t.Errorf("read %v, %v", got, err)
	}
	later := v
	later.NCCL, later.Direct, later.Why, later.Taken = "2.30.7", false, "they did not end within 15s", v.Taken.Add(time.Hour)
	if later.file() == path || later.write(later.file()) != nil {
		t.Error("another library has the same verdict")
	}
	if n := Newest(2); n == nil || n.Direct || !strings.Contains(n.String(), "through memory of the host: directly, they did not end") {
		t.Errorf("the newest is %v", n)
	}
	if n := Newest(3); n != nil {
		t.Errorf("about 3 devices: %v", n)
	}
	for _, text := range []string{"", "{}", `{"direct": false, "devices": ["a", "b"]}`, `{"more": 1}`, strings.Repeat(" ", maxFile+1)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if v, err := read(path); err == nil {
			t.Errorf("%.20q is %v", text, v)
		}
	}
}

func TestPattern(t *testing.T) {
	a, b := pattern(100, 0), pattern(100, 1)
	if len(a) != 400 || string(a) == string(b) {
		t.Error("ranks have equal values")
	}
}

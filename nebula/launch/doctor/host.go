package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"forgekernel/forge/backend/cuda/preflight"
	"forgekernel/nebula/launch"
)

// Host is what a check may look at. [This] is the real one; a test makes its own.
type Host struct {
	Root     fs.FS // all files: "/" without its slash
	Env      launch.Lookup
	Cores    launch.Cores
	Features []string // instruction sets that generated kernels care for
	LookPath func(name string) (string, error)
	Run      func(ctx context.Context, path string, args ...string) (string, error)
	Space    func(path string) (total, free uint64, err error) // of a file system, in bytes
	Limit    func(resource int) (unix.Rlimit, error)
	Kernel   []Facility
	Folder   func() (launch.Folder, error)
	Exchange func(devices int) *preflight.Verdict // the latest about so many GPUs

	asked   sync.Once // for what gpus returns
	found   []gpu
	failure error
}

// Facility is something that the kernel may or may not give.
type Facility struct {
	Name string
	Need string // what it is for
	Try  func() error
}

// This is the host that the process runs on.
func This() *Host {
	root := os.DirFS("/")
	return &Host{
		Root: root, Env: os.LookupEnv, Cores: launch.CoresHere(root), Features: features(),
		LookPath: exec.LookPath, Run: run, Space: space, Kernel: facilitiesHere, Folder: launch.OpenFolder, Exchange: preflight.Newest,
		Limit: func(resource int) (l unix.Rlimit, err error) {
			err = unix.Getrlimit(resource, &l)
			return l, err
		},
	}
}

func features() []string {
	var has []string
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"SSE4.2", cpu.X86.HasSSE42}, {"AVX2", cpu.X86.HasAVX2}, {"FMA", cpu.X86.HasFMA},
		{"AVX-512F", cpu.X86.HasAVX512F}, {"AVX-512 BF16", cpu.X86.HasAVX512BF16}, {"AMX", cpu.X86.HasAMXTile},
		{"ASIMD", cpu.ARM64.HasASIMD}, {"SVE", cpu.ARM64.HasSVE}, {"dot product", cpu.ARM64.HasASIMDDP},
	} {
		if f.has {
			has = append(has, f.name)
		}
	}
	return has
}

// run is what a program prints.
func run(ctx context.Context, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = patience / 10 // a descendant may hold the pipe
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s gave no answer within %s", filepath.Base(path), patience)
	case err != nil:
		return "", fmt.Errorf("%s failed: %w", filepath.Base(path), err)
	}
	return string(out), nil
}

func space(path string) (total, free uint64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, 0, err
	}
	return s.Blocks * uint64(s.Bsize), s.Bavail * uint64(s.Bsize), nil
}

// read is the text of a file, without spaces around it; empty when there is none.
func (h *Host) read(path string) string {
	text, _ := fs.ReadFile(h.Root, path)
	return strings.TrimSpace(string(text))
}

// field finds "name <sep> value" in lines of text.
func field(text, name, sep string) string {
	for line := range strings.Lines(text) {
		k, v, found := strings.Cut(line, sep)
		if found && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Package library finds NVIDIA's shared libraries and calls their C functions
// without cgo.
//
// Candidates are tried in this order, and the first that loads is used: the folders
// of NEBULA_CUDA_LIBS, then of LD_LIBRARY_PATH, what the dynamic loader finds by
// itself, the folders of drivers, those of CUDA toolkits, and NVIDIA's packages in
// the Pythons of the host, newest first. Stubs, which a toolkit has for linking, are
// left out.
package library

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Library is a shared library in this process. It is never unloaded: those of CUDA
// leave threads behind.
type Library struct {
	Path   string // absolute, or a bare name that the dynamic loader found
	handle uintptr
	mu     sync.Mutex // of looking up
	known  atomic.Pointer[map[string]uintptr]
}

// Missing is the error of a library that no candidate gave.
type Missing struct {
	Names []string
	Tried []error // why those that exist did not load
}

func (m *Missing) Error() string {
	text := strings.Join(m.Names, " or ") + " was not found in NEBULA_CUDA_LIBS, LD_LIBRARY_PATH, the loader's cache, or the folders of drivers, toolkits and Python packages"
	if err := errors.Join(m.Tried...); err != nil {
		text += "; what was found does not load: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return text
}

// Open loads a library that is known under some names, the best first. The error is
// a [*Missing].
func Open(names ...string) (*Library, error) {
	missing := &Missing{Names: names}
	for _, path := range candidates(names) {
		handle, err := load(path)
		if err == nil {
			l := &Library{Path: path, handle: handle}
			l.known.Store(&map[string]uintptr{})
			return l, nil
		}
		if filepath.IsAbs(path) {
			missing.Tried = append(missing.Tried, err)
		}
	}
	return nil, missing
}

func load(path string) (uintptr, error) {
	runtime.LockOSThread() // the loader keeps what went wrong for the thread
	defer runtime.UnlockOSThread()
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// candidates are files that exist, and the bare names where the loader's turn is.
func candidates(names []string) []string {
	list := inFolders(folders(os.Getenv("NEBULA_CUDA_LIBS"), os.Getenv("LD_LIBRARY_PATH")), names)
	list = append(list, names...)
	return append(list, inFolders(wellKnown(), names)...)
}

// folders splits lists of folders. A relative one would mean another place for every
// process.
func folders(lists ...string) []string {
	var dirs []string
	for _, list := range lists {
		for _, dir := range filepath.SplitList(list) {
			if filepath.IsAbs(dir) {
				dirs = append(dirs, filepath.Clean(dir))
			}
		}
	}
	return dirs
}

func inFolders(dirs, names []string) []string {
	var list []string
	for _, dir := range dirs {
		for _, name := range names {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && filepath.Base(dir) != "stubs" {
				list = append(list, path)
			}
		}
	}
	return list
}

// wellKnown are the folders of drivers, toolkits and Python packages on this host.
func wellKnown() []string {
	dirs := []string{"/usr/local/nvidia/lib64", "/usr/lib64-nvidia"}
	roots := []string{"/usr/lib", "/usr/local/lib", "/opt/conda/lib"}
	if env := os.Getenv("VIRTUAL_ENV"); filepath.IsAbs(env) {
		roots = append(roots, filepath.Join(env, "lib"))
	}
	if python, err := exec.LookPath("python3"); err == nil {
		roots = append(roots, filepath.Join(filepath.Dir(filepath.Dir(python)), "lib"))
	}
	patterns := []string{"/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*-linux/lib"}
	for _, root := range roots {
		patterns = append(patterns, root+"/python3*/dist-packages/nvidia/*/lib", root+"/python3*/site-packages/nvidia/*/lib")
	}
	for _, p := range patterns {
		found, _ := filepath.Glob(p) // the error is of the pattern, and these are right
		slices.Sort(found)
		slices.Reverse(found)
		dirs = append(dirs, found...)
	}
	return dirs
}

// Address is where a function begins; 0 when the library does not have it.
func (l *Library) Address(name string) uintptr {
	if at, known := (*l.known.Load())[name]; known {
		return at
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at, _ := purego.Dlsym(l.handle, name)
	more := maps.Clone(*l.known.Load()) // calls under way read the old one
	more[name] = at
	l.known.Store(&more)
	return at
}

// Has reports whether the library has a function.
func (l *Library) Has(name string) bool { return l.Address(name) != 0 }

// Require is an error that lists the functions which the library lacks.
func (l *Library) Require(names ...string) error {
	var lacking []string
	for _, name := range names {
		if !l.Has(name) {
			lacking = append(lacking, name)
		}
	}
	if lacking == nil {
		return nil
	}
	return fmt.Errorf("%s is too old: it has no %s", l.Path, strings.Join(lacking, ", "))
}

// Call calls a function that takes pointers and integers, and returns its result
// code. Pointers converted in the argument list stay valid during the call.
//
//go:uintptrescapes
func (l *Library) Call(name string, args ...uintptr) int32 {
	code, _, _ := purego.SyscallN(l.Address(name), args...)
	return int32(code)
}

// pairs are arguments of calls that are under way.
var pairs = sync.Pool{New: func() any { return new([2]uintptr) }}

// CallPair is [Library.Call] for at most two arguments, none of which is a pointer of
// Go. It allocates nothing. C does not mind an argument too many.
func (l *Library) CallPair(name string, a, b uintptr) int32 {
	args := pairs.Get().(*[2]uintptr)
	args[0], args[1] = a, b
	code, _, _ := purego.SyscallN(l.Address(name), args[:]...)
	pairs.Put(args)
	return int32(code)
}

// CallWords is [Library.Call] for arguments that are kept from call to call, with what
// they point to. It allocates nothing.
func (l *Library) CallWords(name string, args []uintptr) int32 {
	code, _, _ := purego.SyscallN(l.Address(name), args...)
	return int32(code)
}

// maxText bounds what [Text] reads, in bytes.
const maxText = 4096

// Text reads a string of C that ends in a 0; empty at address 0.
func Text(at *byte) string {
	if at == nil {
		return ""
	}
	n := 0
	for n < maxText && *(*byte)(unsafe.Add(unsafe.Pointer(at), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(at, n))
}

// Package nvrtc compiles CUDA C to machine code for a GPU with NVIDIA's NVRTC, a
// library that needs no GPU. On a host without one, the package of PyPI named
// nvidia-cuda-nvrtc-cu12 brings it.
//
// What was compiled is kept on disk under a name made of source, options and the
// version of NVRTC; see package objects.
package nvrtc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"forgekernel/display"
	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/backend/objects"
)

// Architectures are those that the suite is compiled for. The last has the
// instructions of Hopper that no later device has.
var Architectures = []string{"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"}

// maxSource bounds a source, in bytes.
const maxSource = 16 << 20

// Compiler is NVRTC. It is safe for concurrent use.
type Compiler struct {
	Path    string
	Version string // "12.9"
	lib     *library.Library
}

// Open loads NVRTC, once for the process.
var Open = sync.OnceValues(open)

func open() (*Compiler, error) {
	lib, err := library.Open("libnvrtc.so.13", "libnvrtc.so.12")
	if err != nil {
		return nil, err
	}
	c := &Compiler{Path: lib.Path, lib: lib}
	if err := lib.Require("nvrtcVersion", "nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcGetCUBINSize", "nvrtcGetCUBIN",
		"nvrtcGetProgramLogSize", "nvrtcGetProgramLog", "nvrtcDestroyProgram", "nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs"); err != nil {
		return nil, err
	}
	var major, minor int32
	if err := c.call("nvrtcVersion", uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor))); err != nil {
		return nil, err
	}
	c.Version = fmt.Sprintf("%d.%d", major, minor)
	return c, nil
}

// Supported are the architectures, without suffixes, that this NVRTC compiles for.
func (c *Compiler) Supported() ([]string, error) {
	var n int32
	if err := c.call("nvrtcGetNumSupportedArchs", uintptr(unsafe.Pointer(&n))); err != nil {
		return nil, err
	}
	numbers := make([]int32, max(n, 1))
	if err := c.call("nvrtcGetSupportedArchs", uintptr(unsafe.Pointer(&numbers[0]))); err != nil {
		return nil, err
	}
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("sm_%d", numbers[i])
	}
	return list, nil
}

// Source is a program to compile.
type Source struct {
	Name string // in messages: "mlp.cu"
	Text string
	Arch string // "sm_90"
	// Options are more of NVRTC's, such as "--device-int128".
	Options []string
}

// options are those of every compilation. Products and sums are fused where the source
// says so and nowhere else, and NaN, infinities and small numbers keep their meaning.
var options = []string{"--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true", "--device-as-default-execution-space"}

func (s Source) options() []string {
	return slices.Concat([]string{"--gpu-architecture=" + s.Arch}, options, s.Options)
}

// Cubin compiles a source, or takes what was compiled before. The error of a source
// that is wrong is a [*Failure]. A compilation cannot be stopped: when ctx ends, it
// goes on by itself, and its result is kept.
func (c *Compiler) Cubin(ctx context.Context, s Source) ([]byte, error) {
	cache, err := objects.Open("cuda")
	if err != nil {
		return nil, err
	}
	name := c.key(s)
	cubin, err := cache.Read(name)
	if err == nil {
		return cubin, nil
	}
	if !errors.Is(err, objects.ErrMissing) {
		_ = display.ShowContext(ctx, &display.Diagnostic{Warning: true, Message: err.Error(), Hint: "it is compiled again"})
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if cubin, err = c.Compile(s); err != nil {
			return
		}
		_, err = cache.Build(name, func(dir string) (string, error) {
			return "program.cubin", os.WriteFile(filepath.Join(dir, "program.cubin"), cubin, 0o600)
		})
	}()
	select {
	case <-done:
		return cubin, err
	case <-ctx.Done():
		return nil, fmt.Errorf("NVRTC did not finish: %w", context.Cause(ctx))
	}
}

// key is the name of a result.
func (c *Compiler) key(s Source) string {
	sum := sha256.Sum256([]byte(strings.Join(append(s.options(), c.Version, s.Name, s.Text), "\x00")))
	return hex.EncodeToString(sum[:])
}

// Compile compiles a source anew.
func (c *Compiler) Compile(s Source) ([]byte, error) {
	cubin, _, err := c.CompileLog(s)
	return cubin, err
}

// CompileLog is [Compiler.Compile] with what NVRTC says of a source that it compiles, as
// the option --ptxas-options=-v asks it to.
func (c *Compiler) CompileLog(s Source) (cubin []byte, said string, err error) {
	if len(s.Text) > maxSource {
		return nil, "", fmt.Errorf("%s has %d bytes; a source may have %d", s.Name, len(s.Text), maxSource)
	}
	if i := strings.IndexByte(s.Text, 0); i >= 0 {
		return nil, "", fmt.Errorf("%s has a byte 0 at %d", s.Name, i)
	}
	text, name := terminated(s.Text), terminated(s.Name)
	var program uintptr
	if err := c.call("nvrtcCreateProgram", uintptr(unsafe.Pointer(&program)), uintptr(unsafe.Pointer(text)), uintptr(unsafe.Pointer(name)), 0, 0, 0); err != nil {
		return nil, "", err
	}
	defer func() { _ = c.call("nvrtcDestroyProgram", uintptr(unsafe.Pointer(&program))) }()
	var list []*byte
	for _, o := range s.options() {
		list = append(list, terminated(o))
	}
	err = c.call("nvrtcCompileProgram", program, uintptr(len(list)), uintptr(unsafe.Pointer(&list[0])))
	log, failed := c.bytes(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog")
	if err != nil {
		return nil, "", errors.Join(c.failure(s, err, log), failed)
	}
	if failed != nil {
		return nil, "", failed
	}
	cubin, err = c.bytes(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN")
	return cubin, strings.TrimRight(string(log), "\x00"), err
}

// terminated is a string of C.
func terminated(s string) *byte { return &append([]byte(s), 0)[0] }

// bytes asks for a size and then for as many bytes.
func (c *Compiler) bytes(program uintptr, size, get string) ([]byte, error) {
	var n uint64
	if err := c.call(size, program, uintptr(unsafe.Pointer(&n))); err != nil {
		return nil, err
	}
	if n == 0 || n > objects.MaxObject {
		return nil, fmt.Errorf("%s says %d bytes", size, n)
	}
	b := make([]byte, n)
	return b, c.call(get, program, uintptr(unsafe.Pointer(&b[0])))
}

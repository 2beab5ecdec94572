// Package cublaslt multiplies matrices with NVIDIA's cuBLASLt, without cgo: what the
// products of package gemm are measured against, and one more candidate beside them.
//
// A [Shape] says what is to be multiplied. [Library.Plan] asks the library for the ways
// that it has to do so, the most promising first, and each [Product] of a [Plan] puts
// its work into a stream, which may be captured in a graph:
//
//	plan, err := lib.Plan(cublaslt.Shape{A: …, Workspace: 32 << 20})
//	...
//	err = plan.Products[0].Run(stream, a, b, c, d, workspace)
//
// Sums are in float32, in float64 for float64, and never in TF32 or a narrower type:
// products of float32 are asked for in the library's pedantic mode. Nothing is applied to
// a sum but the bias that C is; activations stay with kernels whose bits are known.
package cublaslt

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"forgekernel/forge/backend/cuda/library"
)

// Library is cuBLASLt. It is safe for concurrent use.
type Library struct {
	Path    string
	Version Version
	lib     *library.Library
	mu      sync.Mutex
	handles map[int]uintptr // by device
}

// Version is a release: 130100 is 13.1.0.
type Version int

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v/10000, v%10000/100, v%100) }

// Open loads cuBLASLt, once for the process. The error says what was looked for.
var Open = sync.OnceValues(open)

func open() (*Library, error) {
	lib, err := library.Open("libcublasLt.so.13", "libcublasLt.so.12")
	if err != nil {
		return nil, err
	}
	l := &Library{Path: lib.Path, lib: lib, handles: make(map[int]uintptr)}
	if err := lib.Require(functions...); err != nil {
		return nil, err
	}
	v, _, _ := purego.SyscallN(lib.Address("cublasLtGetVersion"))
	l.Version = Version(v)
	return l, nil
}

// functions are all that this package calls.
var functions = []string{
	"cublasLtCreate", "cublasLtGetVersion", "cublasLtGetStatusName", "cublasLtGetStatusString",
	"cublasLtMatmulDescCreate", "cublasLtMatmulDescDestroy", "cublasLtMatmulDescSetAttribute",
	"cublasLtMatrixLayoutCreate", "cublasLtMatrixLayoutDestroy", "cublasLtMatrixLayoutSetAttribute",
	"cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceDestroy", "cublasLtMatmulPreferenceSetAttribute",
	"cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmulAlgoConfigGetAttribute", "cublasLtMatmul",
}

// Status is a code of the library, to be found in errors by errors.Is.
type Status int32

func (s Status) Error() string { return fmt.Sprintf("status %d of cuBLASLt", int32(s)) }

// Statuses that are asked for.
const (
	NotInitialized Status = 1
	InvalidValue   Status = 7
	NotSupported   Status = 15
)

// Error is a status other than success.
type Error struct {
	Call   string // "cublasLtMatmulAlgoGetHeuristic"
	Detail string // what it was called for: "bf16[8,4096] by [4096,4096]"
	Status Status
	Name   string // "CUBLAS_STATUS_NOT_SUPPORTED"
	Text   string
}

func (e *Error) Error() string {
	text := e.Call
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return fmt.Sprintf("%s: %s, code %d: %s", text, e.Name, int32(e.Status), e.Text)
}

// Is compares with a [Status].
func (e *Error) Is(target error) bool { return target == e.Status }

// call calls a function; the error says what it was called for.
//
//go:uintptrescapes
func (l *Library) call(detail, name string, args ...uintptr) error {
	status := Status(l.lib.Call(name, args...))
	if status == 0 {
		return nil
	}
	return l.fail(status, name, detail)
}

func (l *Library) fail(status Status, name, detail string) *Error {
	return &Error{Call: name, Detail: detail, Status: status, Name: l.text("cublasLtGetStatusName", status), Text: l.text("cublasLtGetStatusString", status)}
}

// text calls a function that tells about a status in a string of C.
func (l *Library) text(name string, status Status) string {
	at, _, _ := purego.SyscallN(l.lib.Address(name), uintptr(status))
	return library.Text(*(**byte)(unsafe.Pointer(&at)))
}

// handle is that of a device, which is the current one of the caller's thread.
func (l *Library) handle(device int) (uintptr, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, known := l.handles[device]
	if known {
		return h, nil
	}
	if err := l.call(fmt.Sprintf("device %d", device), "cublasLtCreate", uintptr(unsafe.Pointer(&h))); err != nil {
		return 0, err
	}
	l.handles[device] = h
	return h, nil
}

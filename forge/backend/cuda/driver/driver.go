// Package driver drives NVIDIA GPUs by way of libcuda, without cgo.
//
// [Open] loads the library that belongs to the driver of the host, and [Library.Devices]
// tells what there is. [Device.Open] gives a [Context]. libcuda keeps the current
// context for a thread, so that calls stand in a function that is run with the thread
// locked and the context set, which any goroutine may do:
//
//	err := c.Do(ctx, func() error {
//		s, err := c.NewStream()
//		...
//		return s.Synchronize()
//	})
//
// All methods of a Context and of what it makes are to be called within Do, but for
// those that say otherwise.
//
// Memory comes from a pool of the context ([Context.Alloc]), in the order of a stream.
// Every result code other than success becomes an [*Error].
package driver

import (
	"fmt"
	"sync"
	"unsafe"

	"forgekernel/forge/backend/cuda/library"
)

// Library is libcuda.
type Library struct {
	Path    string
	Version Version // the newest CUDA that the driver serves
	lib     *library.Library
}

// Version is a release of CUDA: 12080 is 12.8.
type Version int32

func (v Version) String() string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// oldest is the first release with everything that this package calls: pools of
// memory and cuGraphInstantiateWithFlags.
const oldest Version = 11040

// Open loads libcuda and initializes it, once for the process. The error says what
// was looked for, or what the driver said.
var Open = sync.OnceValues(open)

func open() (*Library, error) {
	lib, err := library.Open("libcuda.so.1")
	if err != nil {
		return nil, err
	}
	l := &Library{Path: lib.Path, lib: lib}
	if err := lib.Require("cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString"); err != nil {
		return nil, err
	}
	if err := l.call("", "cuInit", 0); err != nil {
		return nil, err
	}
	if err := l.call("", "cuDriverGetVersion", uintptr(unsafe.Pointer(&l.Version))); err != nil {
		return nil, err
	}
	if l.Version < oldest {
		return nil, fmt.Errorf("%s serves CUDA up to %v; CUDA %v is needed, which a newer driver brings", l.Path, l.Version, oldest)
	}
	return l, lib.Require(functions...)
}

// functions are all that this package calls.
var functions = []string{
	"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem_v2", "cuDeviceGetAttribute", "cuDeviceGetUuid", "cuDeviceGetPCIBusId",
	"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2", "cuCtxSetCurrent", "cuCtxSynchronize", "cuMemGetInfo_v2",
	"cuMemPoolCreate", "cuMemPoolDestroy", "cuMemPoolSetAttribute", "cuMemPoolGetAttribute", "cuMemPoolTrimTo", "cuMemAllocFromPoolAsync", "cuMemFreeAsync",
	"cuMemHostAlloc", "cuMemFreeHost", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async",
	"cuMemAlloc_v2", "cuMemFree_v2", "cuMemsetD8_v2", "cuIpcGetMemHandle", "cuIpcOpenMemHandle_v2", "cuIpcCloseMemHandle", "cuCtxEnablePeerAccess",
	"cuStreamCreate", "cuStreamDestroy_v2", "cuStreamSynchronize", "cuStreamQuery", "cuStreamWaitEvent", "cuStreamBeginCapture_v2", "cuStreamEndCapture",
	"cuEventCreate", "cuEventDestroy_v2", "cuEventRecord", "cuEventRecordWithFlags", "cuEventQuery", "cuEventSynchronize", "cuEventElapsedTime",
	"cuModuleLoadData", "cuModuleUnload", "cuModuleGetFunction", "cuFuncGetAttribute", "cuFuncSetAttribute", "cuLaunchKernel",
	"cuGraphInstantiateWithFlags", "cuGraphGetNodes", "cuGraphLaunch", "cuGraphExecDestroy", "cuGraphDestroy",
}

// Error is a result code of libcuda.
type Error struct {
	Call   string // "cuMemAllocFromPoolAsync"
	Detail string // what it was called for: "3.0 GiB; 1.2 GiB of 139.8 GiB are free"
	Code   Result
	Name   string // "CUDA_ERROR_OUT_OF_MEMORY"
	Text   string // "out of memory"
}

func (e *Error) Error() string {
	text := e.Call
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return fmt.Sprintf("%s: %s, code %d: %s", text, e.Name, e.Code, e.Text)
}

// Is compares with a [Result].
func (e *Error) Is(target error) bool { return target == e.Code }

// Result is a code of libcuda, to be found in errors by errors.Is.
type Result int32

func (r Result) Error() string { return fmt.Sprintf("code %d of libcuda", int32(r)) }

// Results that callers ask for.
const (
	OutOfMemory Result = 2
	NotReady    Result = 600
)

// call calls a function; the error says what it was called for.
//
//go:uintptrescapes
func (l *Library) call(detail, name string, args ...uintptr) error {
	if code := Result(l.lib.Call(name, args...)); code != 0 {
		return l.fail(code, name, detail)
	}
	return nil
}

func (l *Library) fail(code Result, name, detail string) *Error {
	e := &Error{Call: name, Detail: detail, Code: code, Name: "an unknown code", Text: "the driver has no text for it"}
	var at *byte
	if l.lib.Call("cuGetErrorName", uintptr(code), uintptr(unsafe.Pointer(&at))) == 0 && at != nil {
		e.Name = library.Text(at)
	}
	if at = nil; l.lib.Call("cuGetErrorString", uintptr(code), uintptr(unsafe.Pointer(&at))) == 0 && at != nil {
		e.Text = library.Text(at)
	}
	return e
}

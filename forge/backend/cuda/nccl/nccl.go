// Package nccl lets GPUs exchange tensors through NVIDIA's NCCL, without cgo.
//
// The ranks of a group are processes with a device each. One of them makes an [ID],
// gives it to the others by whatever means they have, and all of them call
// [Library.Join] at once. A [Comm] then puts operations into streams; nothing of it
// waits for another rank but work of the device:
//
//	comm, err := lib.Join(ctx, device, id, rank, size)
//	...
//	err = device.Do(ctx, func() error { return comm.AllReduce(ctx, stream, backend.Sum, tensor.F32, to, from, n) })
//
// Operations may be captured in a graph. All ranks put the same operations into their
// streams in the same order, or the devices wait for one another for ever.
//
// # Failure
//
// Communicators are such that no call of theirs blocks: what NCCL still does in the
// background is asked for, until ctx ends. Who has to give up because a rank has died,
// or a device waits for too long, calls [Comm.Abort], which ends the work of the device
// that waits. The memory of a device is given back when its process ends.
package nccl

import (
	"bytes"
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"forgekernel/forge/backend/cuda/library"
)

// Library is NCCL.
type Library struct {
	Path    string
	Version Version
	lib     *library.Library
	// initConfig is ncclCommInitRankConfig, which takes an ID by value.
	initConfig initConfig
}

// initConfig is the function as purego passes its arguments: an ID is a structure.
type initConfig func(comm *uintptr, ranks int32, id struct{ ID }, rank int32, c *config) int32

// Version is a release of NCCL: 22809 is 2.28.9.
type Version int32

func (v Version) String() string {
	if v < 10000 { // until 2.8
		return fmt.Sprintf("%d.%d.%d", v/1000, v%1000/100, v%100)
	}
	return fmt.Sprintf("%d.%d.%d", v/10000, v%10000/100, v%100)
}

// oldest is the first release whose configuration has all that this package sets.
const oldest Version = 21700

// Open loads NCCL, once for the process. The error says what was looked for.
var Open = sync.OnceValues(open)

func open() (*Library, error) {
	if err := prepare(); err != nil {
		return nil, err
	}
	lib, err := library.Open("libnccl.so.2")
	if err != nil {
		return nil, err
	}
	l := &Library{Path: lib.Path, lib: lib}
	if err := lib.Require(functions...); err != nil {
		return nil, err
	}
	if err := l.call("", "ncclGetVersion", uintptr(unsafe.Pointer(&l.Version))); err != nil {
		return nil, err
	}
	if l.Version < oldest {
		return nil, fmt.Errorf("%s is NCCL %v; %v or newer is needed", l.Path, l.Version, oldest)
	}
	if !lib.Has(initScalable) {
		purego.RegisterFunc(&l.initConfig, lib.Address(initByValue))
	}
	return l, nil
}

// Functions that begin a communicator: the first one, which takes pointers alone, is
// there since 2.23.
const (
	initScalable = "ncclCommInitRankScalable"
	initByValue  = "ncclCommInitRankConfig"
)

// functions are all others that this package calls.
var functions = []string{
	"ncclGetVersion", "ncclGetUniqueId", "ncclGetErrorString", "ncclGetLastError", initByValue,
	"ncclCommGetAsyncError", "ncclCommFinalize", "ncclCommDestroy", "ncclCommAbort",
	"ncclAllReduce", "ncclReduceScatter", "ncclAllGather", "ncclBroadcast", "ncclSend", "ncclRecv",
}

// ID tells the ranks of one group from all others. It is made by one of them.
type ID [128]byte

// NewID makes an ID. This process serves the others, as long as it lives, while they join.
func (l *Library) NewID() (ID, error) {
	var id ID
	return id, l.call("", "ncclGetUniqueId", uintptr(unsafe.Pointer(&id)))
}

// call calls a function; the error says what it was called for.
//
//go:uintptrescapes
func (l *Library) call(detail, name string, args ...uintptr) error {
	if code := Result(l.lib.Call(name, args...)); code != 0 {
		return l.fail(code, name, detail)
	}
	return nil
}

// Result is a code of NCCL, to be found in errors by errors.Is.
type Result int32

func (r Result) Error() string { return fmt.Sprintf("code %d of NCCL", int32(r)) }

// Results that are asked for.
const (
	RemoteError Result = 6
	inProgress  Result = 7
)

// results are the names of codes.
var results = []string{
	"ncclSuccess", "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError", "ncclInvalidArgument",
	"ncclInvalidUsage", "ncclRemoteError", "ncclInProgress",
}

// Error is a result code of NCCL.
type Error struct {
	Call   string // "ncclCommInitRankScalable"
	Detail string // what it was called for: "rank 1 of 2 on device 0"
	Code   Result
	Name   string // "ncclSystemError"
	Text   string // of the code: "unhandled system error"
	Last   string // what the library wrote last, which may be about something else
}

func (e *Error) Error() string {
	text := e.Call
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	text = fmt.Sprintf("%s: %s, code %d: %s", text, e.Name, e.Code, e.Text)
	if e.Last != "" {
		text += "; NCCL last said: " + e.Last
	}
	return text
}

// Is compares with a [Result].
func (e *Error) Is(target error) bool { return target == e.Code }

func (l *Library) fail(code Result, name, detail string) *Error {
	e := &Error{Call: name, Detail: detail, Code: code, Name: "an unknown code", Last: l.text("ncclGetLastError", 0)}
	if 0 <= code && int(code) < len(results) {
		e.Name = results[code]
	}
	e.Text = l.text("ncclGetErrorString", uintptr(code))
	return e
}

// text calls a function that returns a string of C.
func (l *Library) text(name string, arg uintptr) string {
	at, _, _ := purego.SyscallN(l.lib.Address(name), arg)
	return string(bytes.TrimSpace([]byte(library.Text(*(**byte)(unsafe.Pointer(&at))))))
}

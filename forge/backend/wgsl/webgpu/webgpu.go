// Package webgpu runs plans on implementations of WebGPU, which are written in C++ and
// Rust and made for pages: it has the JavaScript that runs a plan ([Runner]), and a
// device that gives plans to a child process of Node, where the npm package "webgpu" is
// Dawn, the implementation of Chromium.
//
// The two talk in messages: a text of JSON and bytes behind the lengths of both. A run
// sends a plan and the content of what the host fills, and gets what the host reads, or
// an [Error]. The child ends with its device and with this process; a run that its
// context ends takes the child with it, since nothing stops a GPU otherwise, and the
// next run starts another.
package webgpu

import (
	_ "embed"
	"fmt"
)

// Runner is the text of the JavaScript that runs plans: declarations, for the head of a
// script.
//
//go:embed runner.js
var Runner string

//go:embed node.js
var service string

// Kind is the kind of an [Error].
type Kind string

// Kinds of errors.
const (
	NoAdapter  Kind = "adapter"    // there is no GPU, or it gives no device
	NoFeature  Kind = "feature"    // the adapter lacks a feature that the plan needs
	Limit      Kind = "limit"      // a limit of the adapter is below that of the plan
	Compile    Kind = "compile"    // a shader is not WGSL
	Validation Kind = "validation" // the plan and its shaders do not fit one another
	Memory     Kind = "memory"     // the memory of the device is used up
	Lost       Kind = "lost"       // the device went away
	Internal   Kind = "internal"   // the implementation failed
	Process    Kind = "process"    // the child process ended, or said what makes no sense
)

// Error is why a plan did not run.
type Error struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	// Where a shader is not WGSL; lines and columns are counted from 1.
	Module string `json:"module,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("WebGPU (%s): %s", e.Kind, e.Message) }

// Missing is the error of a host that has no Dawn to run plans on.
type Missing struct{ Reason string }

func (m *Missing) Error() string { return "there is no WebGPU: " + m.Reason }

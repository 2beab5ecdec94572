package wgsl

import (
	"context"
	"encoding/json"
	"fmt"
)

// Version is that of the JSON form of a [Plan].
const Version = 1

// Plan is a program for a device of WebGPU as plain data: shader modules, buffers and
// dispatches. The content of buffers travels beside it, see [Memory].
type Plan struct {
	Version int    `json:"version"`
	Name    string `json:"name"` // of the graph
	// Features are what an adapter must have: "shader-f16" or nothing.
	Features []string `json:"features"`
	// Limits are what the plan stays within. A device has to be asked for those that
	// are above the default of WebGPU.
	Limits  Limits   `json:"limits"`
	Modules []Module `json:"modules"`
	Buffers []Buffer `json:"buffers"`
	// Dispatches run one after another. Each finds what those before it wrote.
	Dispatches []Dispatch `json:"dispatches"`
}

// Limits are limits of WebGPU, by the names that they have there.
type Limits struct {
	Invocations     int   `json:"maxComputeInvocationsPerWorkgroup"`
	WorkgroupX      int   `json:"maxComputeWorkgroupSizeX"`
	WorkgroupY      int   `json:"maxComputeWorkgroupSizeY"`
	WorkgroupZ      int   `json:"maxComputeWorkgroupSizeZ"`
	WorkgroupBytes  int   `json:"maxComputeWorkgroupStorageSize"`
	Groups          int   `json:"maxComputeWorkgroupsPerDimension"`
	StorageBuffers  int   `json:"maxStorageBuffersPerShaderStage"`
	BindingBytes    int64 `json:"maxStorageBufferBindingSize"`
	BufferBytes     int64 `json:"maxBufferSize"`
	OffsetAlignment int64 `json:"minStorageBufferOffsetAlignment"`
}

// DefaultLimits are what every device of WebGPU has.
var DefaultLimits = Limits{
	Invocations: 256, WorkgroupX: 256, WorkgroupY: 256, WorkgroupZ: 64, WorkgroupBytes: 16 << 10, Groups: 65535,
	StorageBuffers: 8, BindingBytes: 128 << 20, BufferBytes: 256 << 20, OffsetAlignment: 256,
}

// Module is a shader module.
type Module struct {
	Name   string `json:"name"`
	Source string `json:"source"` // WGSL
}

// Kind is who fills a buffer, and who reads it.
type Kind string

// Kinds of buffers. The host fills inputs and constants before a run, and reads outputs
// after it; it does both with an updated buffer. A fault buffer is one word that the host
// sets to 0 before a run; when it is not 0 afterwards, the run failed and nothing else
// of it counts. Scratch is the plan's own.
const (
	Input    Kind = "input"
	Output   Kind = "output"
	Updated  Kind = "updated"
	Constant Kind = "constant"
	Scratch  Kind = "scratch"
	Fault    Kind = "fault"
)

// Filled reports whether the host fills such a buffer before a run.
func (k Kind) Filled() bool { return k == Input || k == Updated || k == Constant || k == Fault }

// Read reports whether the host reads such a buffer after a run.
func (k Kind) Read() bool { return k == Output || k == Updated || k == Fault }

// Elem is how an element stands in a buffer.
type Elem string

// Elements. Those of [ElemI64] are the low and the high word of an integer; those of
// [ElemBool] are words that are 0 or 1; those of [ElemPair], of constants of type f64, are
// two f32 whose sum they are. Half precision stands as it is in inputs and constants, two
// elements in a word, of which the first is the low half, and elsewhere as the f32 of its
// value; where the plan has the feature shader-f16, f16 stands as it is everywhere.
const (
	ElemF32  Elem = "f32"
	ElemF16  Elem = "f16"
	ElemI32  Elem = "i32"
	ElemI64  Elem = "i64"
	ElemBool Elem = "bool"
	ElemPair Elem = "f32x2"

	ElemHalves  Elem = "f16x2"
	ElemBHalves Elem = "bf16x2"
)

// sizes are the bytes of an element.
var sizes = map[Elem]int{ElemF32: 4, ElemF16: 2, ElemI32: 4, ElemI64: 8, ElemBool: 4, ElemPair: 8, ElemHalves: 2, ElemBHalves: 2}

// Size is the bytes of an element; 0 for a name that is none.
func (e Elem) Size() int { return sizes[e] }

// Buffer is a piece of memory of the device.
type Buffer struct {
	Name  string `json:"name"`
	Kind  Kind   `json:"kind"`
	Bytes int64  `json:"bytes"` // a multiple of 4, and at least 4
	// Of the tensor in it, which begins with the buffer. Scratch, which has one tensor
	// after another, and the fault word have none.
	DType string `json:"dtype,omitempty"`
	Shape []int  `json:"shape,omitempty"`
	Elem  Elem   `json:"elem,omitempty"`
}

// Dispatch is one launch of an entry point.
type Dispatch struct {
	Module    int    `json:"module"`
	Entry     string `json:"entry"`
	Groups    [3]int `json:"groups"`    // workgroups
	Workgroup [3]int `json:"workgroup"` // invocations of one, as the module says
	Storage   int    `json:"storage"`   // bytes of workgroup memory, as the module has them
	// Bindings are those of group 0, by number.
	Bindings []Binding `json:"bindings"`
	Node     string    `json:"node"`   // "%7 = matmul"
	Reason   string    `json:"reason"` // for the geometry, one clause
}

// Binding is the part of a buffer that a dispatch sees.
type Binding struct {
	Buffer int   `json:"buffer"`
	Offset int64 `json:"offset"`
	Size   int64 `json:"size"`
	Write  bool  `json:"write,omitempty"` // var<storage, read_write>
}

// Memory is the content of the buffers of a plan, by index, each of as many bytes as the
// plan says. A device reads those that the host fills and fills those that the host
// reads; the others are nil.
type Memory [][]byte

// Device runs plans.
type Device interface {
	// Adapter says what runs them, for a person.
	Adapter() string
	// Features are those of [Plan.Features] that the device has.
	Features() []string
	// Limits are those that plans for it may have.
	Limits() Limits
	// Run runs a plan and waits for its end. The plan is valid. When ctx ends the error is
	// its cause.
	Run(ctx context.Context, p *Plan, m Memory) error
}

// NewMemory allocates what the host fills or reads.
func (p *Plan) NewMemory() Memory {
	m := make(Memory, len(p.Buffers))
	for i, b := range p.Buffers {
		if b.Kind.Filled() || b.Kind.Read() {
			m[i] = make([]byte, b.Bytes)
		}
	}
	return m
}

// Faulted reports whether a run ended with a fault.
func (p *Plan) Faulted(m Memory) bool {
	for i, b := range p.Buffers {
		if b.Kind == Fault && m[i][0]|m[i][1]|m[i][2]|m[i][3] != 0 {
			return true
		}
	}
	return false
}

// Check compares memory with the buffers of a plan.
func (m Memory) Check(p *Plan) error {
	if len(m) != len(p.Buffers) {
		return fmt.Errorf("%s has %d buffers, the memory %d", p.Name, len(p.Buffers), len(m))
	}
	for i, b := range p.Buffers {
		if (b.Kind.Filled() || b.Kind.Read()) && int64(len(m[i])) != b.Bytes {
			return fmt.Errorf("%s: buffer %q has %d bytes, the memory %d", p.Name, b.Name, b.Bytes, len(m[i]))
		}
	}
	return nil
}

// ReadPlan reads and validates the JSON form.
func ReadPlan(data []byte) (*Plan, error) {
	if len(data) > MaxPlanBytes {
		return nil, fmt.Errorf("a plan of %d bytes: the limit is %d", len(data), MaxPlanBytes)
	}
	p := new(Plan)
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("a plan: %w", err)
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return p, nil
}

// MarshalJSON writes lists without entries as such: for a script null is none.
func (p Plan) MarshalJSON() ([]byte, error) {
	type plain Plan
	p.Features, p.Modules, p.Buffers, p.Dispatches = list(p.Features), list(p.Modules), list(p.Buffers), list(p.Dispatches)
	return json.Marshal(plain(p))
}

// MarshalJSON does so for bindings.
func (d Dispatch) MarshalJSON() ([]byte, error) {
	type plain Dispatch
	d.Bindings = list(d.Bindings)
	return json.Marshal(plain(d))
}

func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// JSON is the form that [ReadPlan] reads.
func (p *Plan) JSON() ([]byte, error) { return json.MarshalIndent(p, "", " ") }

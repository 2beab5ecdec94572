package wgsl

import (
	"fmt"
	"math"
	"slices"

	"forgekernel/forge/tensor"
)

// Limits of plans that are read.
const (
	MaxPlanBytes  = 64 << 20 // of the JSON form
	maxModules    = 1 << 14
	maxBuffers    = 1 << 16
	maxDispatches = 1 << 17
	maxTotalBytes = 1 << 36 // of all buffers
)

// ShaderF16 is the feature of devices that compute with f16.
const ShaderF16 = "shader-f16"

// Validate checks what a device relies on: that indices, offsets and sizes are within what
// they are of, and the plan within its limits. It says nothing of the shaders, which
// the device compiles, and so checks.
func (p *Plan) Validate() error {
	if err := p.validate(); err != nil {
		return fmt.Errorf("plan %q: %w", p.Name, err)
	}
	return nil
}

func (p *Plan) validate() error {
	switch {
	case p.Version != Version:
		return fmt.Errorf("version %d; this is version %d", p.Version, Version)
	case len(p.Modules) > maxModules:
		return fmt.Errorf("%d modules; the limit is %d", len(p.Modules), maxModules)
	case len(p.Buffers) > maxBuffers:
		return fmt.Errorf("%d buffers; the limit is %d", len(p.Buffers), maxBuffers)
	case len(p.Dispatches) > maxDispatches:
		return fmt.Errorf("%d dispatches; the limit is %d", len(p.Dispatches), maxDispatches)
	}
	for _, f := range p.Features {
		if f != ShaderF16 {
			return fmt.Errorf("the feature %q is none that plans have", f)
		}
	}
	if err := p.Limits.validate(); err != nil {
		return err
	}
	for _, m := range p.Modules {
		if m.Source == "" {
			return fmt.Errorf("module %q has no source", m.Name)
		}
	}
	total := int64(0)
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if err := p.validateBuffer(b); err != nil {
			return fmt.Errorf("buffer %d, %q: %w", i, b.Name, err)
		}
		total += b.Bytes
	}
	if total > maxTotalBytes {
		return fmt.Errorf("the buffers have %d MiB; the limit is %d MiB", total>>20, maxTotalBytes>>20)
	}
	for i := range p.Dispatches {
		d := &p.Dispatches[i]
		if err := p.validateDispatch(d); err != nil {
			return fmt.Errorf("dispatch %d, %s: %w", i, d.Node, err)
		}
	}
	return nil
}

// maxCount bounds the limits that are numbers of 32 bits in WebGPU.
const maxCount = math.MaxInt32

// leastAlignment is what no device goes below.
const leastAlignment = 32

// limit is one of the limits, with the largest value that plans may have for it.
type limit struct {
	name        string
	value, most int64
}

func (l Limits) list() []limit {
	return []limit{
		{"maxComputeInvocationsPerWorkgroup", int64(l.Invocations), maxCount},
		{"maxComputeWorkgroupSizeX", int64(l.WorkgroupX), maxCount},
		{"maxComputeWorkgroupSizeY", int64(l.WorkgroupY), maxCount},
		{"maxComputeWorkgroupSizeZ", int64(l.WorkgroupZ), maxCount},
		{"maxComputeWorkgroupStorageSize", int64(l.WorkgroupBytes), maxCount},
		{"maxComputeWorkgroupsPerDimension", int64(l.Groups), maxCount},
		{"maxStorageBuffersPerShaderStage", int64(l.StorageBuffers), maxCount},
		{"maxStorageBufferBindingSize", l.BindingBytes, maxTotalBytes},
		{"maxBufferSize", l.BufferBytes, maxTotalBytes},
	}
}

func (l Limits) validate() error {
	for _, v := range l.list() {
		if v.value < 1 || v.value > v.most {
			return fmt.Errorf("the limit %s is %d, and may be from 1 to %d", v.name, v.value, v.most)
		}
	}
	if n := l.OffsetAlignment; n < leastAlignment || n > maxCount || n&(n-1) != 0 {
		return fmt.Errorf("the limit minStorageBufferOffsetAlignment is %d, and is a power of two from %d on", n, leastAlignment)
	}
	return nil
}

func (p *Plan) validateBuffer(b *Buffer) error {
	kinds := []Kind{Input, Output, Updated, Constant, Scratch, Fault}
	switch {
	case !slices.Contains(kinds, b.Kind):
		return fmt.Errorf("the kind %q is none of %v", b.Kind, kinds)
	case b.Bytes < 4 || b.Bytes%4 != 0:
		return fmt.Errorf("%d bytes are no multiple of 4 above 0", b.Bytes)
	case b.Bytes > p.Limits.BufferBytes:
		return fmt.Errorf("%d bytes are above the limit maxBufferSize, %d", b.Bytes, p.Limits.BufferBytes)
	case b.Kind == Fault && b.Bytes != 4:
		return fmt.Errorf("a fault word has 4 bytes, not %d", b.Bytes)
	case b.Kind == Scratch || b.Kind == Fault:
		return nil
	}
	if _, ok := tensor.ParseDType(b.DType); !ok {
		return fmt.Errorf("%q is no element type", b.DType)
	}
	if b.Elem.Size() == 0 {
		return fmt.Errorf("%q is no form of elements", b.Elem)
	}
	n, err := tensor.Elements(b.Shape)
	if err != nil {
		return err
	}
	if int64(n) > b.Bytes/int64(b.Elem.Size()) {
		return fmt.Errorf("%d elements of %d bytes do not fit in %d bytes", n, b.Elem.Size(), b.Bytes)
	}
	return nil
}

func (p *Plan) validateDispatch(d *Dispatch) error {
	l := &p.Limits
	if d.Module < 0 || d.Module >= len(p.Modules) {
		return fmt.Errorf("module %d is none of %d", d.Module, len(p.Modules))
	}
	if d.Entry == "" {
		return fmt.Errorf("it has no entry point")
	}
	for _, g := range d.Groups {
		if g < 1 || g > l.Groups {
			return fmt.Errorf("%v workgroups are not from 1 to maxComputeWorkgroupsPerDimension, %d", d.Groups, l.Groups)
		}
	}
	threads := 1
	for i, most := range []int{l.WorkgroupX, l.WorkgroupY, l.WorkgroupZ} {
		if d.Workgroup[i] < 1 || d.Workgroup[i] > most {
			return fmt.Errorf("a workgroup of %v is not within %d, %d and %d invocations", d.Workgroup, l.WorkgroupX, l.WorkgroupY, l.WorkgroupZ)
		}
		if threads *= d.Workgroup[i]; threads > l.Invocations {
			return fmt.Errorf("a workgroup of %v has more invocations than maxComputeInvocationsPerWorkgroup, %d", d.Workgroup, l.Invocations)
		}
	}
	if d.Storage < 0 || d.Storage > l.WorkgroupBytes {
		return fmt.Errorf("%d bytes of workgroup memory are not within maxComputeWorkgroupStorageSize, %d", d.Storage, l.WorkgroupBytes)
	}
	if len(d.Bindings) > l.StorageBuffers {
		return fmt.Errorf("%d bindings are above maxStorageBuffersPerShaderStage, %d", len(d.Bindings), l.StorageBuffers)
	}
	return p.validateBindings(d.Bindings)
}

// validateBindings checks ranges, and that no buffer that is written is bound twice, which
// WebGPU forbids.
func (p *Plan) validateBindings(list []Binding) error {
	written := make(map[int]bool)
	for i, b := range list {
		if b.Buffer < 0 || b.Buffer >= len(p.Buffers) {
			return fmt.Errorf("binding %d: buffer %d is none of %d", i, b.Buffer, len(p.Buffers))
		}
		buf := &p.Buffers[b.Buffer]
		switch {
		case b.Offset < 0 || b.Offset%p.Limits.OffsetAlignment != 0:
			return fmt.Errorf("binding %d: the offset %d is no multiple of minStorageBufferOffsetAlignment, %d", i, b.Offset, p.Limits.OffsetAlignment)
		case b.Size < 4 || b.Size%4 != 0 || b.Size > p.Limits.BindingBytes:
			return fmt.Errorf("binding %d: %d bytes are no multiple of 4 within maxStorageBufferBindingSize, %d", i, b.Size, p.Limits.BindingBytes)
		case b.Offset > buf.Bytes-b.Size:
			return fmt.Errorf("binding %d: %d bytes from %d on are outside buffer %q of %d", i, b.Size, b.Offset, buf.Name, buf.Bytes)
		case b.Write && (buf.Kind == Input || buf.Kind == Constant):
			return fmt.Errorf("binding %d: it writes %q, which only the host fills", i, buf.Name)
		}
		for _, other := range list[:i] {
			if other.Buffer == b.Buffer && (b.Write || written[b.Buffer]) {
				return fmt.Errorf("binding %d: buffer %q is bound twice and written", i, buf.Name)
			}
		}
		written[b.Buffer] = written[b.Buffer] || b.Write
	}
	return nil
}

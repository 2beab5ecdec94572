package wgsl

// Use is what a plan takes of a limit at most.
type Use struct {
	Limit         string // its name in WebGPU
	Most, Allowed int64
}

// Uses are those of a plan, of the limits that depend on its sizes.
func (p *Plan) Uses() []Use {
	l := p.Limits
	list := []Use{
		{"maxComputeInvocationsPerWorkgroup", 0, int64(l.Invocations)},
		{"maxComputeWorkgroupStorageSize", 0, int64(l.WorkgroupBytes)},
		{"maxComputeWorkgroupsPerDimension", 0, int64(l.Groups)},
		{"maxStorageBuffersPerShaderStage", 0, int64(l.StorageBuffers)},
		{"maxStorageBufferBindingSize", 0, l.BindingBytes},
		{"maxBufferSize", 0, l.BufferBytes},
	}
	most := func(i int, v int64) { list[i].Most = max(list[i].Most, v) }
	for _, d := range p.Dispatches {
		most(0, int64(d.Workgroup[0]*d.Workgroup[1]*d.Workgroup[2]))
		most(1, int64(d.Storage))
		most(2, int64(max(d.Groups[0], d.Groups[1], d.Groups[2])))
		most(3, int64(len(d.Bindings)))
		for _, b := range d.Bindings {
			most(4, b.Size)
		}
	}
	for _, b := range p.Buffers {
		most(5, b.Bytes)
	}
	return list
}

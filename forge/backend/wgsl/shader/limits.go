package shader

// Limits are what a dispatch may use; a zero field has WebGPU's default.
type Limits struct {
	Invocations                              uint32 // of a workgroup: 256
	InvocationsX, InvocationsY, InvocationsZ uint32 // in one dimension: 256, 256, 64
	WorkgroupBytes                           uint32 // of workgroup memory: 16384
	Workgroups                               uint32 // in one dimension: 65535
	StorageBuffers                           uint32 // of an entry point: 8
	UniformBuffers                           uint32 // of an entry point: 12
	StorageBytes                             uint64 // of a binding: 128 MiB
	UniformBytes                             uint64 // of a binding: 64 KiB
	// Work is how many operations the invocations of one workgroup may take
	// together before they are taken to be in an endless loop: 2^32.
	Work int64
}

func (l Limits) defaults() Limits {
	set := func(v *uint32, d uint32) {
		if *v == 0 {
			*v = d
		}
	}
	set(&l.Invocations, 256)
	set(&l.InvocationsX, 256)
	set(&l.InvocationsY, 256)
	set(&l.InvocationsZ, 64)
	set(&l.WorkgroupBytes, 16384)
	set(&l.Workgroups, 65535)
	set(&l.StorageBuffers, 8)
	set(&l.UniformBuffers, 12)
	if l.StorageBytes == 0 {
		l.StorageBytes = 128 << 20
	}
	if l.UniformBytes == 0 {
		l.UniformBytes = 64 << 10
	}
	if l.Work == 0 {
		l.Work = 1 << 32
	}
	return l
}

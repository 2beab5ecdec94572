package cuda

import (
	"context"
	"errors"

	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/planned"
	"forgekernel/forge/tensor"
)

// storage tells constants apart: tensors in the same memory of the host are one.
type storage struct {
	at    uintptr
	bytes int
}

// uploaded is the copy of a constant on the device, which programs share and which goes
// with the last of them.
type uploaded struct {
	key    storage
	source *tensor.Tensor // whose storage is not another's as long as the copy is there
	memory *driver.Memory
	uses   int           // guarded by the memory's lock
	done   chan struct{} // closed when the copy is there
	err    error         // why there is none
}

// address is that of the copy; 0 where there are no elements.
func (k *uploaded) address() uint64 {
	if k == nil {
		return 0
	}
	return k.memory.Address
}

// take brings a constant to the device, unless another program has.
func (m *memory) take(ctx context.Context, t *tensor.Tensor) (*uploaded, error) {
	raw := planned.Bytes(t)
	key := storage{planned.Address(raw), len(raw)}
	m.mu.Lock()
	k, known := m.constants[key]
	if !known {
		k = &uploaded{key: key, source: t, done: make(chan struct{})}
		m.constants[key] = k
	}
	k.uses++
	m.mu.Unlock()
	if !known {
		k.memory, k.err = m.bring(context.WithoutCancel(ctx), raw) // for others too
		close(k.done)
	}
	select {
	case <-k.done:
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), m.drop(k))
	}
	if k.err != nil {
		return nil, errors.Join(k.err, m.drop(k))
	}
	return k, nil
}

// drop ends the use of a constant by one program.
func (m *memory) drop(k *uploaded) error {
	m.mu.Lock()
	k.uses--
	last := k.uses == 0
	if last {
		delete(m.constants, k.key)
	}
	m.mu.Unlock()
	if !last {
		return nil
	}
	<-k.done
	if k.memory == nil {
		return nil
	}
	return m.free(k.memory)
}

// Shared counts the constants on the device and their bytes. Each is there once,
// however many programs have it.
func (b *Backend) Shared() (constants int, bytes int64) {
	m := b.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.constants {
		constants++
		bytes += int64(key.bytes)
	}
	return constants, bytes
}

package cuda

import (
	"context"
	"runtime"
	"sync"

	"forgekernel/forge/backend/cuda/driver"
)

// memory is what the programs of a device have in common.
type memory struct {
	c         *driver.Context
	mu        sync.Mutex // of constants
	constants map[storage]*uploaded
	turn      chan struct{}  // holds a token while something uses the stream
	stream    *driver.Stream // of copies and of programs in held memory
	copies    copies
}

func newMemory(c *driver.Context) (*memory, error) {
	m := &memory{c: c, constants: make(map[storage]*uploaded), turn: make(chan struct{}, 1)}
	err := c.Do(context.Background(), func() (err error) { m.stream, err = c.NewStream(); return err })
	return m, err
}

// enter waits for the stream, which is empty then. leave lets others go on.
func (m *memory) enter(ctx context.Context) error {
	select {
	case m.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case m.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *memory) leave() { <-m.turn }

// free gives memory back that nothing uses any more.
func (m *memory) free(piece *driver.Memory) error {
	return m.c.Do(context.Background(), func() error { return m.stream.Free(piece) })
}

// alloc takes memory.
func (m *memory) alloc(ctx context.Context, bytes int64) (piece *driver.Memory, err error) {
	err = m.c.Do(ctx, func() error { piece, err = m.stream.Alloc(bytes); return err })
	return piece, err
}

// bring takes memory for bytes of the host and copies them there.
func (m *memory) bring(ctx context.Context, raw []byte) (*driver.Memory, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.leave()
	piece, err := m.alloc(ctx, int64(len(raw)))
	if err != nil {
		return nil, err
	}
	return piece, m.upload(piece, raw)
}

// copies are pieces of pinned memory through which bytes of the host go to the device, and
// back: while the device reads one, the processor fills another.
type copies [2]copied

type copied struct {
	host *driver.Host
	read *driver.Event // the device has read it
}

const (
	copyBytes   = 32 << 20 // of one piece
	copyThreads = 8        // that fill one
)

// upload copies bytes of the host to memory of the device, and returns when they are
// there. The caller has the turn.
func (m *memory) upload(to *driver.Memory, raw []byte) error {
	ctx := context.Background()
	for i, at := 0, 0; at < len(raw); i, at = i+1, at+copyBytes {
		part := raw[at:min(at+copyBytes, len(raw))]
		k, known, err := m.piece(i % len(m.copies))
		if err != nil {
			return err
		}
		if known {
			if err := m.c.Wait(ctx, k.read); err != nil {
				return err
			}
		}
		copyParallel(k.host.Bytes, part)
		if err := m.c.Do(ctx, func() error {
			if err := m.stream.Upload(to, int64(at), k.host.Bytes[:len(part)]); err != nil {
				return err
			}
			return m.stream.Record(k.read)
		}); err != nil {
			return err
		}
	}
	return m.stream.Wait(ctx)
}

// piece is a piece of pinned memory, and whether it was there.
func (m *memory) piece(i int) (k *copied, known bool, err error) {
	if k = &m.copies[i]; k.host != nil {
		return k, true, nil
	}
	return k, false, m.c.Do(context.Background(), func() (err error) {
		if k.read, err = m.c.NewEvent(false); err == nil {
			k.host, err = m.c.NewHost(copyBytes)
		}
		return err
	})
}

// download copies memory of the device to the host. The caller has the turn.
func (m *memory) download(raw []byte, from *driver.Memory) error {
	k, _, err := m.piece(0)
	for at := 0; err == nil && at < len(raw); at += copyBytes {
		part := raw[at:min(at+copyBytes, len(raw))]
		err = m.c.Do(context.Background(), func() error {
			if err := m.stream.Download(k.host.Bytes[:len(part)], from, int64(at)); err != nil {
				return err
			}
			return m.stream.Synchronize()
		})
		if err == nil {
			copyParallel(part, k.host.Bytes[:len(part)])
		}
	}
	return err
}

// copyParallel copies large pieces with several threads, since one does not reach the
// bandwidth of the bus.
func copyParallel(to, from []byte) {
	const least = 1 << 20
	threads := min(copyThreads, runtime.GOMAXPROCS(0), len(from)/least)
	if threads < 2 {
		copy(to, from)
		return
	}
	each := (len(from) + threads - 1) / threads
	var all sync.WaitGroup
	for at := 0; at < len(from); at += each {
		all.Go(func() { copy(to[at:], from[at:min(at+each, len(from))]) })
	}
	all.Wait()
}

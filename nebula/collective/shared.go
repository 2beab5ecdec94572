package collective

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"forgekernel/nebula/mesh"
)

// shared is memory with another process that holds the two rings of a link. It
// has no name: the file is gone with the last who has it mapped.
type shared struct {
	memory  []byte
	out, in ring
}

// shareMemory maps memory that the first of two ranks makes and the other gets.
func shareMemory(s *mesh.Stream, first bool, buffer int) (*shared, error) {
	size := headSize + buffer
	var f *os.File
	var err error
	if first {
		f, err = newMemory(2 * size)
	} else {
		f, err = s.ReceiveFile()
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := checkMemory(f, 2*size); err != nil {
		return nil, err
	}
	m, err := unix.Mmap(int(f.Fd()), 0, 2*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping shared memory: %w", err)
	}
	mem := &shared{memory: m, out: newRing(m[:size:size], false), in: newRing(m[size:], false)}
	if !first {
		mem.out, mem.in = mem.in, mem.out
		return mem, nil
	}
	if err := s.SendFile(f); err != nil {
		mem.unmap()
		return nil, err
	}
	return mem, nil
}

func (m *shared) finish(time.Time) {}
func (m *shared) close()           {}

func (m *shared) unmap() { _ = unix.Munmap(m.memory) }

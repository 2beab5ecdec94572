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

// seals keep both sides from changing the size of the memory under the other.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

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

func newMemory(size int) (*os.File, error) {
	fd, err := unix.MemfdCreate("nebula", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("shared memory of %d bytes: %w", size, err)
	}
	f := os.NewFile(uintptr(fd), "nebula")
	err = unix.Ftruncate(fd, int64(size))
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("shared memory of %d bytes: %w", size, err)
	}
	return f, nil
}

// checkMemory refuses a file that could fault when it is used.
func checkMemory(f *os.File, size int) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fmt.Errorf("shared memory: %w", err)
	}
	if st.Size != int64(size) {
		return fmt.Errorf("shared memory has %d bytes, not %d", st.Size, size)
	}
	if have, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0); err != nil || have&seals != seals {
		return fmt.Errorf("shared memory can change its size: seals %x, %v", have, err)
	}
	return nil
}

func (m *shared) finish(time.Time) {}
func (m *shared) close()           {}

func (m *shared) unmap() { _ = unix.Munmap(m.memory) }

package collective

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// seals keep both sides from changing the size of the memory under the other.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

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

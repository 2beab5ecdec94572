package capture

import "golang.org/x/sys/unix"

// memory is that of this machine in bytes; 0 when the system does not tell.
func memory() uint64 {
	size, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return size
}

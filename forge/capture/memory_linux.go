package capture

import "golang.org/x/sys/unix"

// memory is that of this machine in bytes; 0 when the system does not tell.
func memory() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return uint64(info.Totalram) * uint64(info.Unit)
}

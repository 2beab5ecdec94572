// Package memory tells how much memory this host has, and how much of it the container
// that we are in may use.
package memory

import (
	"io/fs"
	"strconv"
	"strings"
)

// Host is the memory of a host, in bytes.
type Host struct {
	Total     int64 // 0 when it cannot be read
	Available int64
	Free      int64 // what nothing uses, not even a cache of files
	Limit     int64 // of the container, where it has one below Total; else 0
}

// Of looks at the host whose files are below root ("/" as os.DirFS).
func Of(root fs.FS) Host {
	var h Host
	text, _ := fs.ReadFile(root, "proc/meminfo") // nothing is known then
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 52)
		switch name {
		case "MemTotal":
			h.Total = n << 10
		case "MemAvailable":
			h.Available = n << 10
		case "MemFree":
			h.Free = n << 10
		}
	}
	for _, path := range []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := fs.ReadFile(root, path)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 && n < h.Total {
			h.Limit = n
			break
		}
	}
	return h
}

// Most is how much the processes here can have together; 0 when that is unknown.
func (h Host) Most() int64 { return h.limited(h.Total) }

// Left is how much of that they can have at most beside what others have.
func (h Host) Left() int64 { return h.limited(h.Available) }

func (h Host) limited(n int64) int64 {
	if h.Limit > 0 {
		return min(n, h.Limit)
	}
	return n
}

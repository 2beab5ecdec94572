package launch

import (
	"io/fs"
	"strconv"
	"strings"
)

// Memory is that of this host, in bytes.
type Memory struct {
	Total     int64 // 0 when it cannot be read
	Available int64
	Limit     int64 // of the container, where it has one below Total; else 0
}

// MemoryHere looks at the host, whose files are below root ("/" as os.DirFS).
func MemoryHere(root fs.FS) Memory {
	var m Memory
	text, _ := fs.ReadFile(root, "proc/meminfo") // nothing is known then
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 52)
		switch name {
		case "MemTotal":
			m.Total = n << 10
		case "MemAvailable":
			m.Available = n << 10
		}
	}
	for _, path := range []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := fs.ReadFile(root, path)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 && n < m.Total {
			m.Limit, m.Available = n, min(m.Available, n)
			break
		}
	}
	return m
}

// Most is how much the processes here can have together; 0 when that is unknown.
func (m Memory) Most() int64 {
	if m.Limit > 0 {
		return m.Limit
	}
	return m.Total
}

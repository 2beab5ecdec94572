package launch

import (
	"testing"
	"testing/fstest"
)

// TestMemory reads hosts with and without limits.
func TestMemory(t *testing.T) {
	const info = "MemTotal:       1000 kB\nMemFree: 5 kB\nMemAvailable:    600 kB\n"
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for _, c := range []struct {
		files fstest.MapFS
		want  Memory
		most  int64
	}{
		{fstest.MapFS{}, Memory{}, 0},
		{fstest.MapFS{"proc/meminfo": file("MemTotal: nonsense\nMemAvailable")}, Memory{}, 0},
		{fstest.MapFS{"proc/meminfo": file(info)}, Memory{1000 << 10, 600 << 10, 0}, 1000 << 10},
		{fstest.MapFS{"proc/meminfo": file(info), "sys/fs/cgroup/memory.max": file("max\n")}, Memory{1000 << 10, 600 << 10, 0}, 1000 << 10},
		{fstest.MapFS{"proc/meminfo": file(info), "sys/fs/cgroup/memory.max": file("204800\n")}, Memory{1000 << 10, 200 << 10, 200 << 10}, 200 << 10},
		{fstest.MapFS{"proc/meminfo": file(info), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n")}, Memory{1000 << 10, 600 << 10, 0}, 1000 << 10},
		{fstest.MapFS{"proc/meminfo": file(info), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("819200\n")}, Memory{1000 << 10, 600 << 10, 800 << 10}, 800 << 10},
	} {
		if got := MemoryHere(c.files); got != c.want || got.Most() != c.most {
			t.Errorf("%v: %+v, %d; not %+v, %d", c.files, got, got.Most(), c.want, c.most)
		}
	}
}

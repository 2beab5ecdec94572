package memory

import (
	"testing"
	"testing/fstest"
)

// TestOf reads hosts with and without limits.
func TestOf(t *testing.T) {
	const info = "MemTotal:       1000 kB\nMemFree: 500 kB\nMemAvailable:    600 kB\n"
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	whole := Host{1000 << 10, 600 << 10, 500 << 10, 0}
	for _, c := range []struct {
		files      fstest.MapFS
		want       Host
		most, left int64
	}{
		{fstest.MapFS{}, Host{}, 0, 0},
		{fstest.MapFS{"proc/meminfo": file("MemTotal: nonsense\nMemAvailable")}, Host{}, 0, 0},
		{fstest.MapFS{"proc/meminfo": file(info)}, whole, 1000 << 10, 600 << 10},
		{fstest.MapFS{"proc/meminfo": file(info), "sys/fs/cgroup/memory.max": file("max\n")}, whole, 1000 << 10, 600 << 10},
		{fstest.MapFS{"proc/meminfo": file(info), "sys/fs/cgroup/memory.max": file("204800\n")}, Host{1000 << 10, 600 << 10, 500 << 10, 200 << 10}, 200 << 10, 200 << 10},
		{fstest.MapFS{"proc/meminfo": file(info), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n")}, whole, 1000 << 10, 600 << 10},
		{fstest.MapFS{"proc/meminfo": file(info), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("819200\n")}, Host{1000 << 10, 600 << 10, 500 << 10, 800 << 10}, 800 << 10, 600 << 10},
	} {
		if got := Of(c.files); got != c.want || got.Most() != c.most || got.Left() != c.left {
			t.Errorf("%v: %+v, %d, %d; not %+v, %d, %d", c.files, got, got.Most(), got.Left(), c.want, c.most, c.left)
		}
	}
}

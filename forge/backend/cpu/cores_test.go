package cpu

import (
	"testing"
	"testing/fstest"
)

// TestQuota reads the limits of control groups.
func TestQuota(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int
	}{
		"none":          {nil, 8},
		"no limit":      {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "max 100000\n"}, 8},
		"v2":            {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "350000 100000\n"}, 3},
		"v2, parent":    {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "400000 100000\n", "sys/fs/cgroup/a/cpu.max": "200000 100000"}, 2},
		"v2, namespace": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1},
		"v2, outside":   {map[string]string{"proc/self/cgroup": "0::/../x\n", "sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2},
		"v2, generous":  {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "9223372036854775807 1\n"}, 8},
		"v1": {map[string]string{"proc/self/cgroup": "5:cpuset:/z\n4:cpu,cpuacct:/a\n",
			"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "250000\n", "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000\n"}, 2},
		"v1, no limit": {map[string]string{"proc/self/cgroup": "4:cpu:/\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, 8},
		"damaged": {map[string]string{"proc/self/cgroup": "0::/\nnonsense\n", "sys/fs/cgroup/cpu.max": "2 0 7\n"}, 8},
		"zero":    {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "1 0\n"}, 8},
	} {
		root := fstest.MapFS{}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := quota(root, 8); got != c.want {
			t.Errorf("%s: %d processors, want %d", name, got, c.want)
		}
	}
}

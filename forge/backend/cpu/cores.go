package cpu

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// MaxThreads bounds the threads of a run.
const MaxThreads = 1024

// Cores is the number of threads that can run at a time: no more than the
// processors that this process may use, its control group's share of them, and
// GOMAXPROCS. It is at least 1.
func Cores() int { return cores() }

var cores = sync.OnceValue(func() int {
	n := min(runtime.NumCPU(), runtime.GOMAXPROCS(0), MaxThreads)
	return max(1, min(n, quota(os.DirFS("/"), n)))
})

// quota is the number of whole processors that the control groups of this
// process, of either version of the system, leave it; n when they set no limit.
func quota(root fs.FS, n int) int {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return n
	}
	for line := range strings.Lines(string(groups)) {
		// 0::/path in version 2, 4:cpu,cpuacct:/path in version 1
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		controllers, group := fields[1], path.Clean("/"+fields[2])
		for {
			switch {
			case controllers == "":
				n = min(n, share(fileFields(root, "sys/fs/cgroup"+group+"/cpu.max"), n))
			case strings.Contains(","+controllers+",", ",cpu,"):
				dir := "sys/fs/cgroup/cpu" + group
				n = min(n, share(append(fileFields(root, dir+"/cpu.cfs_quota_us"), fileFields(root, dir+"/cpu.cfs_period_us")...), n))
			}
			if group == "/" {
				break
			}
			group = path.Dir(group)
		}
	}
	return n
}

// share is the quotient of a quota and a period, in whole processors but at least
// one; n when there is no limit.
func share(fields []string, n int) int {
	if len(fields) != 2 {
		return n
	}
	quota, err1 := strconv.ParseInt(fields[0], 10, 64) // "max" in version 2 and -1 in version 1 are no limit
	period, err2 := strconv.ParseInt(fields[1], 10, 64)
	if err1 != nil || err2 != nil || quota <= 0 || period <= 0 || quota/period >= int64(n) {
		return n
	}
	return max(1, int(quota/period))
}

// fileFields are the words of a file, none if it cannot be read.
func fileFields(root fs.FS, name string) []string {
	raw, err := fs.ReadFile(root, path.Clean(name))
	if err != nil {
		return nil
	}
	var words []string
	for word := range bytes.FieldsSeq(raw) {
		words = append(words, string(word))
	}
	return words
}

package launch

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Bind keeps this process to its rank's part of the host's processors, which it
// returns, or to nothing where that is not for Bind to decide, see [Job.part], or cannot be. Two
// ranks that wait for each other by turns look to the operating system like one that
// works, and it leaves them on one processor while another has nothing to do. The
// host's files are below root.
func (j Job) Bind(threads int, c Cores, root fs.FS) ([]int, error) {
	all, err := Processors()
	if err != nil {
		return nil, err
	}
	part := j.part(threads, c, byCore(all, root))
	if part == nil {
		return nil, nil
	}
	if bound, err := bindThreads(part); err != nil {
		return nil, fmt.Errorf("binding to processors %v: %w", part, err)
	} else if !bound {
		return nil, nil
	}
	return part, nil
}

// part are the processors of this rank out of those that all ranks here may use; nil
// where the rank should not be bound. So it is if the ranks have work for half of
// them at most, for then another job may be there, which would choose the same, and
// idle ones are easily found; if there are more threads than processors; if there is
// a quota, which says that others use them, too; and if a launcher has bound the
// rank.
func (j Job) part(threads int, c Cores, all []int) []int {
	n, busy := len(all), threads*j.LocalSize
	bound := c.Own < c.Shared && slices.Contains(binders, j.Launcher)
	if j.LocalSize < 2 || bound || c.Own != n || busy > n || 2*busy <= n {
		return nil
	}
	return all[j.LocalRank*n/j.LocalSize : (j.LocalRank+1)*n/j.LocalSize]
}

// byCore puts processors that are threads of one core side by side, so that a part
// of them has whole cores.
func byCore(list []int, root fs.FS) []int {
	core := make(map[int]int, len(list)) // by its first processor
	for _, n := range list {
		core[n] = n
		text, err := fs.ReadFile(root, fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/core_cpus_list", n))
		if err != nil {
			continue
		}
		if all, err := expandRanges(strings.TrimSpace(string(text))); err == nil {
			core[n], _ = strconv.Atoi(all[0])
		}
	}
	slices.SortFunc(list, func(a, b int) int { return cmp.Or(cmp.Compare(core[a], core[b]), cmp.Compare(a, b)) })
	return list
}

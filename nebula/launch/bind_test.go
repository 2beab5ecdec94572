package launch

import (
	"fmt"
	"slices"
	"testing"
	"testing/fstest"
)

func TestPart(t *testing.T) {
	job := func(launcher string, rank, local int) Job {
		return Job{Launcher: launcher, Size: 8, LocalRank: rank, LocalSize: local}
	}
	eight := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for _, c := range []struct {
		name    string
		job     Job
		threads int
		cores   Cores
		all     []int
		want    []int
	}{
		{"all processors", job("nebula", 0, 2), 1, Cores{2, 2}, []int{0, 1}, []int{0}},
		{"the other", job("nebula", 1, 2), 1, Cores{2, 2}, []int{0, 1}, []int{1}},
		{"more than half", job("nebula", 1, 2), 3, Cores{8, 8}, eight, []int{4, 5, 6, 7}},
		{"uneven", job("nebula", 2, 3), 2, Cores{8, 8}, eight, []int{5, 6, 7}},
		{"of the parent", job("nebula", 1, 2), 1, Cores{2, 8}, []int{3, 5}, []int{5}},
		{"half", job("nebula", 1, 2), 2, Cores{8, 8}, eight, nil},
		{"too many threads", job("nebula", 1, 2), 2, Cores{2, 2}, []int{0, 1}, nil},
		{"alone", job("nebula", 0, 1), 2, Cores{2, 2}, []int{0, 1}, nil},
		{"not known", job("torchrun", 0, 0), 2, Cores{2, 2}, []int{0, 1}, nil},
		{"quota", job("nebula", 1, 2), 1, Cores{2, 8}, eight, nil},
		{"bound", job("openmpi", 1, 2), 1, Cores{2, 8}, []int{2, 3}, nil},
		{"not bound", job("openmpi", 1, 2), 1, Cores{2, 2}, []int{0, 1}, []int{1}},
	} {
		if got := c.job.part(c.threads, c.cores, c.all); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Threads of one core stay together, whether they are numbered side by side or not.
func TestByCore(t *testing.T) {
	for _, c := range []struct {
		siblings []string
		want     []int
	}{
		{[]string{"0,2", "1,3", "0,2", "1,3"}, []int{0, 2, 1, 3}},
		{[]string{"0-1", "0-1", "2-3", "2-3"}, []int{0, 1, 2, 3}},
		{[]string{"?", "", "2", "3"}, []int{0, 1, 2, 3}},
		{nil, []int{0, 1, 2, 3}},
	} {
		root := fstest.MapFS{}
		for n, text := range c.siblings {
			root[fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/core_cpus_list", n)] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
		if got := byCore([]int{0, 1, 2, 3}, root); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.siblings, got, c.want)
		}
	}
}

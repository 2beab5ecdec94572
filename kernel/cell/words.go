package cell

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// What the arguments of magics may be, for completion.

func symbolNames(in *Interp, before []string) []string {
	if len(before) > 1 {
		return nil
	}
	var names []string
	for _, s := range in.golang.Symbols() {
		names = append(names, s.Name)
	}
	return names
}

func goroutineWords(in *Interp, before []string) []string {
	switch len(before) {
	case 1:
		return []string{"stop"}
	case 2:
		var ids []string
		for _, g := range in.golang.Goroutines() {
			ids = append(ids, strconv.FormatUint(g.ID, 10))
		}
		return ids
	}
	return nil
}

func settingWords(*Interp, []string) []string {
	var list []string
	for _, name := range settingNames() {
		list = append(list, name+"=")
	}
	return list
}

func environmentNames(_ *Interp, before []string) []string {
	if len(before) > 1 {
		return nil
	}
	var names []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// moduleQueries are the modules that are there, at their newest version.
func moduleQueries(in *Interp, _ []string) []string {
	var list []string
	for _, path := range in.golang.Modules() {
		list = append(list, path+"@latest")
	}
	return list
}

// callWords are the calls of the latest panic, then the variables of one.
func callWords(in *Interp, before []string) []string {
	_, calls := in.golang.Panicked()
	var list []string
	switch {
	case len(before) == 1:
		for i := range calls {
			list = append(list, strconv.Itoa(i))
		}
	case len(before) == 2:
		if i, err := strconv.Atoi(before[1]); err == nil && 0 <= i && i < len(calls) {
			for _, v := range calls[i].Variables() {
				list = append(list, v.Name)
			}
		}
	}
	return list
}

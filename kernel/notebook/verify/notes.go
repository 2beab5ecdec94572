package verify

import (
	"cmp"
	"fmt"
	"strings"

	"forgekernel/forge/capture"
	"forgekernel/kernel/notebook"
	"forgekernel/kernel/notebook/runner"
)

// notes says in which ways the run that a notebook stores is another one than here.
func notes(nb *notebook.Notebook, here *capture.Environment) []string {
	record := runner.Recorded(nb)
	if record == nil {
		return []string{"the notebook says nothing of the run that it stores"}
	}
	var list []string
	if record.Code != runner.CodeHash(nb) {
		list = append(list, "code was edited after the run that is stored")
	}
	if record.Environment == nil || here == nil {
		return list
	}
	for _, d := range Changes(record.Environment, here) {
		list = append(list, fmt.Sprintf("%s: %s in the stored run, %s here", d.What, d.Then, d.Now))
	}
	return list
}

// Change is a part of the environment that two runs do not share.
type Change struct{ What, Then, Now string }

// Changes lists what may explain that two runs show something else.
func Changes(then, now *capture.Environment) (list []Change) {
	for _, c := range []Change{
		{"commit", then.Commit, now.Commit},
		{"processor", then.CPU, now.CPU},
		{"cores", fmt.Sprint(then.Cores), fmt.Sprint(now.Cores)},
		{"platform", then.Platform, now.Platform},
		{"Go", then.Go, now.Go},
		{"C compiler", then.Compiler, now.Compiler},
		{"GPUs", strings.Join(then.GPUs, ", "), strings.Join(now.GPUs, ", ")},
		{"GPU driver", then.Driver, now.Driver},
	} {
		if c.Then != c.Now {
			list = append(list, Change{c.What, cmp.Or(c.Then, "none"), cmp.Or(c.Now, "none")})
		}
	}
	return list
}

package launch

import "fmt"

// Host is the host of rank 0, where the ranks meet: empty when all are on one
// host.
func (j Job) Host() (string, error) {
	switch {
	case j.ID == "":
		return "", fmt.Errorf("%s does not name the job: set NEBULA_JOB to the same word in all its ranks, and to another in every other job", j.Launcher)
	case j.OneHost():
		return "", nil
	case j.Address == "":
		return "", fmt.Errorf("%s does not say where rank 0 is, and the ranks are on several hosts: %s", j.Launcher, j.hint())
	}
	return j.Address, nil
}

package launch

import (
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"strconv"
)

// Rendezvous says where rank 0 waits for the others.
type Rendezvous struct {
	Network   string   // "unix" or "tcp"
	Addresses []string // rank 0 listens at the first that is free, the others try all of them in turn
}

// Ports of rendezvous that nobody chose lie below those that systems give to
// outgoing connections.
const (
	firstPort = 20000
	ports     = 12000
	tries     = 8 // ports of one job
)

// Ports are the first and the last port that a rendezvous may choose by itself.
func Ports() (first, last int) { return firstPort, firstPort + ports - 1 }

// maxAbstract is the longest name of an abstract socket, in bytes.
const maxAbstract = 107

// Rendezvous finds where the ranks meet: at an abstract socket when all are on
// one host, else at a port of rank 0's host, which is made from the job and its
// epoch. The MASTER_PORT of torchrun is not used: its own store may listen there.
// Who answers must still prove to be of the job: others may have the name or port.
func (j Job) Rendezvous() (Rendezvous, error) {
	host, port, err := net.SplitHostPort(j.Address)
	chosen := err == nil && port != ""
	switch {
	case chosen:
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" {
			return Rendezvous{}, fmt.Errorf("address of rank 0 %q is not HOST or HOST:PORT", j.Address)
		}
		return Rendezvous{"tcp", []string{j.Address}}, nil
	case j.ID == "":
		return Rendezvous{}, fmt.Errorf("%s does not name the job: set NEBULA_JOB to the same word in all its ranks, and to another in every other job", j.Launcher)
	case j.OneHost():
		return Rendezvous{"unix", []string{j.socket()}}, nil
	case j.Address == "":
		return Rendezvous{}, fmt.Errorf("%s does not say where rank 0 is, and the ranks are on several hosts: %s", j.Launcher, j.hint())
	}
	r := Rendezvous{Network: "tcp"}
	for i := range uint64(tries) {
		// Steps of ports/tries keep jobs apart whose first ports are neighbours.
		port := firstPort + (j.hash()+i*(ports/tries))%ports
		r.Addresses = append(r.Addresses, net.JoinHostPort(j.Address, strconv.FormatUint(port, 10)))
	}
	return r, nil
}

func (j Job) socket() string {
	name := fmt.Sprintf("@nebula-%d-%s-%d", os.Getuid(), j.ID, j.Epoch)
	if !jobName.MatchString(j.ID) || len(name) > maxAbstract {
		name = fmt.Sprintf("@nebula-%d-%016x", os.Getuid(), j.hash())
	}
	return name
}

func (j Job) hash() uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%d", j.ID, j.Epoch)
	return h.Sum64()
}

func (j Job) hint() string {
	for _, l := range launchers {
		if l.name == j.Launcher {
			return l.hint
		}
	}
	return "set NEBULA_ADDRESS"
}

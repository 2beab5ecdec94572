// Package benchmarks measures programs on other libraries, the peers: NumPy with
// OpenBLAS, PyTorch eager and compiled, and ONNX Runtime.
//
// A peer is a candidate of package capture. It runs in a Python process of its own,
// which lives as long as the capture, so that peers take their turns with the
// compiler's own programs in one run. The process gets the program as its outline
// and its constants and inputs as an .npz archive, writes the same program in the
// words of its library, gives its results back as an archive for the gate, and
// then times its runs by its own clocks when it is asked to: requests and answers
// are lines of JSON on its standard input and output (see peers.py).
//
// Each peer is called in its quickest way: ONNX Runtime with inputs and outputs bound
// once and graph optimisation at its highest, PyTorch as a module in inference mode on
// tensors that it has, torch.compile with its defaults (its options "freezing" and
// "max-autotune" changed nothing on these programs), NumPy with operations in place
// where that spares memory. Compiling is no part of a call. OpenBLAS chooses its own
// kernels: variables that choose for it are removed, and what it chose is recorded.
//
// On a GPU, PyTorch has its inputs and results there, computes float32 without TF32, and is
// compiled with "max-autotune", which tries kernels and replays a graph of the device. A
// run is over when the device is done; the time by the device's own clock comes beside it.
//
// A program that was imported from a model file comes with the file: ONNX Runtime runs
// that, as it is, and not a copy of the program. models/ measures real ones.
//
// A peer that is missing, crashes, hangs, or answers what it was not asked has an
// error in place of samples, and a new process for the next program.
package benchmarks

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"forgekernel/forge/capture"
)

// Names lists the peers in the order in which they are reported.
func Names() []string { return []string{"onnxruntime", "torch-eager", "torch-compile", "numpy"} }

// ParseNames reads a list of peers on a device, such as "numpy,torch-eager"; "all" stands
// for every one that runs there.
func ParseNames(list string, d Device) ([]string, error) {
	if list == "all" {
		return OnDevice(d), nil
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("there is no peer %q; there are %s", name, strings.Join(Names(), ", "))
		}
		if !slices.Contains(OnDevice(d), name) {
			return nil, fmt.Errorf("peer %s does not run on %s; %s do", name, d, strings.Join(OnDevice(d), " and "))
		}
	}
	return names, nil
}

//go:embed *.py
var scripts embed.FS

// patience is how long a peer may take to answer. Compiling a large model is what
// takes longest.
const patience = 10 * time.Minute

// Peers are processes of one Python installation.
type Peers struct {
	python string
	dir    string // of scripts and exchanged files
	peers  []*peer
}

// Open makes peers ready that run on a Python installation; their processes start
// when they are needed. Close must be called.
func Open(python string) (*Peers, error) {
	if _, err := os.Stat(python); err != nil {
		return nil, fmt.Errorf("there is no Python for the peers (make peers installs one): %w", err)
	}
	python, err := filepath.Abs(python)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "forge-peers-")
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(filepath.Join(dir, "scripts"), scripts); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Peers{python: python, dir: dir}, nil
}

// Device is where a peer runs.
type Device string

// Devices of peers.
const (
	CPU  Device = "cpu"
	CUDA Device = "cuda" // the first GPU that the process may use
)

// OnDevice lists the peers that run on a device.
func OnDevice(d Device) []string {
	if d == CPU {
		return Names()
	}
	return []string{"torch-eager", "torch-compile"}
}

// Candidate is the peer of that name on a device, with a number of threads. One that is
// not on the processor has the device in its label: "torch-eager cuda".
func (p *Peers) Candidate(name string, d Device, threads int) capture.Candidate {
	argv := []string{p.python, filepath.Join(p.dir, "scripts", "peers.py"), name, strconv.Itoa(threads), string(d)}
	c := &peer{label: capture.Label{Backend: name, Variant: capture.Peer, Threads: threads}, device: d, argv: argv, dir: p.dir, patience: patience}
	if d != CPU {
		c.label.Backend += " " + string(d)
	}
	p.peers = append(p.peers, c)
	return c
}

// Close ends the processes and removes what they were given.
func (p *Peers) Close() error {
	for _, c := range p.peers {
		c.stop()
	}
	return os.RemoveAll(p.dir)
}

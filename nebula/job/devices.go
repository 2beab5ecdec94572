package job

import (
	"context"
	"errors"
	"fmt"

	"forgekernel/forge"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda/preflight"
)

// cudaBackend is the name of the backend whose ranks have a GPU each.
const cudaBackend = "cuda"

// backend is what rank number local of this host compiles with, with so many threads; nil
// leaves it to the engine. A rank on GPUs has the one of its number, from Device on, of
// those that the process may use.
func (s Spec) backend(threads, local int) (backend.Backend, error) {
	switch s.Backend {
	case "":
		return nil, nil
	case cudaBackend:
		return forge.NewBackend(fmt.Sprintf("%s:%d", cudaBackend, s.Device+local), threads)
	}
	return forge.NewBackend(s.Backend, threads)
}

// backends are those of all ranks, when this host has all of them.
func (s Spec) backends(threads int) ([]backend.Backend, error) {
	if err := s.checkDevices(s.Layout.Ranks()); err != nil {
		return nil, err
	}
	var list []backend.Backend
	for local := range s.Layout.Ranks() {
		b, err := s.backend(threads, local)
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

// checkDevices says why this host cannot have so many ranks.
func (s Spec) checkDevices(ranks int) error {
	if s.Backend != cudaBackend {
		return nil
	}
	found := forge.Devices()
	if err := errors.Join(found.Missing...); err != nil {
		return fmt.Errorf("ranks cannot run on GPUs: %w", err)
	}
	return enough(len(found.Devices), s.Device+ranks)
}

// enough says why so many devices do not suffice for so many ranks, those of other
// replicas of the job among them.
func enough(devices, ranks int) error {
	if devices < ranks {
		return fmt.Errorf("each rank has a GPU of its own, rank 0 the first: %d ranks need as many, and this process may use %d (CUDA_VISIBLE_DEVICES says which)", ranks, devices)
	}
	return nil
}

// Preflight is the command that starts a process of package preflight. A program that
// serves as one sets it; without it nothing is found out about the GPUs of a host.
var Preflight []string

// preflight finds out, on the first rank of a host, how its GPUs exchange tensors. The
// other ranks wait for this one to meet them.
func (s Spec) preflight(local int) error {
	if s.Backend != cudaBackend || s.Layout.Ranks() < 2 || local != 0 || Preflight == nil {
		return nil
	}
	_, err := preflight.Check(context.Background(), Preflight...)
	return err
}

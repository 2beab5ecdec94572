package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// gpu is one device, as nvidia-smi tells it.
type gpu struct {
	index, name, memory, driver string
	capability                  float64 // compute capability; 0 when it is not said
}

// errNoGPU is no failure: most hosts have none.
var errNoGPU = errors.New("no NVIDIA GPU")

// gpus asks once for all checks: on some hosts the driver takes a second.
func (h *Host) gpus(ctx context.Context) ([]gpu, error) {
	h.asked.Do(func() { h.found, h.failure = h.askGPUs(ctx) })
	return h.found, h.failure
}

// askGPUs asks the driver's own program: the library is not opened here, because
// that would make a device busy for ranks.
func (h *Host) askGPUs(ctx context.Context) ([]gpu, error) {
	path, err := h.LookPath("nvidia-smi")
	if err != nil {
		if devices, _ := fs.Glob(h.Root, "dev/nvidia[0-9]*"); len(devices) > 0 {
			return nil, fmt.Errorf("%d NVIDIA devices, but no nvidia-smi on PATH", len(devices))
		}
		return nil, errNoGPU
	}
	out, err := h.Run(ctx, path, "--query-gpu=index,name,memory.total,driver_version,compute_cap", "--format=csv,noheader")
	if err != nil {
		return nil, err
	}
	var list []gpu
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSpace(line), ", ")
		if len(fields) != 5 {
			return nil, fmt.Errorf("nvidia-smi says %q", strings.TrimSpace(line))
		}
		capability, _ := strconv.ParseFloat(fields[4], 64)
		list = append(list, gpu{fields[0], fields[1], fields[2], fields[3], capability})
	}
	if len(list) == 0 {
		return nil, errNoGPU
	}
	return list, nil
}

// GPU finds the devices and their driver.
func GPU(ctx context.Context, h *Host) Finding {
	list, err := h.gpus(ctx)
	switch {
	case errors.Is(err, errNoGPU):
		return Finding{State: OK, Found: "no NVIDIA GPU: programs run on the processor"}
	case err != nil:
		return Finding{State: Warn, Found: err.Error(), Fix: "the driver does not answer: check nvidia-smi in a terminal, or install the driver's programs"}
	}
	var parts []string
	for _, g := range list {
		parts = append(parts, fmt.Sprintf("%s: %s, %s, sm_%.0f", g.index, g.name, g.memory, g.capability*10))
	}
	f := Finding{State: OK, Found: strings.Join(parts, "; ") + "; driver " + list[0].driver}
	if visible, ok := h.Env("CUDA_VISIBLE_DEVICES"); ok {
		f.Found += "; ranks see CUDA_VISIBLE_DEVICES=" + visible
	}
	return f
}

// Compute capabilities from which a device has bf16, and below which libraries of
// today have no code for it.
const (
	bf16Capability   = 8.0
	oldestCapability = 7.0
)

// dataTypes tells what is of use on the devices. Decoders have f32 and bf16, whatever the
// device: where it has no bf16, kernels widen elements.
func dataTypes(ctx context.Context, h *Host) Finding {
	list, err := h.gpus(ctx)
	if err != nil {
		return Finding{State: OK, Found: "processor: decoders in f32 or bf16, programs in f32, f16 or bf16, all with sums in f32"}
	}
	f := Finding{State: OK}
	var parts []string
	for _, g := range list {
		choice := "decoders in bf16, programs in bf16 or f16"
		switch {
		case g.capability == 0:
			choice, f.State, f.Fix = "decoders in f32 or bf16, programs in f32", Warn, "nvidia-smi does not tell the compute capability: a newer driver does"
		case g.capability < oldestCapability:
			choice, f.State, f.Fix = "decoders in f32 or bf16, programs in f32", Warn, "libraries of today no longer have code for this device: expect to run on the processor"
		case g.capability < bf16Capability:
			choice = fmt.Sprintf("decoders in bf16, which kernels widen to f32, programs in f16: tensor cores have bf16 from compute capability %.1f on", bf16Capability)
		}
		parts = append(parts, g.index+": "+choice)
	}
	f.Found = strings.Join(parts, "; ")
	return f
}

// betweenGPUs tells what is known of how the devices exchange tensors.
func betweenGPUs(ctx context.Context, h *Host) Finding {
	list, err := h.gpus(ctx)
	if err != nil || len(list) < 2 {
		return Finding{State: OK, Found: "fewer than two GPUs"}
	}
	if value, decided := h.Env("NCCL_P2P_DISABLE"); decided {
		return Finding{State: OK, Found: "NCCL_P2P_DISABLE=" + value + " decides"}
	}
	switch v := h.Exchange(len(list)); {
	case v == nil:
		return Finding{State: OK, Found: fmt.Sprintf("how %d GPUs exchange tensors is found out by the first job, or by forge nebula preflight", len(list))}
	case !v.Direct:
		return Finding{State: Warn, Found: v.String(), Fix: "collectives are slower that way: a newer driver or another setting of the host's IOMMU may help"}
	default:
		return Finding{State: OK, Found: v.String()}
	}
}

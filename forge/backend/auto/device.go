package auto

import (
	"context"
	"errors"
	"fmt"
	"time"

	"forgekernel/display"
	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/backend/tiered"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// Rates of the estimate: those of small devices and of quick processors, so that a
// program that goes to a device gains from it. The bus is PCIe's of the fifth
// generation, by which an H200 moved 55 GB/s to and from pinned memory.
const (
	busBytes     = 50e9 // a second
	launchTime   = 20 * time.Microsecond
	deviceBytes  = 300e9 // a second
	deviceFLOPs  = 8e12
	threadFLOPs  = 30e9 // of one thread
	hostBytes    = 40e9
	leastSpeedup = 2
)

// device is a GPU.
type device struct {
	backend.Backend
	bf16 bool
}

// firstGPU opens the first GPU of the host; nil when there is none.
func firstGPU() (*device, error) {
	if !cuda.Present() {
		return nil, nil
	}
	b, err := cuda.New()
	if err != nil {
		return nil, err
	}
	return &device{b, b.Context.Capability.HasBF16()}, nil
}

// estimate is how long a run may take on a device and on the processor: the larger of
// the times for arithmetic and for memory, and on the device those of a launch and of
// the bus.
func estimate(g *ir.Graph, threads int) (onDevice, onHost time.Duration) {
	cost, crossing := g.Cost(), int64(0)
	for _, list := range [][]*ir.Value{g.Inputs, g.Outputs} {
		for _, v := range list {
			crossing += v.Spec.Bytes()
		}
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	flops, bytes := float64(cost.FLOPs), float64(cost.Bytes)
	onDevice = launchTime + seconds(float64(crossing)/busBytes+max(flops/deviceFLOPs, bytes/deviceBytes))
	return onDevice, seconds(max(flops/(threadFLOPs*float64(threads)), bytes/hostBytes))
}

// onDevice compiles a program for the GPU if it belongs there. The reason says why one
// that would be quicker there does not go.
func (b *Backend) onDevice(ctx context.Context, g *ir.Graph) (exe backend.Executable, refused string, err error) {
	there, here := estimate(g, b.threads)
	if there*leastSpeedup > here {
		return nil, "", nil
	}
	d, err := b.device()
	if err != nil {
		tiered.Once(ctx, &display.Diagnostic{Warning: true, Message: err.Error(), Notes: []string{"programs run on the processor, though the host has a GPU"}})
		return nil, "the GPU cannot be used: " + err.Error(), nil
	}
	if d == nil {
		return nil, "", nil
	}
	if !d.bf16 && hasBF16(g) {
		return nil, "the GPU has no arithmetic in bf16", nil
	}
	exe, err = d.Compile(ctx, g)
	if un := (*cuda.Unsupported)(nil); errors.As(err, &un) {
		return nil, un.Error(), nil
	}
	if err != nil {
		return nil, "", err
	}
	why := fmt.Sprintf("a run is estimated to take %v there, with its copies, and %v on the processor", there.Round(time.Microsecond), here.Round(time.Microsecond))
	return &Executable{exe, d.Backend, why}, "", nil
}

func hasBF16(g *ir.Graph) bool {
	for v := range g.Values {
		if v.Spec.DType == tensor.BF16 {
			return true
		}
	}
	return false
}

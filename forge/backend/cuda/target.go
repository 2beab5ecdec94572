package cuda

import (
	"fmt"
	"strconv"
	"strings"

	"forgekernel/forge/backend/cuda/driver"
)

// target is what kernels are made for.
type target struct {
	capability driver.Capability
	sms        int  // streaming multiprocessors
	shared     int  // bytes of shared memory that a block may ask for
	overlap    bool // a kernel may get ready while the one before it runs
	direct     int  // kernels of a run that is launched without a graph, at most
}

// targetOf is that of a device.
func targetOf(d *driver.Device) target {
	return target{capability: d.Capability, sms: d.SMs, shared: d.SharedPerBlock}
}

// architectures are the largest devices of the architectures that package nvrtc names, for
// sources that are made without a device.
var architectures = []target{
	{capability: 75, sms: 72, shared: 64 << 10}, {capability: 80, sms: 108, shared: 163 << 10}, {capability: 86, sms: 84, shared: 99 << 10},
	{capability: 89, sms: 142, shared: 99 << 10}, {capability: 90, sms: 132, shared: 227 << 10},
}

// parseTarget reads "sm_90" or "sm_90a".
func parseTarget(arch string) (target, error) {
	number, ok := strings.CutPrefix(strings.TrimSuffix(arch, "a"), "sm_")
	capability, err := strconv.Atoi(number)
	if !ok || err != nil {
		return target{}, fmt.Errorf("an architecture is written sm_90, not %q", arch)
	}
	best := target{capability: -1}
	for _, t := range architectures {
		if int(t.capability) <= capability {
			best = t
		}
	}
	if best.capability < 0 {
		return target{}, fmt.Errorf("kernels are for %v and later, not for %s", architectures[0].capability.Arch(), arch)
	}
	best.capability = driver.Capability(capability)
	return best, nil
}

// early reports whether a kernel can get ready while the one before it runs.
func (t target) early() bool { return t.overlap && t.capability >= 90 }

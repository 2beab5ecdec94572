package engine

import (
	"context"
	"errors"
	"fmt"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// pools are a rank's part of the cache: keys and values of each of its layers, in the
// memory of the host or held by the device of the backend.
type pools struct {
	n     int
	bytes int64
	host  []*tensor.Tensor
	held  []backend.Held // in place of host; nil when the backend has no device
}

// openPools takes the memory of n pools of one shape.
func openPools(b backend.Backend, n int, spec ir.Spec) (*pools, error) {
	p := &pools{n: n, bytes: int64(n) * spec.Bytes()}
	device, resident := b.(backend.Resident)
	for range n {
		var err error
		if resident {
			var h backend.Held
			if h, err = device.Hold(context.Background(), spec); err == nil {
				p.held = append(p.held, h)
			}
		} else {
			var t *tensor.Tensor
			if t, err = tensor.Zeros(spec.DType, spec.Shape...); err == nil {
				p.host = append(p.host, t)
			}
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the pool of the cache: %w", err), p.close())
		}
	}
	return p, nil
}

func (p *pools) close() error {
	if p == nil {
		return nil
	}
	var err error
	for _, h := range p.held {
		err = errors.Join(err, h.Close())
	}
	return err
}

// reserve is the part of a device's memory that is left to intermediate values and to
// other programs: one sixteenth.
const reserve = 16

// fit is the blocks of the cache that a device has room for beside the weights, at most
// those that the default gives.
func (r *rank) fit(most int) (int, error) {
	device, ok := r.backend.(backend.Resident)
	if !ok {
		return most, nil
	}
	free, total, err := device.Room(context.Background())
	if err != nil {
		return 0, err
	}
	c, s := r.model.Config, r.sizes
	room := free - total/reserve - c.WeightBytes(r.place, s.dtype)
	n := min(int64(most), room/c.CacheBytes(r.place, 1, s.blockSize, s.dtype))
	if n < int64(s.width()) {
		return 0, fmt.Errorf("the device has %d MiB for a cache beside weights of %d MiB, which is %d blocks; one request of %d positions needs %d: ask for a shorter context, or say how many blocks there are to be",
			max(0, room)>>20, c.WeightBytes(r.place, s.dtype)>>20, max(0, n), s.context, s.width())
	}
	return int(n), nil
}

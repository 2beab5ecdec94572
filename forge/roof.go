package forge

import (
	"context"
	"fmt"
	"sync"
	"time"

	"forgekernel/display/chart"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/capture"
	"forgekernel/forge/ir"
)

// roof is what the machine under a program does at most: one core of the processor, or
// a GPU. The zero value is not known.
type roof struct {
	bytes float64 // per second, to and from memory
	flops func(n *ir.Node) float64
	rates []chart.Roof // all that were measured
	text  string
}

// least is the time that the limits allow for the work of a node.
func (r roof) least(n *ir.Node, cost ir.Cost) time.Duration {
	if r.flops == nil {
		return 0
	}
	seconds := float64(cost.FLOPs) / r.flops(n)
	if r.bytes > 0 {
		seconds = max(seconds, float64(cost.Bytes)/r.bytes)
	}
	return time.Duration(seconds * 1e9)
}

// measureRoof measures what runs the program, once in a process.
func (p *Program) measureRoof(ctx context.Context) (roof, error) {
	b, err := NewBackend(p.backend, p.threads)
	if err != nil {
		return roof{}, err
	}
	if c, is := b.(*cuda.Backend); is {
		return deviceRoof(ctx, c)
	}
	l := capture.MeasureLimits(ctx)
	r := roof{text: "one core: " + l.String()}
	if l.FLOPs > 0 {
		r.bytes, r.flops = l.Bytes, func(*ir.Node) float64 { return l.FLOPs }
		r.rates = []chart.Roof{{Name: "one core, float32", FLOPs: l.FLOPs, Bytes: l.Bytes}}
	}
	return r, nil
}

// deviceLimits are of the devices that were measured.
var deviceLimits struct {
	sync.Mutex
	of map[int]cuda.Limits
}

// deviceRoof takes the type of a product from its first operand.
func deviceRoof(ctx context.Context, c *cuda.Backend) (roof, error) {
	d := c.Context.Device
	deviceLimits.Lock()
	defer deviceLimits.Unlock()
	l, known := deviceLimits.of[d.Ordinal]
	if !known {
		var err error
		if l, err = c.Limits(ctx); err != nil {
			return roof{}, err
		}
		if deviceLimits.of == nil {
			deviceLimits.of = make(map[int]cuda.Limits)
		}
		deviceLimits.of[d.Ordinal] = l
	}
	text := fmt.Sprintf("%s: %.4g GB/s by copies", d.Name, l.Copy/1e9)
	var rates []chart.Roof
	for _, r := range l.Rates {
		rates = append(rates, chart.Roof{Name: fmt.Sprintf("%s, %v", d.Name, r.DType), FLOPs: r.FLOPs, Bytes: l.Copy})
		text += fmt.Sprintf(", %.4g TFLOP/s of %v by %s", r.FLOPs/1e12, r.DType, r.By)
	}
	return roof{bytes: l.Copy, rates: rates, text: text, flops: func(n *ir.Node) float64 { return l.Of(n.In[0].Spec.DType).FLOPs }}, nil
}

package forge

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"forgekernel/display"
	"forgekernel/display/chart"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/capture"
	"forgekernel/forge/ir"
)

// roof is what the machine under a program does at most: cores of the processor, or a GPU.
// The zero value is not known.
type roof struct {
	rates []chart.Roof         // all that were measured
	over  func(n *ir.Node) int // the number of the one over a node
	text  string
}

// least is the time that the limits allow for the work of a node, and what it is that
// limits it: see [chart.Roof.Over].
func (r roof) least(n *ir.Node, cost ir.Cost) (least time.Duration, by string) {
	if r.over == nil {
		return 0, ""
	}
	top := r.rates[r.over(n)]
	seconds, by := float64(cost.FLOPs)/top.FLOPs, "arithmetic"
	if rate, level := top.Level(float64(cost.Bytes)); rate > 0 && float64(cost.Bytes)/rate >= seconds {
		seconds, by = float64(cost.Bytes)/rate, level
	}
	return time.Duration(seconds * 1e9), by
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
	if l.FLOPs == 0 {
		return roof{text: "one core: " + l.String()}, nil
	}
	top, text := l.Roof(), "that of one core: "
	if n := max(p.threads, 1); n > 1 {
		top, text = top.Times(n, display.Count(n, "core")), fmt.Sprintf("%d times that of one core: ", n)
	}
	return roof{[]chart.Roof{top}, func(*ir.Node) int { return 0 }, text + l.String()}, nil
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
		rates = append(rates, chart.Roof{
			Name: fmt.Sprintf("%s, %v", d.Name, r.DType), FLOPs: r.FLOPs, Bytes: l.Copy,
			Caches: []chart.Cache{{Name: "L2", Size: float64(d.L2)}},
		})
		text += fmt.Sprintf(", %.4g TFLOP/s of %v by %s", r.FLOPs/1e12, r.DType, r.By)
	}
	over := func(n *ir.Node) int { return max(slices.Index(l.Rates, l.Of(n.In[0].Spec.DType)), 0) }
	return roof{rates, over, text}, nil
}

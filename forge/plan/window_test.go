package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// gated multiplies a window of 16 columns from 0 on with one from up on, and
// reads the product by more.
func gated(t *testing.T, up int, more string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse(op.Registry, fmt.Sprintf(`graph gated(%%x: f32[3,4], %%w: f32[4,40], %%d: f32[16,5]) {
  %%wide: f32[3,40] = matmul %%x, %%w
  %%gate: f32[3,16] = narrow %%wide {axis = 1, length = 16, start = 0}
  %%up: f32[3,16] = narrow %%wide {axis = 1, length = 16, start = %d}
  %%h: f32[3,16] = mul %%gate, %%up
  %s
}`, up, more))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

const readDown = "%y: f32[3,5] = matmul %h, %d\n return %y"

func TestOverWindow(t *testing.T) {
	for _, c := range []struct {
		name, more string
		up         int
		donated    string
	}{
		{"the product over the gate", readDown, 16, "gate"},
		{"windows that meet without overlap", readDown, 24, "gate"},
		{"windows that overlap", readDown, 8, ""},
		{"another reader of the wide value", "%y: f32[3,5] = matmul %h, %d\n %s: f32[] = sum %wide {axes = [0, 1]}\n return %y, %s", 16, ""},
		{"another reader of a window", "%y: f32[3,5] = matmul %h, %d\n %s: f32[] = sum %up {axes = [0, 1]}\n return %y, %s", 16, ""},
		{"a view of the product", "%t: f32[48] = reshape %h {shape = [48]}\n %y: f32[] = sum %t {axes = [0]}\n return %y", 16, ""},
		{"the product is an output", "return %h", 16, ""},
		{"the wide value is an output", "%y: f32[3,5] = matmul %h, %d\n return %y, %wide", 16, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := gated(t, c.up, c.more)
			p := mustPlan(t, g, Options{})
			h := p.value("h")
			if h.Donated != c.donated {
				t.Fatalf("the product is in place of %q, want %q\n%v", h.Donated, c.donated, p.Text())
			}
			if c.donated != "" && (p.Planned != 3*40*4 || !slices.Equal(h.Strides, []int{40, 1})) {
				t.Errorf("planned %d, strides %v\n%v", p.Planned, h.Strides, p.Text())
			}
			if apart := mustPlan(t, g, Options{NoReuseInPlace: true}); apart.value("h").Donated != "" {
				t.Errorf("it is in place although that is not allowed")
			}
			inputs := smallIntegers(t, g)
			got, err := Simulate(t.Context(), p, inputs...)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range evaluate(t, g, inputs) {
				if !tensor.Identical(got[i], want) {
					t.Errorf("output %d is %v, want %v", i, got[i], want)
				}
			}
		})
	}
}

// An offset that is no multiple of the alignment is not written to.
func TestOverAlignedWindow(t *testing.T) {
	for start, want := range map[int]string{16: "v", 8: ""} {
		g, err := ir.Parse(op.Registry, fmt.Sprintf(`graph part(%%x: f32[3,40]) {
  %%wide: f32[3,40] = exp %%x
  %%v: f32[3,16] = narrow %%wide {axis = 1, length = 16, start = %d}
  %%h: f32[3,16] = neg %%v
  %%y: f32[] = sum %%h {axes = [0, 1]}
  return %%y
}`, start))
		if err != nil {
			t.Fatal(err)
		}
		if h := mustPlan(t, g, Options{}).value("h"); h.Donated != want {
			t.Errorf("from %d on: in place of %q, want %q", start, h.Donated, want)
		}
	}
}

// Verify does not believe a plan that lets a kernel overwrite what it has yet to
// read.
func TestVerifyRefusesOverlappingWindow(t *testing.T) {
	p := mustPlan(t, gated(t, 8, readDown), Options{})
	h, gate := p.value("h"), p.value("gate")
	h.Donated, h.Base, h.Slot, h.Offset, h.Strides = "gate", "wide", gate.Slot, gate.Offset, gate.Strides
	if err := Verify(p); err == nil || !strings.Contains(err.Error(), "also reads %up, another view") {
		t.Errorf("Verify says %v", err)
	}
	p = mustPlan(t, gated(t, 16, readDown), Options{})
	p.value("h").Strides = []int{16, 1}
	if err := Verify(p); err == nil || !strings.Contains(err.Error(), "does not stand where") {
		t.Errorf("Verify says %v", err)
	}
}

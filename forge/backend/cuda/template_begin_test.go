package cuda

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/ir"
)

// normed is a norm before a product, and gated the two halves of a product before one.
func normed(rows int) string {
	return fmt.Sprintf(`graph normed(%%x: f32[1,%[1]d,2048], %%s: f32[2048], %%w: bf16[2048,3072]) {
  %%h: f32[1,%[1]d,2048] = rms_norm %%x, %%s {axis = 2}
  %%y: f32[1,%[1]d,3072] = linear %%h, %%w
  return %%y
}`, rows)
}

func centred(rows int) string {
	return strings.NewReplacer("rms_norm %x, %s", "layer_norm %x, %s, %b", "%s: f32[2048],", "%s: f32[2048], %b: f32[2048],").Replace(normed(rows))
}

func gated(rows int) string {
	return fmt.Sprintf(`graph gated(%%x: f32[%[1]d,256], %%up: bf16[256,8192], %%down: bf16[4096,2048]) {
  %%wide: f32[%[1]d,8192] = linear %%x, %%up
  %%a: f32[%[1]d,4096] = narrow %%wide {axis = 1, start = 0, length = 4096}
  %%b: f32[%[1]d,4096] = narrow %%wide {axis = 1, start = 4096, length = 4096}
  %%h: f32[%[1]d,4096] = fused %%a, %%b (%%a: f32[], %%b: f32[]) {
    %%c: f32[] = silu %%a
    %%h: f32[] = mul %%c, %%b
    return %%h
  }
  %%y: f32[%[1]d,2048] = linear %%h, %%down
  return %%y
}`, rows)
}

// TestBegins pins which products compute their first operand.
func TestBegins(t *testing.T) {
	for _, c := range []struct {
		source string
		want   []string // the values that kernels compute
	}{
		{normed(1), []string{"%y"}},
		{normed(2), []string{"%h", "%y"}}, // each block would read all rows
		{centred(1), []string{"%y"}},
		{gated(1), []string{"%wide", "%y"}},
		{gated(4), []string{"%wide", "%h", "%y"}},
		{strings.Replace(normed(1), "return %y", "return %y, %h", 1), []string{"%h", "%y"}},                          // the norm is wanted, too
		{strings.NewReplacer("2048,3072", "2048,16", "1,1,3072", "1,1,16").Replace(normed(1)), []string{"%h", "%y"}}, // weights are few
	} {
		l, err := List(parse(t, c.source), "sm_90", -1)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range l.Kernels {
			got = append(got, k.Value)
		}
		if kernels := strings.Count(l.Code, "__global__"); kernels != len(got) {
			t.Errorf("the file has %d kernels, and %d run", kernels, len(got))
		}
		if got = slices.Compact(got); !slices.Equal(got, c.want) {
			t.Errorf("kernels %v, want %v of\n%s", got, c.want, c.source)
		}
	}
}

// TestBegun compares products that compute their first operand with float64, with each
// candidate.
func TestBegun(t *testing.T) {
	b := device(t)
	t.Parallel()
	for name, c := range map[string]struct {
		source string
		limit  float64
	}{
		"rms_norm":   {normed(1), 1e-5},
		"layer_norm": {centred(1), 1e-5},
		"gate":       {gated(1), 1e-5},
		// Results are at most 1, where sums of 2,048 are many times as large: every way to
		// add in float32 errs by 1.01e-5 of them, those of Triton and of the loop nest, too.
		"written over": {strings.Replace(gated(1), "return %y", "%z: f32[1,2048] = tanh %y\n  return %z", 1), 2e-5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, b, c.source, "y", c.limit, randomInputs(t, c.source, nil))
		})
	}
}

// TestWithdrawn sees what is told of a node that a later kernel computes.
func TestWithdrawn(t *testing.T) {
	g := parse(t, normed(1))
	target, err := parseTarget("sm_90")
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProgram(newUnit(target), g, DefaultMaxBytes, nil)
	if err != nil {
		t.Fatal(err)
	}
	if k := p.kernels[0]; k.Value != "%h" || k.Kernel != "" || k.Reason != "the kernel of %y computes it too" {
		t.Errorf("the norm is told as %+v", k)
	}
	other, err := newProgram(newUnit(target), g, DefaultMaxBytes, func(_ *ir.Node, list []Candidate) (int, string) { return len(list) - 1, "" })
	if err != nil {
		t.Fatal(err)
	}
	if len(other.steps) != 2 {
		t.Errorf("a product as a loop has %d steps with the norm", len(other.steps))
	}
}

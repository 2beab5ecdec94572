package shader

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
)

// TestReals holds what a compiler may make of sums and products to the arithmetic that rounds
// each operation, with numbers where the two differ.
func TestReals(t *testing.T) {
	const tiny, odd = float32(1e-9), float32(1.0000001)
	for name, c := range map[string]struct {
		text    string
		x, y, z float32
		want    [2]float32 // rounded one by one, and of real numbers
	}{
		"cancelled sum":        {"(x + y) - x", 1, tiny, 0, [2]float32{0, tiny}},
		"through a let":        {"sum - y", tiny, 1, 0, [2]float32{0, tiny}},
		"through a function":   {"added(x, y) - y", tiny, 1, 0, [2]float32{0, tiny}},
		"sum in a variable":    {"variable - y", tiny, 1, 0, [2]float32{0, 0}},
		"sum of bits":          {"bitcast<f32>(bitcast<u32>(x + y) & 0xffffffffu) - y", tiny, 1, 0, [2]float32{0, 0}},
		"multiples":            {"x * 0.1 + x * 0.7", 17, 0, 0, [2]float32{13.599999, 13.6}},
		"rest of a product":    {"fma(x, y, -(x * y))", odd, odd, 0, [2]float32{1.4210855e-14, 0}},
		"joined product":       {"x * y - z", odd, odd, float32(odd * odd), [2]float32{0, 1.4210855e-14}},
		"regrouped sum":        {"x + (y + z)", tiny, -1, 1, [2]float32{tiny, 0}},
		"difference regrouped": {"(x - y) - z", 1, 1, tiny, [2]float32{-tiny, 0}},
		"reciprocal":           {"x / y", 5, 49, 0, [2]float32{5.0 / 49, 5 * float32(1/float32(49))}},
		"negated":              {"-x + (x + y)", 1, tiny, 0, [2]float32{0, tiny}},
	} {
		src := fmt.Sprintf(`@group(0) @binding(0) var<storage, read_write> a: array<f32>;
fn added(x: f32, y: f32) -> f32 { return x + y; }
@compute @workgroup_size(1) fn main() {
  let x = a[0];
  let y = a[1];
  let z = a[2];
  let sum = x + y;
  var variable = x + y;
  a[3] = %s;
}`, c.text)
		for i, parse := range []func(string) (*Module, error){Parse, ParseReals} {
			m, err := parse(src)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var data []byte
			for _, v := range []float32{c.x, c.y, c.z, 0} {
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
			}
			if err := m.Dispatch(t.Context(), Call{Groups: [3]uint32{1, 1, 1}, Bindings: map[Binding][]byte{{}: data}}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := math.Float32frombits(binary.LittleEndian.Uint32(data[12:])); got != c.want[i] {
				t.Errorf("%s, real %v: %s is %v, want %v", name, i == 1, c.text, got, c.want[i])
			}
		}
	}
}

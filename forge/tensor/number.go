package tensor

import (
	"math"
	"strconv"
)

// Number is an element, or what is computed from elements, in reports: its JSON
// form may be "NaN", "Infinity" or "-Infinity", which JSON has no numbers for.
type Number float64

// MarshalJSON implements [json.Marshaler]. A number that float32 holds is written
// in the fewest digits that tell it from its neighbours there, and any other in
// those that float64 needs.
func (n Number) MarshalJSON() ([]byte, error) {
	v, bits := float64(n), 64
	switch {
	case math.IsNaN(v):
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-Infinity"`), nil
	case float64(float32(v)) == v:
		bits = 32
	}
	return strconv.AppendFloat(nil, v, 'g', -1, bits), nil
}

// String is the number in three digits.
func (n Number) String() string { return strconv.FormatFloat(float64(n), 'g', 3, 64) }

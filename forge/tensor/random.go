package tensor

import "math"

// random is the generator of [Rand] and [Randn]: SplitMix64, by index. Number
// i of a seed is mix(seed + (i+1) * 0x9e3779b97f4a7c15) with
//
//	mix(z): z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
//	        z = (z ^ z>>27) * 0x94d049bb133111eb
//	        return z ^ z>>31
//
// in 64-bit unsigned arithmetic, so any language can produce the same data.
func random(seed uint64, i int) uint64 {
	z := seed + uint64(i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Rand returns an f32 tensor of pseudo-random numbers, uniform in [-1, 1).
// Element i is k/2^23 - 1, where k is the top 24 bits of SplitMix64's number i
// for the seed; see the source for the formula.
func Rand(seed uint64, shape ...int) (*Tensor, error) {
	t, err := Zeros(F32, shape...)
	if err != nil {
		return nil, err
	}
	for i := range t.Float32() {
		t.Float32()[i] = float32(random(seed, i)>>40)*0x1p-23 - 1
	}
	return t, nil
}

// Randn returns an f32 tensor of pseudo-random numbers with mean 0 and
// standard deviation 1, normally distributed: Box and Muller's transform of
// SplitMix64's numbers 2j and 2j+1 gives elements 2j and 2j+1.
func Randn(seed uint64, shape ...int) (*Tensor, error) {
	t, err := Zeros(F32, shape...)
	if err != nil {
		return nil, err
	}
	s := t.Float32()
	for i := 0; i < len(s); i += 2 {
		u := float64(random(seed, i)>>11+1) * 0x1p-53 // in (0, 1]: log is finite
		v := float64(random(seed, i+1)>>11) * 0x1p-53
		r := math.Sqrt(-2 * math.Log(u))
		sin, cos := math.Sincos(2 * math.Pi * v)
		s[i] = float32(r * cos)
		if i+1 < len(s) {
			s[i+1] = float32(r * sin)
		}
	}
	return t, nil
}

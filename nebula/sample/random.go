package sample

// uniform is the random number of a seed and a position, in [0, 1): a function of the
// two, so any rank can draw it at any time. mix is the finaliser of SplitMix64
// (Steele, Lea, Flood 2014, with Stafford's constants); the seed goes through it first
// so that neighbouring seeds have nothing in common.
func uniform(seed, position uint64) float64 {
	const golden = 0x9E3779B97F4A7C15
	return float64(mix(mix(seed+golden)+position*golden)>>11) / (1 << 53)
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

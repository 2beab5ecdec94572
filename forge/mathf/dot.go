package mathf

// Dots sets dst[j] to the product of q and row j of k, whose rows are len(q)
// long: sums in order of the channel, each step one [FMA]. It is the inner loop
// of attention scores. Four rows at a time hide the latency of a step.
func Dots(dst, q, k []float32) {
	d := len(q)
	j := 0
	for ; j+4 <= len(dst); j += 4 {
		dot4((*[4]float32)(dst[j:]), q, k[j*d:(j+4)*d])
	}
	for ; j < len(dst); j++ {
		var sum float32
		for i, x := range k[j*d:][:d] {
			sum = FMA(q[i], x, sum)
		}
		dst[j] = sum
	}
}

// dot4 is four products side by side, with [FMA] written out as in [AXPY4].
func dot4(dst *[4]float32, q, k []float32) {
	d := len(q)
	k0, k1, k2, k3 := k[:d], k[d:][:d], k[2*d:][:d], k[3*d:][:d]
	var c0, c1, c2, c3 float32
	for i, x := range q {
		w := float64(x)
		s0 := float64(w*float64(k0[i])) + float64(c0)
		s1 := float64(w*float64(k1[i])) + float64(c1)
		s2 := float64(w*float64(k2[i])) + float64(c2)
		s3 := float64(w*float64(k3[i])) + float64(c3)
		if roundsTwice(s0) || roundsTwice(s1) || roundsTwice(s2) || roundsTwice(s3) {
			c0, c1, c2, c3 = FMA(x, k0[i], c0), FMA(x, k1[i], c1), FMA(x, k2[i], c2), FMA(x, k3[i], c3)
			continue
		}
		c0, c1, c2, c3 = float32(s0), float32(s1), float32(s2), float32(s3)
	}
	*dst = [4]float32{c0, c1, c2, c3}
}

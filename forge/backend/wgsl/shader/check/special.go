package check

import (
	"math"
	"strings"
)

// evaluateBuiltin computes a builtin function that has no effect.
func evaluateBuiltin(x *Expr, args [][]uint64) ([]uint64, string) {
	if f, ok := Components[x.Name]; ok {
		return evaluateComponents(x, f, args)
	}
	var k Kind
	if s := x.Args[0].Type.Scalar(); s != nil {
		k = s.Kind
	}
	switch x.Name {
	case "all", "any":
		var n uint64
		for _, w := range args[0] {
			n += w
		}
		return []uint64{boolWord(n == uint64(len(args[0])) || x.Name == "any" && n > 0)}, ""
	case "select":
		r := make([]uint64, len(args[0]))
		for i := range r {
			r[i] = args[args[2][i]][i]
		}
		return r, ""
	case "dot":
		w, wrong := dot(k, args[0], args[1])
		return []uint64{w}, wrong
	case "transpose":
		t := x.Args[0].Type
		r := make([]uint64, len(args[0]))
		for i, w := range args[0] {
			r[i%t.Rows*t.N+i/t.Rows] = w
		}
		return r, ""
	case "extractBits", "insertBits":
		return evaluateBits(x, k, args), ""
	case "frexp", "modf", "ldexp":
		return evaluateParts(x, k, args)
	case "length", "distance", "normalize", "cross", "faceForward", "reflect", "refract", "determinant":
		return evaluateGeometry(x, k, args)
	case "dot4U8Packed", "dot4I8Packed":
		return []uint64{dotPacked(x.Name == "dot4I8Packed", uint32(args[0][0]), uint32(args[1][0]))}, ""
	}
	if f, ok := formats[x.Name]; ok {
		return f.pack(args[0])
	}
	return formats[strings.TrimPrefix(x.Name, "un")].unpack(uint32(args[0][0]))
}

func evaluateComponents(x *Expr, f Componentwise, args [][]uint64) ([]uint64, string) {
	k := x.Type.Scalar().Kind
	r, wrong := make([]uint64, x.Type.Words), ""
	for i := range r {
		if !isFloatKind(k) {
			var v [3]int64
			for j, a := range args {
				v[j] = integer(k, a[i])
			}
			r[i] = intWord(k, f.Int(k, v[0], v[1], v[2]))
			if wrong == "" {
				wrong = domain(x.Name, float64(v[0]), float64(v[1]), float64(v[2]))
			}
			continue
		}
		var v [3]float64
		for j, a := range args {
			v[j] = float(k, a[i])
		}
		w, finite := floatWord(k, f.Float(v[0], v[1], v[2]))
		if r[i] = w; wrong == "" {
			wrong = domain(x.Name, v[0], v[1], v[2])
		}
		if !finite && wrong == "" {
			wrong = "value " + show(k, w) + " cannot be represented as '" + kindName(k) + "'"
		}
	}
	return r, wrong
}

func evaluateBits(x *Expr, k Kind, args [][]uint64) []uint64 {
	n := len(args)
	offset := min(uint32(args[n-2][0]), 32)
	count := min(uint32(args[n-1][0]), 32-offset)
	mask := uint32(1<<count - 1)
	r := make([]uint64, len(args[0]))
	for i := range r {
		e := uint32(args[0][i])
		switch {
		case x.Name == "insertBits":
			e = e&^(mask<<offset) | uint32(args[1][i])&mask<<offset
		case count == 0:
			e = 0
		case k == I32:
			e = uint32(int32(e<<(32-offset-count)) >> (32 - count))
		default:
			e = e >> offset & mask
		}
		r[i] = uint64(e)
	}
	return r
}

func evaluateParts(x *Expr, k Kind, args [][]uint64) ([]uint64, string) {
	n := len(args[0])
	first, second := make([]uint64, n), make([]uint64, n)
	wrong := ""
	for i, w := range args[0] {
		v := float(k, w)
		switch x.Name {
		case "ldexp":
			e := integer(x.Args[1].Type.Scalar().Kind, args[1][i])
			var finite bool
			if first[i], finite = floatWord(k, math.Ldexp(v, int(e))); !finite {
				wrong = "ldexp result cannot be represented as '" + kindName(k) + "'"
			}
		case "frexp":
			fraction, e := math.Frexp(v)
			first[i], _ = floatWord(k, fraction)
			second[i] = uint64(int64(e))
			if k != AbstractFloat {
				second[i] = uint64(uint32(e))
			}
		default:
			whole, fraction := math.Modf(v)
			first[i], _ = floatWord(k, fraction)
			second[i], _ = floatWord(k, whole)
		}
	}
	if x.Name == "ldexp" {
		return first, wrong
	}
	return append(first, second...), ""
}

// evaluateGeometry computes in float64 and rounds once.
func evaluateGeometry(x *Expr, k Kind, args [][]uint64) ([]uint64, string) {
	v := make([][]float64, len(args))
	for i, a := range args {
		for _, w := range a {
			v[i] = append(v[i], float(k, w))
		}
	}
	var out []float64
	switch x.Name {
	case "length":
		out = []float64{norm(v[0])}
	case "distance":
		out = []float64{norm(along(v[0], -1, v[1]))}
	case "normalize":
		out = along(nil, 1/norm(v[0]), v[0])
	case "cross":
		a, b := v[0], v[1]
		out = []float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
	case "faceForward":
		if out = v[0]; inner(v[1], v[2]) >= 0 {
			out = along(nil, -1, v[0])
		}
	case "reflect":
		out = along(v[0], -2*inner(v[0], v[1]), v[1])
	case "refract":
		d, eta := inner(v[0], v[1]), v[2][0]
		out = make([]float64, len(v[0]))
		if f := 1 - eta*eta*(1-d*d); f >= 0 {
			out = along(along(nil, eta, v[0]), -(eta*d + math.Sqrt(f)), v[1])
		}
	case "determinant":
		out = []float64{determinant(v[0], x.Args[0].Type.N)}
	}
	r, wrong := make([]uint64, len(out)), ""
	for i, f := range out {
		w, finite := floatWord(k, f)
		if r[i] = w; !finite {
			wrong = "value " + show(k, w) + " cannot be represented as '" + kindName(k) + "'"
		}
	}
	return r, wrong
}

func inner(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func norm(a []float64) float64 { return math.Sqrt(inner(a, a)) }

// along is a + s*b; a nil a is zero.
func along(a []float64, s float64, b []float64) []float64 {
	r := make([]float64, len(b))
	for i := range b {
		r[i] = s * b[i]
		if a != nil {
			r[i] += a[i]
		}
	}
	return r
}

// determinant expands along the first column.
func determinant(m []float64, n int) float64 {
	if n == 1 {
		return m[0]
	}
	sum, sign := 0.0, 1.0
	for row := range n {
		var minor []float64
		for c := 1; c < n; c++ {
			for r := range n {
				if r != row {
					minor = append(minor, m[c*n+r])
				}
			}
		}
		sum += sign * m[row] * determinant(minor, n-1)
		sign = -sign
	}
	return sum
}

func dotPacked(signed bool, a, b uint32) uint64 {
	var sum uint32
	for i := 0; i < 32; i += 8 {
		if signed {
			sum += uint32(int32(int8(a>>i)) * int32(int8(b>>i)))
		} else {
			sum += a >> i & 255 * (b >> i & 255)
		}
	}
	return uint64(sum)
}

package tensor

// DType is an element type.
type DType uint8

// Element types. The names are those of the IR text form.
const (
	Invalid DType = iota
	F32           // IEEE 754 binary32
	F64           // IEEE 754 binary64
	F16           // IEEE 754 binary16
	BF16          // the upper half of a binary32
	I64
	I32
	Bool
)

var dtypes = [...]struct {
	name string
	size int
}{
	Invalid: {"invalid", 0},
	F32:     {"f32", 4},
	F64:     {"f64", 8},
	F16:     {"f16", 2},
	BF16:    {"bf16", 2},
	I64:     {"i64", 8},
	I32:     {"i32", 4},
	Bool:    {"bool", 1},
}

// String returns the short name, such as "f32".
func (d DType) String() string {
	if int(d) >= len(dtypes) {
		d = Invalid
	}
	return dtypes[d].name
}

// Size is the number of bytes of one element.
func (d DType) Size() int {
	if int(d) >= len(dtypes) {
		return 0
	}
	return dtypes[d].size
}

// IsFloat reports whether the type is a floating-point type.
func (d DType) IsFloat() bool { return d >= F32 && d <= BF16 }

// Valid reports whether d is one of the element types.
func (d DType) Valid() bool { return d > Invalid && int(d) < len(dtypes) }

// ParseDType returns the type with the given short name.
func ParseDType(name string) (DType, bool) {
	for d := F32; d.Valid(); d++ {
		if dtypes[d].name == name {
			return d, true
		}
	}
	return Invalid, false
}

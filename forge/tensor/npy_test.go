package tensor

import (
	"bytes"
	"strings"
	"testing"
)

// sampleTensors holds every element type, and shapes with no dimension, none
// of length, one and several.
func sampleTensors(t testing.TB) []*Tensor {
	var out []*Tensor
	for d := F32; d.Valid(); d++ {
		for _, shape := range [][]int{nil, {0}, {3}, {2, 1, 5}} {
			x := must(Zeros(d, shape...))(t)
			for i := range x.Len() {
				x.SetElem(i, float64(i)-1.5)
			}
			out = append(out, x)
		}
	}
	return out
}

func TestNPYRoundTrip(t *testing.T) {
	for _, x := range sampleTensors(t) {
		var b bytes.Buffer
		if err := WriteNPY(&b, x); err != nil {
			t.Fatal(err)
		}
		if i := bytes.IndexByte(b.Bytes(), '\n'); (i+1)%64 != 0 {
			t.Errorf("the header of %v%v has %d bytes, not a multiple of 64", x.DType(), x.Shape(), i+1)
		}
		y := must(ReadNPY(&b, int64(b.Len())))(t)
		if x.DType() == BF16 {
			x = must(x.Convert(F32))(t)
		}
		if !Identical(x, y) {
			t.Errorf("%v came back as %v", x, y)
		}
	}
}

func npyFile(header string, body string) string {
	return npyMagic + "\x01\x00" + string([]byte{byte(len(header)), byte(len(header) >> 8)}) + header + body
}

func TestNPYVariants(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"big endian":      {npyFile("{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }", "\x00\x00\x01\x00\xff\xff\xff\xff"), "i32[2]\n[256  -1]"},
		"column major":    {npyFile("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }", "\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x04\x00\x00\x00\x05\x00\x00\x00"), "i32[2,3]\n[[0 2 4]\n [1 3 5]]"},
		"unsigned byte":   {npyFile("{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}", "\x80\x01"), "i64[2]\n[128   1]"},
		"signed byte":     {npyFile(`{"descr": "|i1", "fortran_order": False, "shape": (2,)}`, "\x80\x01"), "i64[2]\n[-128    1]"},
		"other key order": {npyFile("{'shape': (), 'fortran_order': False, 'descr': '|b1'}   \n", "\x01"), "bool[] true"},
	} {
		x, err := ReadNPY(strings.NewReader(c.file), int64(len(c.file)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if x.String() != c.want {
			t.Errorf("%s: got\n%v\nwant\n%s", name, x, c.want)
		}
	}
}

func TestNPYRefuses(t *testing.T) {
	head := func(shape string) string {
		return npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': "+shape+"}", "\x00\x00\x00\x00")
	}
	for _, c := range []struct{ file, want string }{
		{"PK", "not a .npy file"},
		{npyMagic + "\x09\x00", "format version 9"},
		{npyMagic + "\x01\x00\xff", "header is cut off"},
		{npyMagic + "\x02\x00\xff\xff\xff\x7f", "header claims 2147483647 bytes"},
		{head("(2000000000,)"), "describes 8000000000 bytes of elements, the file has 4"},
		{head("(2147483647, 2147483647)"), "more than 2147483648 elements"},
		{head("(1, 1, 1, 1, 1, 1, 1, 1, 1)"), "more than 8 dimensions"},
		{head("(-1,)"), `"-1" is not a dimension`},
		{head("[1]"), "not a tuple"},
		{head("(1"), "not a tuple"},
		{npyFile("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "x"), `element type "|O" is not supported`},
		{npyFile("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", "xxxx"), `fortran_order is "Maybe"`},
		{npyFile("{'descr': '<f4', 'shape': (1,)}", "xxxx"), "lacks"},
		{npyFile("{'descr': '<f4', 'descr': '<f4'}", "xxxx"), "malformed header"},
		{npyFile("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", "\x07"), "must be 0 or 1"},
	} {
		if _, err := ReadNPY(strings.NewReader(c.file), int64(len(c.file))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got error %v, want %s", err, c.want)
		}
	}
	// A size that the reader does not deliver must not be allocated first.
	short := npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (2000000000,)}", "xxxx")
	if _, err := ReadNPY(strings.NewReader(short), int64(len(short))-4+8_000_000_000); err == nil || !strings.Contains(err.Error(), "end after 4 of 8000000000 bytes") {
		t.Errorf("got error %v", err)
	}
}

func TestNPZ(t *testing.T) {
	var in []Named
	for i, x := range sampleTensors(t) {
		if x.DType() != BF16 {
			in = append(in, Named{string(rune('a' + i)), x})
		}
	}
	var b bytes.Buffer
	if err := WriteNPZ(&b, in); err != nil {
		t.Fatal(err)
	}
	out := must(ReadNPZ(bytes.NewReader(b.Bytes()), int64(b.Len())))(t)
	if len(out) != len(in) {
		t.Fatalf("%d tensors came back as %d", len(in), len(out))
	}
	for i := range in {
		if in[i].Name != out[i].Name || !Identical(in[i].Tensor, out[i].Tensor) {
			t.Errorf("tensor %s came back as %s: %v", in[i].Name, out[i].Name, out[i].Tensor)
		}
	}
	broken := bytes.Clone(b.Bytes())
	broken[bytes.IndexByte(broken, '\n')+1] ^= 0x40 // the first element of the first tensor
	if _, err := ReadNPZ(bytes.NewReader(broken), int64(len(broken))); err == nil {
		t.Error("a damaged archive was read")
	}
	var twice bytes.Buffer
	if err := WriteNPZ(&twice, []Named{in[0], in[0]}); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadNPZ(bytes.NewReader(twice.Bytes()), int64(twice.Len())); err == nil || !strings.Contains(err.Error(), "two entries are called") {
		t.Errorf("got error %v", err)
	}
}

func FuzzReadNPY(f *testing.F) {
	for _, x := range sampleTensors(f) {
		var b bytes.Buffer
		if err := WriteNPY(&b, x); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte(npyFile("{'descr': '>u2', 'fortran_order': True, 'shape': (1, 2)}", "abcd")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		x, err := ReadNPY(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := WriteNPY(&b, x); err != nil {
			t.Fatal(err)
		}
		if y, err := ReadNPY(&b, int64(b.Len())); err != nil || !Identical(x, y) {
			t.Fatalf("%v came back as %v, %v", x, y, err)
		}
	})
}

func FuzzReadNPZ(f *testing.F) {
	var b bytes.Buffer
	if err := WriteNPZ(&b, []Named{{"x", Scalar(F32, 1)}, {"y", Scalar(I64, 2)}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, raw []byte) {
		tensors, err := ReadNPZ(bytes.NewReader(raw), int64(len(raw)))
		if err == nil && len(tensors) > len(raw) {
			t.Fatal("more tensors than bytes")
		}
	})
}

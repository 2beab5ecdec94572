package tensor

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// The .npy format: the magic string, a version, the length of a header, the
// header as a Python dictionary padded to a multiple of 64 bytes, then the
// elements.
const (
	npyMagic     = "\x93NUMPY"
	npyMaxHeader = 64 << 10
)

var npyTypes = map[DType]string{F32: "<f4", F64: "<f8", F16: "<f2", I64: "<i8", I32: "<i4", Bool: "|b1"}

// WriteNPY writes a tensor as a .npy file. A bf16 tensor, which the format does
// not know, is written as f32.
func WriteNPY(w io.Writer, t *Tensor) error {
	if t.dtype == BF16 {
		wide, err := t.Convert(F32)
		if err != nil {
			return err
		}
		t = wide
	}
	var dims strings.Builder
	for i, d := range t.shape {
		if i > 0 {
			dims.WriteByte(' ')
		}
		dims.WriteString(strconv.Itoa(d) + ",")
	}
	shape := dims.String()
	if len(t.shape) > 1 {
		shape = strings.TrimSuffix(shape, ",")
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", npyTypes[t.dtype], shape)
	const prefix = len(npyMagic) + 4
	header += strings.Repeat(" ", 63-(prefix+len(header))%64) + "\n"
	out := append([]byte(npyMagic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(header)))
	out = append(out, header...)
	if _, err := w.Write(out); err != nil {
		return err
	}
	return t.EncodeTo(w)
}

// ReadNPY reads a .npy file of size bytes. The header is checked against size
// before memory for the elements is allocated. Element types are those of
// [DType] in either byte order, both memory layouts, and u1, i1, u2, i2 and u4,
// which become i64.
func ReadNPY(r io.Reader, size int64) (*Tensor, error) {
	t, err := readNPY(r, size)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	return t, nil
}

func readNPY(r io.Reader, size int64) (*Tensor, error) {
	head := make([]byte, len(npyMagic)+2)
	if _, err := io.ReadFull(r, head); err != nil || string(head[:len(npyMagic)]) != npyMagic {
		return nil, errors.New("not a .npy file")
	}
	major := head[len(npyMagic)]
	lengthSize := 4
	if major == 1 {
		lengthSize = 2
	} else if major != 2 && major != 3 {
		return nil, fmt.Errorf("format version %d; versions 1 to 3 are known", major)
	}
	raw := make([]byte, 4)
	if _, err := io.ReadFull(r, raw[:lengthSize]); err != nil {
		return nil, errors.New("the header is cut off")
	}
	length := int64(binary.LittleEndian.Uint32(raw))
	if length > npyMaxHeader {
		return nil, fmt.Errorf("the header claims %d bytes; the limit is %d", length, npyMaxHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, errors.New("the header is cut off")
	}
	h, err := parseNPYHeader(string(text))
	if err != nil {
		return nil, err
	}
	n, err := Elements(h.shape)
	if err != nil {
		return nil, err
	}
	need, have := int64(n)*int64(h.size), size-int64(len(head)+lengthSize)-length
	if need != have {
		return nil, fmt.Errorf("the header describes %d bytes of elements, the file has %d", need, have)
	}
	// The claimed size may itself be false, so memory grows with what is read.
	var body bytes.Buffer
	if m, err := io.CopyN(&body, r, need); err != nil {
		return nil, fmt.Errorf("the elements end after %d of %d bytes", m, need)
	}
	return h.decode(body.Bytes())
}

type npyHeader struct {
	kind    byte // f i u b
	size    int
	big     bool
	fortran bool
	shape   []int
}

// parseNPYHeader reads the dictionary literal with the keys descr,
// fortran_order and shape.
func parseNPYHeader(s string) (h npyHeader, err error) {
	s = strings.TrimSpace(s)
	s, ok := strings.CutPrefix(s, "{")
	s, ok2 := strings.CutSuffix(s, "}")
	if !ok || !ok2 {
		return h, errors.New("the header is not a dictionary")
	}
	seen := map[string]bool{}
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		var key, value string
		if key, s, err = cutQuoted(s); err != nil {
			return h, err
		}
		s, ok = strings.CutPrefix(strings.TrimSpace(s), ":")
		if !ok || seen[key] {
			return h, fmt.Errorf("malformed header at key %q", key)
		}
		seen[key] = true
		s = strings.TrimSpace(s)
		switch key {
		case "descr":
			if value, s, err = cutQuoted(s); err == nil {
				err = h.setType(value)
			}
		case "fortran_order":
			value, s = cutAt(s, ",")
			h.fortran = value == "True"
			if value != "True" && value != "False" {
				err = fmt.Errorf("fortran_order is %q", value)
			}
		case "shape":
			var found bool
			if value, s, found = strings.Cut(s, ")"); !found || !strings.HasPrefix(value, "(") {
				err = errors.New("the shape is not a tuple")
			} else {
				h.shape, err = parseTuple(value[1:])
			}
		default:
			err = fmt.Errorf("unknown header key %q", key)
		}
		if err != nil {
			return h, err
		}
		if s = strings.TrimSpace(s); s != "" {
			if s, ok = strings.CutPrefix(s, ","); !ok {
				return h, fmt.Errorf("malformed header after key %q", key)
			}
		}
	}
	if len(seen) != 3 {
		return h, errors.New("the header lacks descr, fortran_order or shape")
	}
	return h, nil
}

func cutQuoted(s string) (text, rest string, err error) {
	if s == "" || s[0] != '\'' && s[0] != '"' {
		return "", "", errors.New("the header has no quoted string where one is needed")
	}
	text, rest, ok := strings.Cut(s[1:], s[:1])
	if !ok {
		return "", "", errors.New("the header has an unterminated string")
	}
	return text, rest, nil
}

// cutAt splits before the separator, which stays in rest.
func cutAt(s, sep string) (before, rest string) {
	if i := strings.Index(s, sep); i >= 0 {
		return strings.TrimSpace(s[:i]), s[i:]
	}
	return strings.TrimSpace(s), ""
}

func parseTuple(s string) ([]int, error) {
	var shape []int
	for _, f := range strings.Split(strings.TrimSuffix(strings.TrimSpace(s), ","), ",") {
		if f = strings.TrimSpace(f); f == "" && strings.TrimSpace(s) == "" {
			break
		}
		d, err := strconv.ParseUint(f, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("%q is not a dimension", f)
		}
		if len(shape) == MaxRank {
			return nil, fmt.Errorf("the shape has more than %d dimensions", MaxRank)
		}
		shape = append(shape, int(d))
	}
	return shape, nil
}

func (h *npyHeader) setType(descr string) error {
	if len(descr) != 3 || !strings.Contains("<>|=", descr[:1]) {
		return fmt.Errorf("element type %q is not supported", descr)
	}
	h.big = descr[0] == '>'
	switch descr[1:] {
	case "f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "b1":
		h.kind, h.size = descr[1], int(descr[2]-'0')
		return nil
	}
	return fmt.Errorf("element type %q is not supported", descr)
}

// decode turns the elements into little-endian row-major order and one of our
// types.
func (h npyHeader) decode(raw []byte) (*Tensor, error) {
	if h.big {
		for i := 0; i < len(raw); i += h.size {
			for a, b := i, i+h.size-1; a < b; a, b = a+1, b-1 {
				raw[a], raw[b] = raw[b], raw[a]
			}
		}
	}
	if h.fortran {
		raw = h.toRowMajor(raw)
	}
	for d, name := range npyTypes {
		if name[1] == h.kind && int(name[2]-'0') == h.size {
			return Decode(d, h.shape, raw)
		}
	}
	return h.widen(raw)
}

// toRowMajor reorders elements whose first index varies fastest.
func (h npyHeader) toRowMajor(raw []byte) []byte {
	out := make([]byte, len(raw))
	index := make([]int, len(h.shape))
	for dst := 0; dst < len(out); dst += h.size {
		src, step := 0, h.size
		for i, x := range index {
			src += x * step
			step *= h.shape[i]
		}
		copy(out[dst:dst+h.size], raw[src:])
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < h.shape[i] {
				break
			}
			index[i] = 0
		}
	}
	return out
}

// widen converts the small and unsigned integer types to i64.
func (h npyHeader) widen(raw []byte) (*Tensor, error) {
	t, err := Zeros(I64, h.shape...)
	if err != nil {
		return nil, err
	}
	for i := range t.Int64() {
		var v uint64
		for b := h.size - 1; b >= 0; b-- {
			v = v<<8 | uint64(raw[i*h.size+b])
		}
		if unused := 64 - 8*h.size; h.kind == 'i' {
			t.Int64()[i] = int64(v<<unused) >> unused
		} else {
			t.Int64()[i] = int64(v & math.MaxInt64)
		}
	}
	return t, nil
}

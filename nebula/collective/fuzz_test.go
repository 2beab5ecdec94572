package collective

import (
	"bytes"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
)

func FuzzCall(f *testing.F) {
	c := call{op: AllReduce, how: backend.Max, epoch: 3, group: 4, seq: 5}
	c.shape(one(tensor.F32, 8, 64))
	h := c.header()
	f.Add(h[:])
	f.Add(bytes.Repeat([]byte{255}, line))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < line {
			return
		}
		h := header(b[:line])
		c, ok := parseCall(&h)
		if !ok {
			return
		}
		if back := c.header(); back != h {
			t.Errorf("%x is read as %+v", h, c)
		}
		if text := c.words([]int{0, 1}); len(text) > 300 {
			t.Errorf("%x in words: %s", h, text)
		}
	})
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte{sayLeave, 0, 0})
	f.Add(append([]byte{sayAbort, 9, 0}, notice{1, 2, "late"}.encode()...))
	f.Add([]byte{sayAbort, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, text, err := readMessage(bytes.NewReader(b))
		if err != nil {
			return
		}
		if len(text) > maxText || !bytes.Equal(text, b[3:3+len(text)]) {
			t.Errorf("%x is read as %x", b, text)
		}
		if n, ok := parseNotice(text); ok && !bytes.Equal(n.encode(), text) {
			t.Errorf("%x is read as %+v", text, n)
		}
	})
}

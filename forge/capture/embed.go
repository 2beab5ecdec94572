package capture

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// MIMEType is that of captures in an output of a notebook: the content of a file of each,
// compressed by gzip, one after the other, in base64 as all binary content there. It is
// not a JSON type, because front ends write JSON anew, with other keys first and other
// digits, and the hash is that of the text.
const MIMEType = "application/vnd.forge.capture+gzip"

// maxPacked is how many captures an output may carry.
const maxPacked = 64

// Pack is the content of [MIMEType], the same for equal captures.
func Pack(captures ...*Capture) ([]byte, error) {
	var b bytes.Buffer
	for _, c := range captures {
		raw, err := Encode(c)
		if err != nil {
			return nil, err
		}
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(raw); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// Unpack reads what [Pack] made, at least one capture, and verifies each: see [Verify].
// It trusts no size.
func Unpack(packed []byte) (list []*Capture, err error) {
	source := bytes.NewReader(packed)
	r, err := gzip.NewReader(source)
	for left := MaxFile; ; err = r.Reset(source) {
		if errors.Is(err, io.EOF) && len(list) > 0 {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the capture is not compressed by gzip: %w", err)
		}
		if len(list) == maxPacked {
			return nil, fmt.Errorf("there are more than %d captures, the limit", maxPacked)
		}
		r.Multistream(false)
		raw, err := io.ReadAll(io.LimitReader(r, int64(left)+1))
		if err != nil {
			return nil, fmt.Errorf("the capture cannot be decompressed: %w", err)
		}
		if left -= len(raw); left < 0 {
			return nil, fmt.Errorf("the capture has more than %d bytes, the limit", MaxFile)
		}
		c, err := Decode(raw)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
}

package capture

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
)

// MIMEType is that of a capture in an output of a notebook: the content of a file,
// compressed by gzip, in base64 as all binary content there. It is not a JSON type,
// because front ends write JSON anew, with other keys first and other digits, and the
// hash is that of the text.
const MIMEType = "application/vnd.forge.capture+gzip"

// Pack is the content of [MIMEType], the same for equal captures.
func Pack(c *Capture) ([]byte, error) {
	raw, err := Encode(c)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
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
	return b.Bytes(), nil
}

// Unpack reads what [Pack] made, and verifies it: see [Verify]. It trusts no size.
func Unpack(packed []byte) (*Capture, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("the capture is not compressed by gzip: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("the capture cannot be decompressed: %w", err)
	}
	if len(raw) > MaxFile {
		return nil, fmt.Errorf("the capture has more than %d bytes, the limit", MaxFile)
	}
	return Decode(raw)
}

package capture

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

func TestPack(t *testing.T) {
	c := sample(t)
	packed, err := Pack(c)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Pack(c); err != nil || !bytes.Equal(packed, again) {
		t.Errorf("equal captures are packed differently, %v", err)
	}
	for _, list := range [][]*Capture{{c}, {c, c, c}} {
		packed, err := Pack(list...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Unpack(packed)
		if err != nil || len(got) != len(list) || !bytes.Equal(encode(t, got[len(got)-1]), encode(t, c)) {
			t.Errorf("%d of %d unpacked, %v", len(got), len(list), err)
		}
	}
	r, err := NewReport(c, true)
	if err != nil {
		t.Fatal(err)
	}
	shown := r.Display()
	if content, _ := shown.Data[MIMEType].([]byte); !bytes.Equal(content, packed) {
		t.Error("the display does not carry the capture")
	}
	sum, err := Hash(c)
	if hints, _ := shown.Metadata[MIMEType].(map[string]any); err != nil || hints["sha256"] != sum || hints["id"] != c.ID {
		t.Errorf("hints %v, want hash %s, %v", hints, sum, err)
	}
	c.Workloads[0].FLOPs++
	if _, err := Pack(c); err == nil {
		t.Error("a wrong capture was packed")
	}
}

func TestUnpackRefuses(t *testing.T) {
	packed, err := Pack(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	spoilt := bytes.Clone(packed)
	spoilt[len(spoilt)-6] ^= 1 // of the checksum
	for want, content := range map[string][]byte{
		"not compressed":        []byte("{}"),
		"unexpected EOF":        packed[:len(packed)/2],
		"invalid checksum":      spoilt,
		"limit":                 compressed(t, bytes.Repeat([]byte(" "), MaxFile+1)),
		"format is":             compressed(t, []byte(`{"format": "x"}`)),
		"it was changed after":  compressed(t, bytes.Replace(encode(t, sample(t)), []byte("Test 9000"), []byte("Best 9000"), 1)),
		"not compressed by":     append(bytes.Clone(packed), "more"...),
		"more than 64 captures": bytes.Repeat(packed, maxPacked+1),
		"something follows the": compressed(t, append(encode(t, sample(t)), '1')),
	} {
		if _, err := Unpack(content); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func compressed(t testing.TB, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// FuzzUnpack checks that whatever is unpacked is a capture.
func FuzzUnpack(f *testing.F) {
	packed, err := Pack(sample(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Add(compressed(f, []byte(`{"format": "forge.capture", "version": 2}`)))
	f.Fuzz(func(t *testing.T, content []byte) {
		list, err := Unpack(content)
		if err == nil && len(list) == 0 {
			t.Error("nothing was unpacked")
		}
		for _, c := range list {
			encode(t, c)
		}
	})
}

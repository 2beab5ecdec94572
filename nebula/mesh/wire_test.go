package mesh

import (
	"bytes"
	"io"
	"net"
	"reflect"
	"testing"
)

func TestMessages(t *testing.T) {
	h := &hello{Epoch: 7, From: 3, To: 1, Size: 4, Port: 20001, Job: "j", Purpose: "data", Host: "h", Digest: []byte{1}, Nonce: [32]byte{5}}
	if got, err := parseHello(h.encode(nil)); err != nil || !reflect.DeepEqual(got, h) {
		t.Errorf("%+v came as %+v, %v", h, got, err)
	}
	v := &verdict{Refusal: "no", Roster: []Peer{{Host: "a", Address: "b:1"}, {Rank: 1, Host: "c"}}}
	if got, err := parseVerdict(v.encode()); err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("%+v came as %+v, %v", v, got, err)
	}
}

func FuzzHello(f *testing.F) {
	f.Add((&hello{Epoch: 7, From: 3, Size: 4, Job: "j", Purpose: "data", Host: "h", Digest: []byte{1}}).encode(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := parseHello(b); err == nil && !bytes.Equal(h.encode(nil), b) {
			t.Errorf("%x is read as %+v", b, h)
		}
	})
}

func FuzzVerdict(f *testing.F) {
	f.Add((&verdict{Refusal: "no", Roster: []Peer{{Host: "a", Address: "b:1"}, {Host: "c"}}}).encode())
	f.Add([]byte{0, 0, 255, 255, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := parseVerdict(b); err == nil && !bytes.Equal(v.encode(), b) {
			t.Errorf("%x is read as %+v", b, v)
		}
	})
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte{3, 0, 0, 0, 'a', 'b', 'c'})
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := readFrame(bytes.NewReader(b), maxHello); err == nil && (len(got) > maxHello || !bytes.Equal(got, b[4:4+len(got)])) {
			t.Errorf("%x is read as %x", b, got)
		}
	})
}

// FuzzReceive is all that a stranger can do: no bytes get a connection through,
// and none do harm.
func FuzzReceive(f *testing.F) {
	h := &hello{Epoch: 1, From: 1, Size: 2, Job: "j", Purpose: "data", Host: "h"}
	var whole bytes.Buffer
	whole.WriteString(magic)
	_ = writeFrame(&whole, h.encode(nil))
	f.Add(whole.Bytes())
	f.Add(append(whole.Bytes(), make([]byte, 32)...))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &Mesh{config: Config{Job: "j", Token: []byte("secret"), Epoch: 1, Size: 2}}
		here, there := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, there) }()
		go func() {
			_, _ = there.Write(b)
			there.Close()
		}()
		if h, err := m.receive(here); err == nil {
			t.Errorf("%x comes through as %+v", b, h)
		}
		here.Close()
	})
}

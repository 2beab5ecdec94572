package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
)

func newSigner(t testing.TB, key string) *Signer {
	t.Helper()
	s, err := NewSigner(Scheme, []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newMessage(t testing.TB, msgType string, parent *Message, content any) *Message {
	t.Helper()
	m, err := NewSession("tester").New(msgType, parent, content)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func frames(parts ...string) (out [][]byte) {
	for _, p := range parts {
		out = append(out, []byte(p))
	}
	return out
}

// The signature of four known frames, computed with Python's hmac module.
func TestKnownSignature(t *testing.T) {
	const signature = "5a26bfd400822d82414598d76962ca0044637673b7e45d08351da1835fdf09a5"
	in := frames("id", "<IDS|MSG>", signature, `{"msg_type":"x"}`, `{ "a": 1 }`, `{}`, `{"text":"é"}`)
	m, err := newSigner(t, "secret").Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	if got := newSigner(t, "secret").Serialize(m); !bytes.Equal(bytes.Join(got, nil), bytes.Join(in, nil)) {
		t.Errorf("got %q, want %q", got, in)
	}
}

func TestRoundTrip(t *testing.T) {
	for _, key := range []string{"", "key"} {
		s := newSigner(t, key)
		request := newMessage(t, "execute_request", nil, ExecuteRequest{Code: "<b>&"})
		request.Identities = frames("topic")
		request.Buffers = frames("\x00binary", "")
		if err := request.SetMetadata(map[string]int{"x": 1}); err != nil {
			t.Fatal(err)
		}
		if err := request.SetSubshell("sub"); err != nil {
			t.Fatal(err)
		}
		got, err := s.Parse(s.Serialize(request))
		if err != nil {
			t.Fatal(err)
		}
		want, _ := json.Marshal(request)
		if have, _ := json.Marshal(got); !bytes.Equal(have, want) {
			t.Errorf("got  %s\nwant %s", have, want)
		}
		var content ExecuteRequest
		if err := got.Decode(&content); err != nil || content.Code != "<b>&" {
			t.Errorf("content %+v, %v", content, err)
		}
	}
}

// A reply carries the request's header byte for byte, however it was spelled.
func TestParentIsVerbatim(t *testing.T) {
	s := newSigner(t, "")
	header := `{"msg_type": "x",  "msg_id":"\u0061", "date":"2020", "unknown": [1.0]}`
	request, err := s.Parse(frames("<IDS|MSG>", "", header, "{}", "{}", "{}"))
	if err != nil {
		t.Fatal(err)
	}
	reply := newMessage(t, "y", request, nil)
	if string(s.Serialize(reply)[3]) != header {
		t.Errorf("parent_header is %s", reply.Parent)
	}
	parent, err := reply.ParentHeader()
	if err != nil || parent.MsgID != "a" || parent.MsgType != "x" {
		t.Errorf("decoded %+v, %v", parent, err)
	}
}

func TestHeader(t *testing.T) {
	session := NewSession("me")
	a, err := session.New("status", nil, Status{Busy})
	if err != nil {
		t.Fatal(err)
	}
	b, err := session.New("status", nil, Status{Idle})
	if err != nil {
		t.Fatal(err)
	}
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	if a.Header.MsgID == b.Header.MsgID || !uuid.MatchString(a.Header.Session) {
		t.Errorf("ids %+v %+v", a.Header, b.Header)
	}
	if a.Header.Session != b.Header.Session || a.Header.Username != "me" || a.Header.Version != "5.5" {
		t.Errorf("header %+v", a.Header)
	}
	if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`).MatchString(a.Header.Date) {
		t.Errorf("date %q", a.Header.Date)
	}
	if strings.Contains(string(a.RawHeader), "subshell") || string(a.Parent) != "{}" || string(a.Metadata) != "{}" {
		t.Errorf("raw %s %s %s", a.RawHeader, a.Parent, a.Metadata)
	}
	if _, err := session.New("x", nil, []int{1}); err == nil {
		t.Error("a list became a content")
	}
	if _, err := session.New("x", nil, map[string]any{"f": func() {}}); err == nil {
		t.Error("a function became JSON")
	}
	if m, err := session.New("x", nil, map[string]any(nil)); err != nil || string(m.Content) != "{}" {
		t.Errorf("nil map is %s, %v", m.Content, err)
	}
}

func TestParseErrors(t *testing.T) {
	signed := newSigner(t, "key")
	good := signed.Serialize(newMessage(t, "x", nil, nil))
	change := func(i int, to string) [][]byte {
		c := append([][]byte(nil), good...)
		c[i] = []byte(to)
		return c
	}
	manyIdentities := append(frames(strings.Split(strings.Repeat("i", MaxIdentities+1), "")...), good...)
	manyBuffers := append(append([][]byte(nil), good...), make([][]byte, MaxBuffers+1)...)
	for _, c := range []struct {
		name   string
		frames [][]byte
		want   error
	}{
		{"nothing", nil, ErrNoDelimiter},
		{"no delimiter", frames("a", "b"), ErrNoDelimiter},
		{"delimiter last", frames("a", "<IDS|MSG>"), ErrTruncated},
		{"no content", good[:5], ErrTruncated},
		{"many identities", manyIdentities, ErrTooLarge},
		{"many buffers", manyBuffers, ErrTooLarge},
		{"no signature", change(1, ""), ErrSignature},
		{"short signature", change(1, "abc"), ErrSignature},
		{"not hex", change(1, strings.Repeat("z", 64)), ErrSignature},
		{"other signature", change(1, strings.Repeat("0", 64)), ErrSignature},
		{"other content", change(5, `{"a":1}`), ErrSignature},
	} {
		if _, err := signed.Parse(c.frames); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	unsigned := newSigner(t, "")
	for _, c := range []struct{ header, parent, metadata, content, want string }{
		{`{"msg_type":"x"`, `{}`, `{}`, `{}`, "bad header: not valid JSON"},
		{`[]`, `{}`, `{}`, `{}`, "bad header: not a JSON object"},
		{``, `{}`, `{}`, `{}`, "bad header: not a JSON object"},
		{`{}`, `{}`, `{}`, `{}`, "bad header: no msg_type"},
		{`{"msg_type":5}`, `{}`, `{}`, `{}`, "bad header: json: cannot unmarshal"},
		{`{"msg_type":"x"}`, `null`, `{}`, `{}`, "bad parent_header: not a JSON object"},
		{`{"msg_type":"x"}`, `{}`, `{"a":nan}`, `{}`, "bad metadata: not valid JSON"},
		{`{"msg_type":"x"}`, `{}`, `{}`, "{\"a\":\"\xff\"}", "bad content: not UTF-8"},
		{`{"msg_type":"x"}`, `{}`, `{}`, `{} {}`, "bad content: not valid JSON"},
	} {
		_, err := unsigned.Parse(frames("<IDS|MSG>", "", c.header, c.parent, c.metadata, c.content))
		var decode *DecodeError
		if !errors.As(err, &decode) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	if _, err := NewSigner("hmac-md5", []byte("key")); err == nil {
		t.Error("an unknown scheme was taken")
	}
}

func TestReplay(t *testing.T) {
	s := newSigner(t, "key")
	first := s.Serialize(newMessage(t, "x", nil, nil))
	parse := func(frames [][]byte, want error) {
		t.Helper()
		if _, err := s.Parse(frames); !errors.Is(err, want) {
			t.Fatalf("got %v, want %v", err, want)
		}
	}
	parse(first, nil)
	parse(first, nil) // a client does not mind
	s.RefuseReplays()
	parse(first, nil)
	parse(first, ErrReplay)
	for range ReplayWindow {
		parse(s.Serialize(newMessage(t, "x", nil, nil)), nil)
	}
	if len(s.seen) != ReplayWindow || len(s.recent) != ReplayWindow {
		t.Errorf("remembers %d signatures", len(s.seen))
	}
	parse(first, nil) // forgotten by now
}

func FuzzParse(f *testing.F) {
	signer := newSigner(f, "")
	for _, seed := range [][][]byte{
		nil,
		frames("id", "<IDS|MSG>", "", `{"msg_type":"x"}`, "{}", "{}", "{}", "buffer"),
		frames("<IDS|MSG>", "", `{"msg_type":"x"}`, "{}", "{}"),
		signer.Serialize(newMessage(f, "execute_request", nil, ExecuteRequest{Code: "1"})),
	} {
		f.Add(bytes.Join(seed, []byte("\n")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bytes.Split(data, []byte("\n"))
		m, err := signer.Parse(in)
		if err != nil {
			return
		}
		out := signer.Serialize(m)
		again, err := signer.Parse(out)
		if err != nil || again.Header != m.Header {
			t.Fatalf("%q became %q: %v", in, out, err)
		}
		if reply := newMessage(t, "reply", m, nil); !bytes.Equal(reply.Parent, m.RawHeader) {
			t.Fatalf("parent %q of header %q", reply.Parent, m.RawHeader)
		}
		m.ParentHeader()
		var content ExecuteRequest
		m.Decode(&content)
		var history HistoryReply
		m.Decode(&history)
	})
}

func BenchmarkSerialize(b *testing.B) {
	s := newSigner(b, "key")
	session := NewSession("me")
	parent := newMessage(b, "execute_request", nil, nil)
	b.ReportAllocs()
	for b.Loop() {
		m, err := session.New("stream", parent, Stream{Name: "stdout", Text: "hello, world\n"})
		if err != nil {
			b.Fatal(err)
		}
		s.Serialize(m)
	}
}

func BenchmarkParse(b *testing.B) {
	s := newSigner(b, "key")
	frames := s.Serialize(newMessage(b, "execute_request", nil, ExecuteRequest{Code: "1 + 1"}))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Parse(frames); err != nil {
			b.Fatal(err)
		}
	}
}

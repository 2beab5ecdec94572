package link

import (
	"bytes"
	"encoding/json"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestMembers(t *testing.T) {
	raw := json.RawMessage(` { "a" : 1.5e3 ,"b":{"x":"}\"]","y":[{}]}, "c\u0064":[ "," , null ],"e":"\\","f":true, "a" : null } `)
	got, err := Members(raw)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "null", "b": `{"x":"}\"]","y":[{}]}`, "cd": `[ "," , null ]`, "e": `"\\"`, "f": "true"} {
		if string(got[name]) != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
	if len(got) != 5 {
		t.Errorf("members %v", slices.Sorted(maps.Keys(got)))
	}
	for _, bad := range []string{"", "null", "[1]", `"x"`} {
		if _, err := Members(json.RawMessage(bad)); err == nil {
			t.Errorf("%q is an object", bad)
		}
	}
}

// FuzzMembers compares with encoding/json on every valid object.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[{"c":"\"}"}]}`))
	f.Add([]byte(`{}`))
	f.Add([]byte(` {"": -0 , "\ud800":"\\\\" } `))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var want map[string]json.RawMessage
		if json.Unmarshal(raw, &want) != nil || want == nil {
			return
		}
		got, err := Members(raw)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		if !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Fatalf("%q: %q, want %q", raw, got, want)
		}
	})
}

// A large frame is held once: what Recv allocates is its buffer, which doubles
// as it arrives.
func TestRecvCopiesNothing(t *testing.T) {
	body, err := json.Marshal(StreamText{Text: strings.Repeat("x", 8<<20-1000)})
	if err != nil {
		t.Fatal(err)
	}
	var sent bytes.Buffer
	if err := NewConn(stream{nil, &sent}).Send(Frame{Kind: Stream, Body: body}); err != nil {
		t.Fatal(err)
	}
	conn := NewConn(stream{&sent, nil})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := conn.Recv()
	runtime.ReadMemStats(&after)
	if err != nil || !bytes.Equal(f.Body, body) {
		t.Fatalf("a body of %d bytes, %v", len(f.Body), err)
	}
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(5*len(body)/2); got > most {
		t.Errorf("receiving %d bytes allocated %d, at most %d", len(body), got, most)
	}
}

package front

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"forgekernel/kernel/link"
	"forgekernel/kernel/wire"
)

func frameOf(kind link.Kind, body string) link.Frame {
	return link.Frame{Kind: kind, Body: json.RawMessage(body)}
}

// Numbers that float64 cannot hold, and absent parts, pass through.
func TestBundlesPassUnchanged(t *testing.T) {
	for body, want := range map[string]string{
		`{"bundle":{"data":{"application/json":{"n":9007199254740993}},"metadata":null},"id":"x\""}`: `display_data {"data":{"application/json":{"n":9007199254740993}},"metadata":{},"transient":{"display_id":"x\""}}`,
		`{"bundle":{"metadata":{"a":1.0}},"update":true}`:                                            `update_display_data {"data":{},"metadata":{"a":1.0},"transient":{}}`,
		`{"bundle":null}`: `display_data {"data":{},"metadata":{},"transient":{}}`,
		`{"id":"x"}`:      `display_data {"data":{},"metadata":{},"transient":{"display_id":"x"}}`,
	} {
		d, err := decodeDisplay(frameOf(link.Display, body))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		msgType, content, err := d.message()
		if got := msgType + " " + string(content); got != want || err != nil {
			t.Errorf("%s becomes %s, %v; want %s", body, got, err, want)
		}
	}
	equal(t, "absent", expressionReply{Status: "ok"}, json.RawMessage(`{"status":"ok","data":{},"metadata":{}}`))
	for text, want := range map[string]bool{`{"text/plain":"x"}`: true, `{"text/plain":1}`: false, `{}`: false, ``: false, `null`: false} {
		b := bundle{Data: rawObject(text)}
		if _, ok := b.text(); ok != want {
			t.Errorf("text of %s: %v", text, ok)
		}
	}
}

func TestDecodeDone(t *testing.T) {
	done, err := decodeDone(frameOf(link.Done, `{"result":{"data":{"n":9007199254740993}},"symbols":[{"name":"a"}],"user_expressions":{"x":{"result":{"data":{"y":1}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "result", string(done.Result.Data), `{"n":9007199254740993}`)
	equal(t, "symbol", done.Symbols[0].Name, "a")
	equal(t, "expression", string(done.UserExpressions["x"].Result.Data), `{"y":1}`)
	for _, none := range []string{`{}`, `{"result":null}`} {
		if done, err := decodeDone(frameOf(link.Done, none)); done.Result != nil || err != nil {
			t.Errorf("%s: result %v, %v", none, done.Result, err)
		}
	}
}

func TestBadBundles(t *testing.T) {
	for _, body := range []string{``, `[]`, `{"bundle":1}`, `{"bundle":{"data":[]}}`, `{"bundle":{"metadata":"x"}}`, `{"id":1}`} {
		if _, err := decodeDisplay(frameOf(link.Display, body)); err == nil {
			t.Errorf("display %s is accepted", body)
		}
	}
	for _, body := range []string{``, `[]`, `{"result":1}`, `{"result":{"data":1}}`} {
		if _, err := decodeDone(frameOf(link.Done, body)); err == nil {
			t.Errorf("done %s is accepted", body)
		}
	}
}

// A large display is copied once on its way from the link to IOPub.
func TestLargeDisplayIsCopiedOnce(t *testing.T) {
	p := newIOPub(context.Background(), wire.NewSession("x"), mustSigner(t), slogDiscard)
	f := frameOf(link.Display, `{"bundle":{"data":{"text/html":"`+strings.Repeat("x", 8<<20)+`"},"metadata":{}}}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := decodeDisplay(f)
	if err != nil {
		t.Fatal(err)
	}
	msgType, content, err := d.message()
	if err != nil {
		t.Fatal(err)
	}
	frames := p.frames(msgType, nil, content)
	runtime.ReadMemStats(&after)
	if size := byteSize(frames); size < len(f.Body) {
		t.Fatalf("a message of %d bytes", size)
	}
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(5*len(f.Body)/4); got > most {
		t.Errorf("a display of %d bytes allocated %d, at most %d", len(f.Body), got, most)
	}
}

package wire

import (
	"encoding/json"
	"testing"
)

// Nil maps and lists of a reply must not become null.
func TestContentJSON(t *testing.T) {
	output := "out"
	for _, c := range []struct {
		content any
		want    string
	}{
		{ExecuteReply{Status: StatusOK, ExecutionCount: 3}, `{"status":"ok","execution_count":3,"user_expressions":{},"payload":[]}`},
		{ExecuteErrorReply{Status: StatusError, Failure: Failure{Name: "E", Value: "v"}}, `{"status":"error","execution_count":0,"ename":"E","evalue":"v","traceback":[],"user_expressions":{},"payload":[]}`},
		{ErrorReply{Status: StatusError}, `{"status":"error","ename":"","evalue":"","traceback":[]}`},
		{CompleteReply{Status: StatusOK}, `{"status":"ok","matches":[],"cursor_start":0,"cursor_end":0,"metadata":{}}`},
		{InspectReply{Status: StatusOK}, `{"status":"ok","found":false,"data":{},"metadata":{}}`},
		{DisplayData{Data: Object{"text/plain": "x"}}, `{"data":{"text/plain":"x"},"metadata":{},"transient":{}}`},
		{ExecuteResult{}, `{"execution_count":0,"data":{},"metadata":{},"transient":{}}`},
		{CommInfoReply{Status: StatusOK}, `{"status":"ok","comms":{}}`},
		{IsCompleteReply{Status: "complete"}, `{"status":"complete"}`},
		{HistoryReply{Status: StatusOK}, `{"status":"ok","history":[]}`},
		{HistoryEntry{Session: 1, Line: 2, Input: "in"}, `[1,2,"in"]`},
		{HistoryEntry{Session: 1, Line: 2, Input: "in", WithOutput: true}, `[1,2,["in",null]]`},
		{HistoryEntry{Session: 1, Line: 2, Input: "in", WithOutput: true, Output: &output}, `[1,2,["in","out"]]`},
	} {
		got, err := json.Marshal(c.content)
		if err != nil || string(got) != c.want {
			t.Errorf("%T: got %s, %v; want %s", c.content, got, err, c.want)
		}
		if entry, ok := c.content.(HistoryEntry); ok {
			var back HistoryEntry
			if err := json.Unmarshal(got, &back); err != nil || back.Input != entry.Input || back.WithOutput != entry.WithOutput || (back.Output == nil) != (entry.Output == nil) {
				t.Errorf("%s became %+v, %v", got, back, err)
			}
		}
	}
}

func TestExecuteRequestDefaults(t *testing.T) {
	for in, want := range map[string]ExecuteRequest{
		`{"code":"x"}`:                                {Code: "x", StoreHistory: true, AllowStdin: true, StopOnError: true},
		`{"code":"x","silent":true}`:                  {Code: "x", Silent: true, AllowStdin: true, StopOnError: true},
		`{"silent":true,"store_history":true}`:        {Silent: true, AllowStdin: true, StopOnError: true},
		`{"store_history":false}`:                     {AllowStdin: true, StopOnError: true},
		`{"allow_stdin":false,"stop_on_error":false}`: {StoreHistory: true},
	} {
		var got ExecuteRequest
		if err := json.Unmarshal([]byte(in), &got); err != nil {
			t.Fatal(err)
		}
		if got.Code != want.Code || got.Silent != want.Silent || got.StoreHistory != want.StoreHistory || got.AllowStdin != want.AllowStdin || got.StopOnError != want.StopOnError {
			t.Errorf("%s: got %+v, want %+v", in, got, want)
		}
	}
	if err := json.Unmarshal([]byte(`{"code":5}`), new(ExecuteRequest)); err == nil {
		t.Error("a number is no code")
	}
}

func TestBadHistoryEntries(t *testing.T) {
	for _, in := range []string{`{}`, `[1,2]`, `[1,2,3]`, `["a",2,"x"]`, `[1,2,[3]]`} {
		if err := json.Unmarshal([]byte(in), new(HistoryEntry)); err == nil {
			t.Errorf("%s was taken", in)
		}
	}
}

func TestCursors(t *testing.T) {
	const text = "aé𝔣b" // 1, 2, 4 and 1 bytes
	for _, c := range []struct{ points, bytes int }{{-1, 0}, {0, 0}, {1, 1}, {2, 3}, {3, 7}, {4, 8}, {5, 8}, {1 << 40, 8}} {
		if got := ByteOffset(text, c.points); got != c.bytes {
			t.Errorf("ByteOffset(%d) = %d, want %d", c.points, got, c.bytes)
		}
	}
	for _, c := range []struct{ bytes, points int }{{-1, 0}, {0, 0}, {1, 1}, {2, 1}, {3, 2}, {4, 2}, {6, 2}, {7, 3}, {8, 4}, {9, 4}} {
		if got := CodePoints(text, c.bytes); got != c.points {
			t.Errorf("CodePoints(%d) = %d, want %d", c.bytes, got, c.points)
		}
	}
	if got := ByteOffset("\xff\xfeé", 2); got != 2 {
		t.Errorf("invalid bytes: %d", got)
	}
	if ByteOffset("", 3) != 0 || CodePoints("", 3) != 0 {
		t.Error("empty text")
	}
}

func FuzzCursors(f *testing.F) {
	f.Add("aé𝔣b", 2)
	f.Add("\xff\xe9\x80", 1)
	f.Fuzz(func(t *testing.T, text string, points int) {
		offset := ByteOffset(text, points)
		if offset < 0 || offset > len(text) {
			t.Fatalf("offset %d of %d", offset, len(text))
		}
		if points >= 0 && points <= len([]rune(text)) && CodePoints(text, offset) != points {
			t.Fatalf("%d became %d became %d", points, offset, CodePoints(text, offset))
		}
	})
}

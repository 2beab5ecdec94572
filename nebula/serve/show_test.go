package serve

import (
	"fmt"
	"testing"

	"forgekernel/display"
	"forgekernel/nebula/engine"
)

// sink keeps what is shown.
type sink struct{ list []display.Output }

func (s *sink) Show(o display.Output) error {
	s.list = append(s.list, o)
	return nil
}

func (s *sink) Clear(bool) error { return nil }

// TestShowing sees that the client shows what its leader does while it starts, in order
// and with the same identity.
func TestShowing(t *testing.T) {
	client, leader := newPipe()
	go func() {
		stop := Starting(t.Context(), leader)
		ctx := Showing(t.Context(), leader)
		for i := range 3 {
			_ = display.SinkFrom(ctx).Show(display.Output{ID: "a", Update: i > 0, Bundle: display.Text(fmt.Sprint(i))})
		}
		stop()
		info := engine.Info{Vocab: 5}
		sendJSON(t.Context(), leader, kindReady, 0, ready{Info: &info})
	}()
	s := &sink{}
	k, err := Dial(display.WithSink(t.Context(), s), client, terms)
	if err != nil || k.Info().Vocab != 5 {
		t.Fatal(err)
	}
	k.Close()
	if len(s.list) != 3 {
		t.Fatalf("%d outputs are shown", len(s.list))
	}
	for i, o := range s.list {
		if o.ID != "a" || o.Update != (i > 0) || o.Bundle.Data["text/plain"] != fmt.Sprint(i) {
			t.Errorf("output %d is %+v", i, o)
		}
	}
}

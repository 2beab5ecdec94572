package serve

import (
	"context"
	"encoding/json"

	"forgekernel/display"
)

// Showing is ctx for a leader that starts: what is shown goes to the client.
func Showing(ctx context.Context, c Conn) context.Context {
	return display.WithSink(ctx, &relay{ctx, c})
}

// shown is an output on its way. Contents that are no text are in base64.
type shown struct {
	ID       string         `json:"id,omitempty"`
	Update   bool           `json:"update,omitempty"`
	Data     map[string]any `json:"data"`
	Metadata map[string]any `json:"metadata"`
}

// relay is a sink at the other end of a connection.
type relay struct {
	ctx  context.Context
	conn Conn
}

func (r *relay) Show(o display.Output) error {
	s := shown{ID: o.ID, Update: o.Update}
	s.Data, s.Metadata = o.Bundle.Wire()
	return sendJSON(r.ctx, r.conn, kindShow, 0, s)
}

// Clear would remove what is the client's.
func (r *relay) Clear(bool) error { return nil }

// show shows what the leader does while it starts. That nobody can see it is no reason
// to end.
func (k *Client) show(m message) error {
	var s shown
	if err := json.Unmarshal(m.body, &s); err != nil {
		return err
	}
	_ = k.sink.Show(display.Output{ID: s.ID, Update: s.Update, Bundle: display.Bundle{Data: s.Data, Metadata: s.Metadata}})
	return nil
}

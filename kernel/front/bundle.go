package front

import (
	"bytes"
	"encoding/json"

	"forgekernel/kernel/link"
	"forgekernel/kernel/wire"
)

// rawObject is a JSON object that passes through the front as it is: it may be
// large, and decoding would round its numbers. Absent or null it becomes {}.
type rawObject json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (o *rawObject) UnmarshalJSON(raw []byte) error {
	*o = append((*o)[:0], raw...)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (o rawObject) MarshalJSON() ([]byte, error) {
	if len(o) == 0 || bytes.Equal(o, []byte("null")) {
		return []byte("{}"), nil
	}
	return o, nil
}

// bundle is a link.Bundle as it travels.
type bundle struct {
	Data     rawObject `json:"data"`
	Metadata rawObject `json:"metadata"`
}

// text is its text/plain, if it has one.
func (b *bundle) text() (string, bool) {
	var data struct {
		Text *string `json:"text/plain"`
	}
	if json.Unmarshal(b.Data, &data) != nil || data.Text == nil {
		return "", false
	}
	return *data.Text, true
}

// The bodies of frames that carry bundles, and the contents of the messages
// that these become, with the bundles left as they are.
type (
	displayBody struct {
		link.DisplayBody
		Bundle bundle `json:"bundle"`
	}
	doneBody struct {
		link.DoneBody
		Result          *bundle                   `json:"result"`
		UserExpressions map[string]userExpression `json:"user_expressions"`
	}
	userExpression struct {
		Result *bundle     `json:"result"`
		Error  *link.Error `json:"error"`
	}
	displayData struct {
		bundle
		Transient wire.Object `json:"transient"`
	}
	executeResult struct {
		ExecutionCount int `json:"execution_count"`
		bundle
		Transient wire.Object `json:"transient"`
	}
	expressionReply struct {
		Status string `json:"status"`
		bundle
	}
)

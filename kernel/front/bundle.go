package front

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"forgekernel/kernel/link"
	"forgekernel/kernel/wire"
)

// Bundles may be large. On the way from the link to IOPub they are neither
// decoded, which would also round their numbers, nor copied more than once, into
// the content of their message.

// rawObject is a JSON object that is left as it is. Absent or null it becomes {}.
type rawObject json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (o *rawObject) UnmarshalJSON(raw []byte) error {
	*o = append((*o)[:0], raw...)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (o rawObject) MarshalJSON() ([]byte, error) {
	return o.orEmpty(), nil
}

func (o rawObject) orEmpty() []byte {
	if len(o) == 0 || bytes.Equal(o, []byte("null")) {
		return []byte("{}")
	}
	return o
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

// bundleOf finds the parts of a bundle, which share its memory; null is the empty
// one.
func bundleOf(raw json.RawMessage) (b bundle, err error) {
	if raw == nil || bytes.Equal(raw, []byte("null")) {
		return bundle{}, nil
	}
	members, err := link.Members(raw)
	if err != nil {
		return bundle{}, fmt.Errorf("bundle: %w", err)
	}
	b.Data, b.Metadata = rawObject(members["data"]), rawObject(members["metadata"])
	for _, part := range []rawObject{b.Data, b.Metadata} {
		if part.orEmpty()[0] != '{' {
			return bundle{}, errors.New("bundle: data and metadata are not objects")
		}
	}
	return b, nil
}

// content is the content of a message that shows b. head is JSON that begins it,
// "{" or more.
func (b bundle) content(head string, transient wire.Object) (json.RawMessage, error) {
	end, err := json.Marshal(transient)
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{
		[]byte(head + `"data":`), b.Data.orEmpty(), []byte(`,"metadata":`), b.Metadata.orEmpty(),
		[]byte(`,"transient":`), end, []byte("}"),
	}, nil), nil
}

// skipped is a member that is not decoded.
type skipped struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (skipped) UnmarshalJSON([]byte) error { return nil }

// displayBody is a link.DisplayBody.
type displayBody struct {
	Bundle bundle
	ID     string
	Update bool
}

func decodeDisplay(f link.Frame) (displayBody, error) {
	rest, err := link.Decode[struct {
		link.DisplayBody
		Bundle skipped `json:"bundle"`
	}](f)
	if err != nil {
		return displayBody{}, err
	}
	members, err := link.Members(f.Body)
	if err != nil {
		return displayBody{}, err
	}
	b, err := bundleOf(members["bundle"])
	return displayBody{Bundle: b, ID: rest.ID, Update: rest.Update}, err
}

// message is the type and content of what b becomes.
func (b displayBody) message() (string, json.RawMessage, error) {
	msgType, transient := "display_data", wire.Object{}
	if b.Update {
		msgType = "update_display_data"
	}
	if b.ID != "" {
		transient["display_id"] = b.ID
	}
	content, err := b.Bundle.content("{", transient)
	return msgType, content, err
}

// doneBody is a link.DoneBody.
type doneBody struct {
	link.DoneBody
	Result          *bundle                   `json:"-"`
	UserExpressions map[string]userExpression `json:"user_expressions"`
}

type userExpression struct {
	Result *bundle     `json:"result"`
	Error  *link.Error `json:"error"`
}

func decodeDone(f link.Frame) (doneBody, error) {
	done, err := link.Decode[struct {
		doneBody
		Skipped skipped `json:"result"`
	}](f)
	if err != nil {
		return doneBody{}, err
	}
	members, err := link.Members(f.Body)
	if err != nil {
		return doneBody{}, err
	}
	if raw := members["result"]; raw != nil && !bytes.Equal(raw, []byte("null")) {
		b, err := bundleOf(raw)
		if err != nil {
			return doneBody{}, err
		}
		done.doneBody.Result = &b
	}
	return done.doneBody, nil
}

// expressionReply is the value of a user expression.
type expressionReply struct {
	Status string `json:"status"`
	bundle
}

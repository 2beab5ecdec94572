package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// Version is the messaging protocol that headers and kernel_info_reply name.
const Version = "5.5"

// Header identifies a message.
type Header struct {
	MsgID    string `json:"msg_id"`
	Session  string `json:"session"`
	Username string `json:"username"`
	Date     string `json:"date"` // ISO 8601, UTC, microseconds
	MsgType  string `json:"msg_type"`
	Version  string `json:"version"`
	// SubshellID routes shell and stdin messages; empty is the main shell.
	SubshellID string `json:"subshell_id,omitempty"`
}

// Message is one Jupyter message. The raw fields hold JSON objects exactly as
// they travel; "{}" where there is nothing to say, never null or empty.
type Message struct {
	// Identities are the routing frames before the delimiter: for IOPub the
	// topic. Package zmtp keeps the peer's identity out of the frames, so for
	// the other channels there are usually none.
	Identities [][]byte
	Header     Header
	RawHeader  json.RawMessage // Header as it travels
	Parent     json.RawMessage // parent_header
	Metadata   json.RawMessage
	Content    json.RawMessage
	Buffers    [][]byte
}

// ParentHeader decodes the header of the message this one answers. It is the
// zero Header when there is none.
func (m *Message) ParentHeader() (Header, error) {
	var h Header
	if err := json.Unmarshal(m.Parent, &h); err != nil {
		return Header{}, &DecodeError{Part: "parent_header", Err: err}
	}
	return h, nil
}

// Decode stores the content in v.
func (m *Message) Decode(v any) error {
	if err := json.Unmarshal(m.Content, v); err != nil {
		return &DecodeError{Part: m.Header.MsgType + " content", Err: err}
	}
	return nil
}

// Session makes the messages of one process: they share a session id. It may
// be used by several goroutines.
type Session struct {
	ID       string
	Username string
	count    atomic.Uint64
}

// NewSession returns a session with a fresh id.
func NewSession(username string) *Session {
	return &Session{ID: uuid.NewString(), Username: username}
}

// New makes a message of the given type. parent is the message it answers, or
// nil; content becomes a JSON object, nil the empty one. A json.RawMessage, which
// must be valid, is not copied. It fails only when content cannot be represented
// in JSON.
func (s *Session) New(msgType string, parent *Message, content any) (*Message, error) {
	body, err := encode(content)
	if err != nil {
		return nil, fmt.Errorf("wire: %s content: %w", msgType, err)
	}
	h := Header{
		// Unique since the session is; a random number for every message costs
		// more than all the rest of it.
		MsgID:    s.ID + "_" + strconv.FormatUint(s.count.Add(1), 10),
		Session:  s.ID,
		Username: s.Username,
		Date:     time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"),
		MsgType:  msgType,
		Version:  Version,
	}
	m := &Message{Header: h, Parent: emptyObject, Metadata: emptyObject, Content: body}
	if parent != nil {
		m.Parent = parent.RawHeader
	}
	if err := m.seal(); err != nil {
		return nil, err
	}
	return m, nil
}

// SetSubshell addresses the message to a subshell.
func (m *Message) SetSubshell(id string) error {
	m.Header.SubshellID = id
	return m.seal()
}

// SetMetadata replaces the metadata.
func (m *Message) SetMetadata(v any) error {
	raw, err := encode(v)
	if err != nil {
		return fmt.Errorf("wire: %s metadata: %w", m.Header.MsgType, err)
	}
	m.Metadata = raw
	return nil
}

// seal writes RawHeader from Header.
func (m *Message) seal() error {
	raw, err := encode(m.Header)
	if err != nil {
		return fmt.Errorf("wire: %s header: %w", m.Header.MsgType, err)
	}
	m.RawHeader = raw
	return nil
}

var emptyObject = json.RawMessage("{}")

// encode renders v as a JSON object without HTML escapes, which would only
// make programs in messages longer.
func encode(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case nil:
		return emptyObject, nil
	case json.RawMessage:
		if !isObject(v) {
			return nil, errors.New("not a JSON object")
		}
		return v, nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	raw := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if bytes.Equal(raw, []byte("null")) {
		return emptyObject, nil
	}
	if !isObject(raw) {
		return nil, fmt.Errorf("%T is not a JSON object", v)
	}
	return raw, nil
}

func isObject(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{'
}

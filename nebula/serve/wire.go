package serve

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"forgekernel/nebula/launch"
	"forgekernel/nebula/sample"
	"forgekernel/nebula/sched"
)

// Kinds of frames. Each body begins with the number of a request or question.
const (
	kindSubmit launch.Kind = launch.FirstKind + iota // JSON of sched.Request
	kindCancel                                       // the client's context ended, or it closed the stream
	kindStop                                         // the client has enough
	kindAsk                                          // JSON of question
	kindPing                                         // are you there?

	kindReady    // from the leader, first: JSON of engine.Info, or of a wireError
	kindAccepted // the request is queued
	kindToken    // see appendToken
	kindFinish   // JSON of finish; also instead of kindAccepted
	kindPart     // of an answer; more follow
	kindAnswer   // the last part
	kindError    // instead of an answer: JSON of wireError
	kindFailed   // the job is over: JSON of wireError
	kindPong     // to kindPing
	kindShow     // before kindReady: JSON of shown
)

// patience is how long a client that reads nothing is waited for: a notebook may
// be stopped for a while, and its frames are few.
const patience = 10 * time.Minute

// maxPart bounds a part of an answer.
const maxPart = launch.MaxFrame - 64

// message is a frame with its number taken off.
type message struct {
	kind launch.Kind
	id   uint64
	body []byte
}

func decode(f launch.Frame) (message, error) {
	if len(f.Body) < 8 {
		return message{}, fmt.Errorf("a frame of kind %d with %d bytes has no number", f.Kind, len(f.Body))
	}
	return message{f.Kind, binary.BigEndian.Uint64(f.Body), f.Body[8:]}, nil
}

func send(ctx context.Context, c Conn, kind launch.Kind, id uint64, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return c.Send(ctx, launch.Frame{Kind: kind, Body: append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(body)), id), body...)})
}

func sendJSON(ctx context.Context, c Conn, kind launch.Kind, id uint64, body any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return send(ctx, c, kind, id, raw)
}

// sendAnswer sends an answer of any size.
func sendAnswer(ctx context.Context, c Conn, id uint64, body []byte) error {
	for ; len(body) > maxPart; body = body[maxPart:] {
		if err := send(ctx, c, kindPart, id, body[:maxPart]); err != nil {
			return err
		}
	}
	return send(ctx, c, kindAnswer, id, body)
}

// question is asked with kindAsk: a state, steps, a description, a trace or a task.
type question struct {
	What string          `json:"what"`
	Rank int             `json:"rank,omitempty"`
	Task string          `json:"task,omitempty"`
	Args json.RawMessage `json:"args,omitempty"`
}

// finish is the end of a request. There may be no stream yet: then Err is the
// error of Submit.
type finish struct {
	Reason sched.Reason `json:"reason"`
	Err    *wireError   `json:"err,omitempty"`
	Usage  sched.Usage  `json:"usage"`
}

const (
	tokenBytes = 4 + 1 + 4 + 8 + 8 + 8 // without the likeliest tokens
	topBytes   = 4 + 8
)

// appendToken writes a token event: token, 1 for a stop token, index, time in
// nanoseconds since 1970, margin, log-probability, then each of the likeliest
// tokens with its log-probability. Floats go as bits, for they may be infinite.
func appendToken(b []byte, e sched.Event) []byte {
	be := binary.BigEndian
	b = be.AppendUint32(b, uint32(e.Token))
	if e.Stop {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = be.AppendUint32(b, uint32(e.Index))
	b = be.AppendUint64(b, uint64(e.At.UnixNano()))
	b = be.AppendUint64(b, math.Float64bits(e.Margin))
	b = be.AppendUint64(b, math.Float64bits(e.LogProb))
	for _, t := range e.Top {
		b = be.AppendUint64(be.AppendUint32(b, uint32(t.Token)), math.Float64bits(t.LogProb))
	}
	return b
}

func decodeToken(b []byte) (sched.Event, error) {
	be := binary.BigEndian
	if len(b) < tokenBytes || (len(b)-tokenBytes)%topBytes != 0 || b[4] > 1 {
		return sched.Event{}, errors.New("the message of a token is damaged")
	}
	e := sched.Event{Index: int(be.Uint32(b[5:])), At: time.Unix(0, int64(be.Uint64(b[9:])))}
	e.Choice = sample.Choice{
		Token: int32(be.Uint32(b)), Stop: b[4] == 1,
		Margin: math.Float64frombits(be.Uint64(b[17:])), LogProb: math.Float64frombits(be.Uint64(b[25:])),
	}
	for b = b[tokenBytes:]; len(b) > 0; b = b[topBytes:] {
		e.Top = append(e.Top, sample.TokenProb{Token: int32(be.Uint32(b)), LogProb: math.Float64frombits(be.Uint64(b[4:]))})
	}
	return e, nil
}

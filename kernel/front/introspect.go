package front

import (
	"context"
	"errors"
	"time"

	"forgekernel/kernel/link"
	"forgekernel/kernel/wire"
)

// askTime bounds a question to the session: some clients wait for the answer
// without limit.
const askTime = 10 * time.Second

// ask puts a question to the session and decodes its answer.
func ask[T any](f *front, ctx context.Context, kind link.Kind, body any) (T, error) {
	return askBy[T](f, ctx, func(s *session, seq uint64) error { return s.post(kind, 0, seq, body) })
}

// askBy is ask with a function that sends the question under a number.
func askBy[T any](f *front, ctx context.Context, post func(s *session, seq uint64) error) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	s, err := f.supervisor.acquire(ctx)
	if err == nil {
		var frame link.Frame
		if frame, err = s.callBy(ctx, func(seq uint64) error { return post(s, seq) }); err == nil {
			return link.Decode[T](frame)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = &failure{"Timeout", "the session did not answer within " + askTime.String()}
	}
	return answer, err
}

func (f *front) complete(ctx context.Context, r *request) (any, error) {
	var content wire.CompleteRequest
	if err := r.Decode(&content); err != nil {
		return nil, err
	}
	answer, err := ask[link.CompleteReply](f, ctx, link.Complete, link.CursorRequest{Code: content.Code, Cursor: content.CursorPos})
	if err != nil {
		return nil, err
	}
	reply := wire.CompleteReply{Status: wire.StatusOK, CursorStart: answer.Start, CursorEnd: answer.End}
	typed := []wire.TypedMatch{}
	for _, m := range answer.Matches {
		reply.Matches = append(reply.Matches, m.Text)
		typed = append(typed, wire.TypedMatch{Start: answer.Start, End: answer.End, Text: m.Text, Type: m.Type, Signature: m.Signature})
	}
	if len(typed) > 0 {
		reply.Metadata = wire.Object{"_jupyter_types_experimental": typed}
	}
	return reply, nil
}

func (f *front) inspect(ctx context.Context, r *request) (any, error) {
	var content wire.InspectRequest
	if err := r.Decode(&content); err != nil {
		return nil, err
	}
	answer, err := ask[link.InspectReply](f, ctx, link.Inspect, link.CursorRequest{
		Code: content.Code, Cursor: content.CursorPos, DetailLevel: content.DetailLevel,
	})
	if err != nil {
		return nil, err
	}
	return wire.InspectReply{Status: wire.StatusOK, Found: answer.Found, Data: answer.Data}, nil
}

func (f *front) isComplete(ctx context.Context, r *request) (any, error) {
	var content wire.IsCompleteRequest
	if err := r.Decode(&content); err != nil {
		return nil, err
	}
	answer, err := ask[link.IsCompleteReply](f, ctx, link.IsComplete, link.CodeRequest{Code: content.Code})
	if err != nil {
		return nil, err
	}
	return wire.IsCompleteReply{Status: answer.Status, Indent: answer.Indent}, nil
}

// answerHistory answers from the history of the shell that asks.
func (f *front) answerHistory(_ context.Context, r *request) (any, error) {
	var content wire.HistoryRequest
	if err := r.Decode(&content); err != nil {
		return nil, err
	}
	q, err := f.subshells.find(r.Header.SubshellID)
	if err != nil {
		return nil, err
	}
	<-f.history.opened
	found, err := f.history.query(content, q.session)
	if err != nil {
		return nil, err
	}
	reply := wire.HistoryReply{Status: wire.StatusOK}
	for _, e := range found {
		reply.History = append(reply.History, wire.HistoryEntry{
			Session: e.Session, Line: e.Line, Input: e.Input, Output: e.Output, WithOutput: content.Output,
		})
	}
	return reply, nil
}

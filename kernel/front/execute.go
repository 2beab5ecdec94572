package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"forgekernel/kernel/link"
	"forgekernel/kernel/wire"
)

// execution is one cell on its way through the session.
type execution struct {
	*queue
	request *request
	content wire.ExecuteRequest
	count   int
	out     *target
}

// execute runs one cell and returns the content of its reply. Whatever happens
// in the session, it returns once the cell is over.
func (q *queue) execute(ctx context.Context, r *request) (any, error) {
	f := q.front
	var content wire.ExecuteRequest
	if err := r.Decode(&content); err != nil {
		return nil, err
	}
	if content.StoreHistory {
		q.count++
	}
	e := &execution{queue: q, request: r, content: content, count: q.count}
	if !content.Silent {
		f.iopub.now("execute_input", r.Message, wire.ExecuteInput{Code: content.Code, ExecutionCount: e.count})
	}
	done := e.run(ctx)
	e.publish(done)
	if content.StoreHistory && strings.TrimSpace(content.Code) != "" {
		e.remember(done)
	}
	if done.Error != nil && content.StopOnError {
		time.Sleep(abortWindow)
		q.abort("the cell before it failed")
	}
	return e.reply(done), nil
}

// run gives the cell to the session and follows it to its end.
func (e *execution) run(ctx context.Context) doneBody {
	f := e.front
	interrupts := f.interrupts.count()
	cell := f.nextCell.Add(1)
	s, frames, err := f.open(ctx, cell)
	if err != nil {
		return failed(err)
	}
	defer s.shut(cell, frames)
	s.pipes.drain()
	e.out = f.outputs.begin(cell, e.request.Message)
	if !e.content.Silent { // which a person does not look at
		e.out.write(stderr, []byte(f.supervisor.takeNotice()))
	}
	// An interrupt that came while the cell was not in the session yet would
	// find nothing to stop there.
	err = f.interrupts.unless(interrupts, func() error {
		return s.post(link.Execute, cell, 0, link.ExecuteRequest{
			Code: e.content.Code, Number: e.number(), Silent: e.content.Silent,
			AllowStdin: e.content.AllowStdin, UserExpressions: e.content.UserExpressions,
		})
	})
	if err != nil {
		return failed(err)
	}
	done, err := e.follow(s, cell, frames)
	s.pipes.drain()
	s.late.settle() // the cell may have waited for what goroutines of others show
	f.outputs.flush()
	e.out.flush(true)
	f.inputs.forget(s, cell)
	if err != nil {
		return failed(err)
	}
	return done
}

// number is the one by which messages call the cell.
func (e *execution) number() int {
	var metadata wire.ExecuteMetadata
	if err := json.Unmarshal(e.request.Metadata, &metadata); err != nil || metadata.Cell <= 0 {
		return e.count
	}
	return metadata.Cell
}

// open finds a live session for a cell.
func (f *front) open(ctx context.Context, cell uint64) (*session, *mailbox, error) {
	for {
		s, err := f.acquire(ctx)
		if err != nil {
			return nil, nil, err
		}
		if frames := s.open(cell); frames != nil {
			return s, frames, nil
		}
	}
}

// follow serves the cell's frames until Done, or the end of the session.
func (e *execution) follow(s *session, cell uint64, frames *mailbox) (doneBody, error) {
	f := e.front
	for frame, ok := frames.get(); ok; frame, ok = frames.get() {
		switch frame.Kind {
		case link.Done:
			done, err := decodeDone(frame)
			if err == nil {
				f.supervisor.learn(done.DoneBody)
				f.supervisor.remind(done.Error)
			}
			return done, err
		case link.InputRequest:
			f.inputs.ask(s, frame, e.request, e.content.AllowStdin)
		default:
			if err := f.outputs.show(s, e.out, frame); err != nil {
				f.log.Error("session", "frame", frame.Kind, "error", err)
			}
		}
	}
	<-s.dead
	if f.stopping() {
		return doneBody{}, &failure{"KernelShutdown", "the kernel was shut down while the cell ran"}
	}
	return failedWith(s.crash.failure(f.supervisor.lose(s))), nil
}

func failed(err error) doneBody {
	if errors.Is(err, context.Canceled) {
		err = &failure{"KernelShutdown", "the kernel was shut down before the cell ran"}
	}
	e := failureOf(err)
	return failedWith(&link.Error{Name: e.Name, Value: e.Value, Traceback: e.Traceback})
}

func failedWith(e *link.Error) doneBody { return doneBody{DoneBody: link.DoneBody{Error: e}} }

// publish shows the cell's value or error.
func (e *execution) publish(done doneBody) {
	pub := e.front.iopub
	switch {
	case done.Error != nil:
		pub.now("error", e.request.Message, wireFailure(done.Error))
	case done.Result != nil && !e.content.Silent:
		content, err := done.Result.content(fmt.Sprintf(`{"execution_count":%d,`, e.count), wire.Object{})
		if err != nil {
			e.front.log.Error("execute_result", "error", err)
			return
		}
		e.out.show("execute_result", content)
	}
}

func (e *execution) remember(done doneBody) {
	record := entry{Session: e.session, Line: e.count, Input: e.content.Code}
	if done.Result != nil {
		if text, ok := done.Result.text(); ok {
			record.Output = &text
		}
	}
	f := e.front
	f.history.add(&record)
	e.request.after = func() { // the reply need not wait for the disk
		if err := f.history.store(record); err != nil && f.badInput.allow() {
			f.log.Warn("history", "error", err)
		}
	}
}

func (e *execution) reply(done doneBody) any {
	expressions := wire.Object{}
	for name, x := range done.UserExpressions {
		expressions[name] = x.reply()
	}
	payload := wire.List[wire.Object]{}
	for _, p := range done.Payload {
		payload = append(payload, wirePayload(p))
	}
	if done.Error != nil {
		return wire.ExecuteErrorReply{
			Status: wire.StatusError, ExecutionCount: e.count, Failure: wireFailure(done.Error),
			UserExpressions: expressions, Payload: payload,
		}
	}
	return wire.ExecuteReply{Status: wire.StatusOK, ExecutionCount: e.count, UserExpressions: expressions, Payload: payload}
}

func wireFailure(e *link.Error) wire.Failure {
	return wire.Failure{Name: e.Name, Value: e.Value, Traceback: e.Traceback}
}

func (x userExpression) reply() any {
	switch {
	case x.Error != nil:
		return wire.ErrorReply{Status: wire.StatusError, Failure: wireFailure(x.Error)}
	case x.Result != nil:
		return expressionReply{Status: wire.StatusOK, bundle: *x.Result}
	}
	return expressionReply{Status: wire.StatusOK}
}

// wirePayload keeps the fields that its source has.
func wirePayload(p link.Payload) wire.Object {
	if p.Source == "set_next_input" {
		return wire.Object{"source": p.Source, "text": p.Text, "replace": p.Replace}
	}
	return wire.Object{"source": p.Source, "data": wire.Object(p.Data), "start": p.Start}
}

// Package link is the conversation between the front, which Jupyter talks to,
// and the session, its child process that runs cells. Both ends exchange
// [Frame]s over one Unix socket pair: a four-byte big-endian length, then JSON.
//
// Order matters more than anything else here. Text that a cell prints travels
// through the session's stdout and stderr pipes, displays through the link;
// a display therefore waits for [Ack], which the front sends after it has
// drained the pipes and published the display. Text of a goroutine that
// belongs to an earlier cell, or of one of several cells that run at once,
// travels as [Stream] frames instead, so that it reaches its own cell. A session
// that streams much numbers its Stream frames (Seq) and waits for their Ack, so
// that a slow reader slows the cell and not the whole conversation.
package link

import "encoding/json"

// Version of the frames; the session announces it in Hello and a front refuses
// another one, since both must come from one build.
const Version = 1

// Limits.
const (
	// MaxFrame bounds one frame in bytes. A larger display is refused with an
	// error in its cell.
	MaxFrame = 256 << 20
)

// Kind names what a frame carries.
type Kind string

// Frames from the front to the session.
const (
	Execute    Kind = "execute"     // Cell, body ExecuteRequest
	Interrupt  Kind = "interrupt"   // stop every running cell and what the debugger evaluates; with the Seq of a Debug only the latter
	Complete   Kind = "complete"    // Seq, body CursorRequest -> CompleteReply
	Inspect    Kind = "inspect"     // Seq, body CursorRequest -> InspectReply
	IsComplete Kind = "is_complete" // Seq, body CodeRequest -> IsCompleteReply
	Input      Kind = "input"       // Seq of the InputRequest, body InputValue
	Restore    Kind = "restore"     // body RestoreRequest, before the first Execute of a new session
	Comm       Kind = "comm"        // body CommMessage, both directions; a comm_open with Seq is answered with Ack, or comm_close if its target is unknown
	Config     Kind = "config"      // body Settings; to the session after Hello, from it (Seq, wants Ack) when a person changes one
	Ack        Kind = "ack"         // Seq of the frame that is acknowledged; body Refusal when it had no effect
	Debug      Kind = "debug"       // Seq, body a DAP request -> the DAP response
	Shutdown   Kind = "shutdown"    // end the session and everything it started
)

// Frames from the session to the front.
const (
	Hello        Kind = "hello"         // body HelloBody; sent once, before anything else
	Stream       Kind = "stream"        // Cell, Seq (if not 0, wants Ack), body StreamText
	Display      Kind = "display"       // Cell, Seq (wants Ack), body DisplayBody
	Clear        Kind = "clear"         // Cell, Seq (wants Ack), body ClearBody
	InputRequest Kind = "input_request" // Cell, Seq, body InputPrompt -> Input
	Done         Kind = "done"          // Cell, body DoneBody; the last frame of a cell
	DebugEvent   Kind = "debug_event"   // body a DAP event
	DebugState   Kind = "debug_state"   // body Debugging, or null when nobody debugs
	Reply        Kind = "reply"         // Seq of the request, body depends on it
)

// Frame is one message. Cell is the front's number of an execution, unique for
// the life of the front; Seq pairs a request with its reply or acknowledgement
// and counts separately in each direction.
type Frame struct {
	Kind Kind            `json:"kind"`
	Cell uint64          `json:"cell,omitempty"`
	Seq  uint64          `json:"seq,omitempty"`
	Body json.RawMessage `json:"body,omitempty"`
}

// HelloBody opens the conversation.
type HelloBody struct {
	Version int `json:"version"`
	PID     int `json:"pid"`
}

// ExecuteRequest runs one cell.
type ExecuteRequest struct {
	Code            string            `json:"code"`
	Number          int               `json:"number"` // for "cell N" in messages
	Silent          bool              `json:"silent,omitempty"`
	AllowStdin      bool              `json:"allow_stdin,omitempty"`
	UserExpressions map[string]string `json:"user_expressions,omitempty"`
}

// DoneBody ends a cell. Exactly one of Result and Error is set unless the cell
// has no value.
type DoneBody struct {
	Result          *Bundle                   `json:"result,omitempty"` // of the last expression
	Error           *Error                    `json:"error,omitempty"`
	Payload         []Payload                 `json:"payload,omitempty"`
	UserExpressions map[string]UserExpression `json:"user_expressions,omitempty"`
	// Symbols names what the session now holds, so that the front can say what
	// was lost if the session dies.
	Symbols []Symbol `json:"symbols,omitempty"`
	// Definitions holds the source of every ForgeScript function now defined,
	// in order; the front hands it to Restore after a crash.
	Definitions []Definition `json:"definitions,omitempty"`
}

// Bundle is a display.Bundle on the wire: binary content is base64 text.
type Bundle struct {
	Data     map[string]any `json:"data"`
	Metadata map[string]any `json:"metadata"`
}

// Error is a failed cell in Jupyter's terms.
type Error struct {
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

// Payload is one element of execute_reply's payload list: "page" or
// "set_next_input".
type Payload struct {
	Source  string         `json:"source"`
	Data    map[string]any `json:"data,omitempty"`    // page
	Start   int            `json:"start"`             // page
	Text    string         `json:"text,omitempty"`    // set_next_input
	Replace bool           `json:"replace,omitempty"` // set_next_input
}

// UserExpression is the outcome of one of them.
type UserExpression struct {
	Result *Bundle `json:"result,omitempty"`
	Error  *Error  `json:"error,omitempty"`
}

// Symbol is a name that the session holds.
type Symbol struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // "var", "func", "type", "const", "import", "forgescript"
	Type string `json:"type"`
}

// Definition is one ForgeScript function, kept by source.
type Definition struct {
	Name   string `json:"name"`
	Source string `json:"source"`
}

// RestoreRequest redefines ForgeScript functions in a fresh session, and has it
// debugged as the one before was.
type RestoreRequest struct {
	Definitions []Definition `json:"definitions"`
	Debugging   *Debugging   `json:"debugging,omitempty"`
}

// Debugging is what a client has asked of the debugger. It outlives the session.
type Debugging struct {
	Client      string                  `json:"client,omitempty"`   // as it calls itself
	Seq         int                     `json:"seq"`                // of the latest message to it
	Halted      uint64                  `json:"halted,omitempty"`   // goroutine; 0 is none
	Panics      bool                    `json:"panics,omitempty"`   // halt
	Uncaught    bool                    `json:"uncaught,omitempty"` // panics that nobody recovers halt
	Breakpoints map[string][]Breakpoint `json:"breakpoints,omitempty"`
}

// Breakpoint is one as a client asks for it in the Debug Adapter Protocol.
type Breakpoint struct {
	Line         int    `json:"line"`
	Condition    string `json:"condition,omitempty"`
	HitCondition string `json:"hitCondition,omitempty"`
	LogMessage   string `json:"logMessage,omitempty"`
}

// StreamText is printed text that knows its cell.
type StreamText struct {
	Name string `json:"name"` // "stdout" or "stderr"
	Text string `json:"text"`
}

// DisplayBody is one display or its update.
type DisplayBody struct {
	Bundle Bundle `json:"bundle"`
	ID     string `json:"id,omitempty"`
	Update bool   `json:"update,omitempty"`
}

// ClearBody clears a cell's output.
type ClearBody struct {
	Wait bool `json:"wait"`
}

// InputPrompt asks the person a question.
type InputPrompt struct {
	Prompt   string `json:"prompt"`
	Password bool   `json:"password"`
}

// InputValue answers InputPrompt; Error says why there is no answer.
type InputValue struct {
	Value string `json:"value"`
	Error string `json:"error,omitempty"`
}

// Refusal says in an Ack why what was asked for was not done.
type Refusal struct {
	Error string `json:"error"`
}

// CodeRequest carries source.
type CodeRequest struct {
	Code string `json:"code"`
}

// CursorRequest carries source and a position in code points.
type CursorRequest struct {
	Code        string `json:"code"`
	Cursor      int    `json:"cursor"`
	DetailLevel int    `json:"detail_level,omitempty"`
}

// CompleteReply lists completions of the text between Start and End (code
// points).
type CompleteReply struct {
	Matches []Match `json:"matches"`
	Start   int     `json:"start"`
	End     int     `json:"end"`
}

// Match is one completion.
type Match struct {
	Text      string `json:"text"`
	Type      string `json:"type,omitempty"` // function, variable, type, module, keyword, magic, field, method, path
	Signature string `json:"signature,omitempty"`
}

// InspectReply describes the name at the cursor.
type InspectReply struct {
	Found bool           `json:"found"`
	Data  map[string]any `json:"data,omitempty"`
}

// IsCompleteReply says whether source can run as it stands.
type IsCompleteReply struct {
	Status string `json:"status"` // complete, incomplete, invalid, unknown
	Indent string `json:"indent,omitempty"`
}

// CommMessage is a comm_open, comm_msg or comm_close.
type CommMessage struct {
	Type   string         `json:"type"`
	ID     string         `json:"comm_id"`
	Target string         `json:"target_name,omitempty"`
	Data   map[string]any `json:"data"`
}

// Settings are the front's limits that a person may change while the kernel
// runs (%config). A nil one stays as it is; 0 lifts the limit.
type Settings struct {
	OutputLimit *int64 `json:"output_limit,omitempty"` // bytes of text per cell
	MemoryLimit *int64 `json:"memory_limit,omitempty"` // bytes of the session's data
}

package wire

import "encoding/json"

// Map is a JSON object whose nil value is {}: null where the protocol wants an
// object breaks clients (nbclient dies of "transient": null).
type Map[V any] map[string]V

// MarshalJSON implements json.Marshaler.
func (m Map[V]) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]V(m))
}

// Object is a JSON object of anything, such as a MIME bundle.
type Object = Map[any]

// List is a JSON array whose nil value is [].
type List[T any] []T

// MarshalJSON implements json.Marshaler.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// Values of "status" in replies.
const (
	StatusOK    = "ok"
	StatusError = "error"
	// StatusAborted is deprecated and fails validators; only ever received.
	StatusAborted = "aborted"
)

// Failure is the error part of a reply and the content of the error output.
type Failure struct {
	Name      string       `json:"ename"`
	Value     string       `json:"evalue"`
	Traceback List[string] `json:"traceback"`
}

// ErrorReply is the content of any failed reply but execute_reply.
type ErrorReply struct {
	Status string `json:"status"` // StatusError
	Failure
}

// StatusReply is the content of a reply that only says ok.
type StatusReply struct {
	Status string `json:"status"`
}

// ExecuteRequest is the content of execute_request.
type ExecuteRequest struct {
	Code            string      `json:"code"`
	Silent          bool        `json:"silent"`
	StoreHistory    bool        `json:"store_history"`
	UserExpressions Map[string] `json:"user_expressions"`
	AllowStdin      bool        `json:"allow_stdin"`
	StopOnError     bool        `json:"stop_on_error"`
}

// ExecuteMetadata is what Forge reads of the metadata of execute_request.
type ExecuteMetadata struct {
	// Cell is the number by which messages call the cell, if a client counts otherwise
	// than by execution_count: one that runs cells of another kernel's notebook.
	Cell int `json:"forge_cell"`
}

// UnmarshalJSON applies the protocol's defaults for absent fields: silent
// false, store_history the opposite of silent, allow_stdin and stop_on_error
// true.
func (r *ExecuteRequest) UnmarshalJSON(raw []byte) error {
	var in struct {
		Code            string            `json:"code"`
		Silent          bool              `json:"silent"`
		StoreHistory    *bool             `json:"store_history"`
		UserExpressions map[string]string `json:"user_expressions"`
		AllowStdin      *bool             `json:"allow_stdin"`
		StopOnError     *bool             `json:"stop_on_error"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	or := func(p *bool, def bool) bool {
		if p == nil {
			return def
		}
		return *p
	}
	*r = ExecuteRequest{
		Code:            in.Code,
		Silent:          in.Silent,
		StoreHistory:    !in.Silent && or(in.StoreHistory, true),
		UserExpressions: in.UserExpressions,
		AllowStdin:      or(in.AllowStdin, true),
		StopOnError:     or(in.StopOnError, true),
	}
	return nil
}

// ExecuteReply is the content of a successful execute_reply.
type ExecuteReply struct {
	Status          string       `json:"status"`
	ExecutionCount  int          `json:"execution_count"`
	UserExpressions Object       `json:"user_expressions"`
	Payload         List[Object] `json:"payload"`
}

// ExecuteErrorReply is the content of a failed execute_reply.
type ExecuteErrorReply struct {
	Status         string `json:"status"` // StatusError
	ExecutionCount int    `json:"execution_count"`
	Failure
	UserExpressions Object       `json:"user_expressions"`
	Payload         List[Object] `json:"payload"`
}

// ExecuteResponse is the content of execute_reply of either kind, for reading.
type ExecuteResponse struct {
	ExecuteReply
	Failure
}

// InspectRequest is the content of inspect_request.
type InspectRequest struct {
	Code        string `json:"code"`
	CursorPos   int    `json:"cursor_pos"` // code points
	DetailLevel int    `json:"detail_level"`
}

// InspectReply is the content of inspect_reply.
type InspectReply struct {
	Status   string `json:"status"`
	Found    bool   `json:"found"`
	Data     Object `json:"data"`
	Metadata Object `json:"metadata"`
}

// CompleteRequest is the content of complete_request.
type CompleteRequest struct {
	Code      string `json:"code"`
	CursorPos int    `json:"cursor_pos"` // code points
}

// CompleteReply is the content of complete_reply. Cursors count code points.
type CompleteReply struct {
	Status      string       `json:"status"`
	Matches     List[string] `json:"matches"`
	CursorStart int          `json:"cursor_start"`
	CursorEnd   int          `json:"cursor_end"`
	// Metadata may carry "_jupyter_types_experimental": a list of TypedMatch.
	Metadata Object `json:"metadata"`
}

// TypedMatch describes one completion to clients that show its kind.
type TypedMatch struct {
	Start     int    `json:"start"`
	End       int    `json:"end"`
	Text      string `json:"text"`
	Type      string `json:"type"`
	Signature string `json:"signature,omitempty"`
}

// HistoryRequest is the content of history_request.
type HistoryRequest struct {
	Output         bool   `json:"output"`
	Raw            bool   `json:"raw"`
	HistAccessType string `json:"hist_access_type"` // range, tail, search
	Session        int    `json:"session"`          // range
	Start          int    `json:"start"`            // range
	Stop           int    `json:"stop"`             // range, exclusive
	N              int    `json:"n"`                // tail, search
	Pattern        string `json:"pattern"`          // search, a glob
	Unique         bool   `json:"unique"`           // search
}

// HistoryReply is the content of history_reply.
type HistoryReply struct {
	Status  string             `json:"status"`
	History List[HistoryEntry] `json:"history"`
}

// HistoryEntry is [session, line, input], or [session, line, [input, output]]
// when the request asked for outputs.
type HistoryEntry struct {
	Session    int
	Line       int
	Input      string
	Output     *string // null in JSON when the cell had no output
	WithOutput bool
}

// MarshalJSON implements json.Marshaler.
func (e HistoryEntry) MarshalJSON() ([]byte, error) {
	if e.WithOutput {
		return json.Marshal([]any{e.Session, e.Line, []any{e.Input, e.Output}})
	}
	return json.Marshal([]any{e.Session, e.Line, e.Input})
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *HistoryEntry) UnmarshalJSON(raw []byte) error {
	*e = HistoryEntry{}
	var source json.RawMessage
	if err := json.Unmarshal(raw, &[]any{&e.Session, &e.Line, &source}); err != nil {
		return err
	}
	if len(source) == 0 || source[0] != '[' {
		return json.Unmarshal(source, &e.Input)
	}
	e.WithOutput = true
	return json.Unmarshal(source, &[]any{&e.Input, &e.Output})
}

// IsCompleteRequest is the content of is_complete_request.
type IsCompleteRequest struct {
	Code string `json:"code"`
}

// IsCompleteReply is the content of is_complete_reply.
type IsCompleteReply struct {
	Status string `json:"status"` // complete, incomplete, invalid, unknown
	Indent string `json:"indent,omitempty"`
}

// KernelInfoReply is the content of kernel_info_reply.
type KernelInfoReply struct {
	Status                string       `json:"status"`
	ProtocolVersion       string       `json:"protocol_version"`
	Implementation        string       `json:"implementation"`
	ImplementationVersion string       `json:"implementation_version"`
	LanguageInfo          LanguageInfo `json:"language_info"`
	Banner                string       `json:"banner"`
	SupportedFeatures     List[string] `json:"supported_features"`
	Debugger              bool         `json:"debugger"` // what clients of protocol 5.4 look at
	HelpLinks             List[Link]   `json:"help_links"`
}

// LanguageInfo describes the kernel's language.
type LanguageInfo struct {
	Name           string `json:"name"`
	Version        string `json:"version"`
	MIMEType       string `json:"mimetype"`
	FileExtension  string `json:"file_extension"` // with the dot
	PygmentsLexer  string `json:"pygments_lexer,omitempty"`
	CodeMirrorMode any    `json:"codemirror_mode,omitempty"` // ours is a string: Zed fails on objects
	NBConvert      string `json:"nbconvert_exporter,omitempty"`
}

// Link is an entry of a front end's help menu.
type Link struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

// ShutdownRequest is the content of shutdown_request.
type ShutdownRequest struct {
	Restart bool `json:"restart"`
}

// ShutdownReply is the content of shutdown_reply.
type ShutdownReply struct {
	Status  string `json:"status"`
	Restart bool   `json:"restart"`
}

// CreateSubshellReply is the content of create_subshell_reply.
type CreateSubshellReply struct {
	Status     string `json:"status"`
	SubshellID string `json:"subshell_id"`
}

// DeleteSubshellRequest is the content of delete_subshell_request.
type DeleteSubshellRequest struct {
	SubshellID string `json:"subshell_id"`
}

// ListSubshellReply is the content of list_subshell_reply.
type ListSubshellReply struct {
	Status      string       `json:"status"`
	SubshellIDs List[string] `json:"subshell_id"`
}

// InputRequest is the content of input_request.
type InputRequest struct {
	Prompt   string `json:"prompt"`
	Password bool   `json:"password"`
}

// InputReply is the content of input_reply.
type InputReply struct {
	Status string `json:"status"`
	Value  string `json:"value"`
}

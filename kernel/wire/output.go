package wire

// Values of "execution_state" in status.
const (
	Starting = "starting"
	Busy     = "busy"
	Idle     = "idle"
)

// Status is the content of status.
type Status struct {
	ExecutionState string `json:"execution_state"`
}

// Welcome is the content of iopub_welcome.
type Welcome struct {
	Subscription string `json:"subscription"`
}

// Stream is the content of stream.
type Stream struct {
	Name string `json:"name"` // stdout or stderr
	Text string `json:"text"`
}

// ExecuteInput is the content of execute_input.
type ExecuteInput struct {
	Code           string `json:"code"`
	ExecutionCount int    `json:"execution_count"`
}

// ExecuteResult is the content of execute_result.
type ExecuteResult struct {
	ExecutionCount int    `json:"execution_count"`
	Data           Object `json:"data"`
	Metadata       Object `json:"metadata"`
	Transient      Object `json:"transient"`
}

// DisplayData is the content of display_data and update_display_data; the
// latter needs "display_id" in Transient.
type DisplayData struct {
	Data      Object `json:"data"`
	Metadata  Object `json:"metadata"`
	Transient Object `json:"transient"`
}

// ClearOutput is the content of clear_output.
type ClearOutput struct {
	Wait bool `json:"wait"`
}

// CommOpen is the content of comm_open.
type CommOpen struct {
	CommID       string `json:"comm_id"`
	TargetName   string `json:"target_name"`
	TargetModule string `json:"target_module,omitempty"`
	Data         Object `json:"data"`
}

// CommMessage is the content of comm_msg and comm_close.
type CommMessage struct {
	CommID string `json:"comm_id"`
	Data   Object `json:"data"`
}

// CommInfoRequest is the content of comm_info_request.
type CommInfoRequest struct {
	TargetName string `json:"target_name,omitempty"`
}

// CommInfoReply is the content of comm_info_reply.
type CommInfoReply struct {
	Status string        `json:"status"`
	Comms  Map[CommInfo] `json:"comms"`
}

// CommInfo describes one open comm.
type CommInfo struct {
	TargetName string `json:"target_name"`
}

// UsageReply is the content of usage_reply (ipykernel's resource usage), sizes
// in bytes.
type UsageReply struct {
	Hostname      string  `json:"hostname"`
	PID           int     `json:"pid"`
	KernelCPU     float64 `json:"kernel_cpu"`    // percent of one core
	KernelMemory  int64   `json:"kernel_memory"` // resident set
	CPUCount      int     `json:"cpu_count"`
	HostCPU       float64 `json:"host_cpu_percent"`
	HostVirtual   Memory  `json:"host_virtual_memory"`
	KernelStarted string  `json:"started,omitempty"`
}

// Memory is the host's memory in bytes.
type Memory struct {
	Total     int64   `json:"total"`
	Available int64   `json:"available"`
	Used      int64   `json:"used"`
	Free      int64   `json:"free"`
	Percent   float64 `json:"percent"`
}

package standin

// A host is a process tree in namespaces of its own for mounts and processes, with a root
// that is put together from this machine's /usr and from what the service's machines
// have: inputs that cannot be written to and whose files cannot be executed, a folder for
// output, drivers and libraries in the service's folders. As root it takes nothing else;
// another user gets the namespaces by way of a user namespace, where the system gives it.

// hostJob is a script to execute on a host.
type hostJob struct {
	Kind   string            // "kaggle" or "colab"
	Script string            // the path of the file
	Inputs map[string]string // names of datasets to folders
	Output string            // the folder that is /kaggle/working or /content
	GPUs   []string

	Root string // an empty folder, for the host's root
}

// Names under which this program is a part of a host: who looks after a job of Kaggle's,
// and the first process on the machine.
const (
	supervisorName = "standin-supervisor"
	hostName       = "standin-host"
)

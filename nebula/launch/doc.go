// Package launch starts the ranks of a job, or finds out how they were started.
//
// # Ranks as processes of our own
//
// [Start] starts ranks as fresh executions of the calling binary, never as forks
// of its state. In the rank, [Attach] finds the rank's place. Both work wherever
// the parent is: a notebook's session, a command, a test that runs itself.
//
// A rank leads a process group of its own and ignores SIGINT, so that an
// interrupt never lands in the middle of a collective. What it prints goes
// through a pipe that the parent always empties. A socket, descriptor 3 in the
// rank, carries frames both ways: first the assignment, at last the wish to stop,
// and between them whatever the users of the [Channel] say.
//
// A rank that is stopped and stays so is ended, since nobody else can tell it from one
// that is slow: [Spec.Stopped].
//
// Ranks end with their parent, however that ends:
//   - the kernel sends SIGKILL when the thread that started them ends, which
//     lives exactly as long as they do;
//   - a thread of the rank sees the end of the control channel and ends the
//     group, also while the rank computes in C;
//   - a [Folder] holds number and time of start of every rank, and the next
//     Start ends those whose parent has gone. Nothing is ended by name.
//
// # Ranks of a launcher
//
// Launchers are existing engines; each tells a process its place in the job
// through environment variables of its own. [Detect] holds the table of what
// each one sets and the order in which they are asked. More than one launcher in
// one environment is refused where their ranks disagree (mpirun inside srun,
// say); NEBULA_LAUNCHER or NEBULA_RANK and NEBULA_SIZE settle it. Where the ranks
// meet is [Job.Host]. The ranks of [Start] are one more row of the table.
//
// # Processors
//
// [Job.Threads] divides the processors of a host among its ranks, and [Job.Bind]
// keeps a rank to its part, if the ranks need more than half of them and no launcher
// has seen to that. Ranks that exchange something many times in a step would
// otherwise share a processor for seconds.
package launch

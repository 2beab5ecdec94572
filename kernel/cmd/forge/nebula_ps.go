package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"forgekernel/display"
	"forgekernel/nebula/launch"
	"forgekernel/nebula/proc"
)

// rankRow is what ps shows of one rank.
type rankRow struct {
	Job       string `json:"job"`
	Epoch     uint32 `json:"epoch"`
	Rank      int    `json:"rank"`
	PID       int    `json:"pid"`
	State     string `json:"state"` // running, stopped or ended
	Memory    int64  `json:"memory_bytes"`
	Processor int64  `json:"processor_ms"`
	Parent    int    `json:"parent_pid"`
	Log       string `json:"log"`
}

// psReport are the jobs of this user on this host.
type psReport struct {
	Ranks  []rankRow `json:"ranks"`
	Reaped []string  `json:"reaped"` // jobs that had lost their parent
}

func nebulaPSCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "Show the ranks of this user's jobs, and end those left behind",
		Long: `Ps shows the ranks that this user's processes started on this host. Ranks whose
parent has gone are ended first, and their records removed. Ranks that a launcher
started are the launcher's to show.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, err := launch.OpenFolder()
			if err != nil {
				return err
			}
			reaped, err := folder.Reap()
			warnOf(cmd.ErrOrStderr(), err)
			jobs, _ := folder.Jobs() // Reap has told what cannot be read
			r := newPSReport(jobs, reaped)
			if asJSON {
				return printJSON(cmd.OutOrStdout(), r)
			}
			return r.print(cmd.OutOrStdout())
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// warnOf prints an error that does not keep a command from its work.
func warnOf(w io.Writer, err error) {
	if err != nil {
		fmt.Fprintf(w, "forge: %v\n", err)
	}
}

func newPSReport(jobs, reaped []launch.Record) psReport {
	r := psReport{Ranks: []rankRow{}, Reaped: []string{}}
	for _, j := range reaped {
		r.Reaped = append(r.Reaped, j.Job)
	}
	for _, j := range jobs {
		for rank, id := range j.Ranks {
			r.Ranks = append(r.Ranks, newRankRow(j, rank, id))
		}
	}
	return r
}

// clockTick is the unit of processor time in /proc: USER_HZ is 100 on every Linux
// that Go runs on.
const clockTick = 10 * time.Millisecond

func newRankRow(j launch.Record, rank int, id proc.ID) rankRow {
	row := rankRow{Job: j.Job, Epoch: j.Epoch, Rank: rank, PID: id.PID, Parent: j.Parent.PID, State: "ended", Log: j.Log(rank)}
	stat, err := proc.Read(id.PID)
	if err != nil || stat.ID != id || stat.Dead() {
		return row
	}
	row.State = "running"
	if stat.State == 'T' || stat.State == 't' {
		row.State = "stopped"
	}
	row.Memory = stat.Pages * int64(os.Getpagesize())
	row.Processor = int64(stat.User+stat.System) * clockTick.Milliseconds()
	return row
}

func (r psReport) print(w io.Writer) error {
	for _, job := range r.Reaped {
		if _, err := fmt.Fprintf(w, "removed what was left of job %s\n", job); err != nil {
			return err
		}
	}
	if len(r.Ranks) == 0 {
		_, err := fmt.Fprintln(w, "no jobs are running")
		return err
	}
	t := display.Table{Columns: []display.Column{
		{Name: "job"}, {Name: "epoch"}, {Name: "rank"}, {Name: "process"}, {Name: "state"},
		{Name: "memory", Align: display.AlignRight}, {Name: "processor time", Align: display.AlignRight}, {Name: "parent"}, {Name: "log"},
	}}
	for _, k := range r.Ranks {
		used := time.Duration(k.Processor) * time.Millisecond
		t.Rows = append(t.Rows, []any{k.Job, k.Epoch, k.Rank, k.PID, k.State, display.FormatBytes(k.Memory), used.String(), k.Parent, k.Log})
	}
	return printText(w, t.Text())
}

func nebulaKillCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kill JOB",
		Short: "End the ranks of a job",
		Long: `Kill ends the ranks of one of this user's jobs on this host, first by SIGTERM and
after two seconds by SIGKILL. Only processes on record are ended, and only while
they are still the ones that were recorded. The process that started them, if it
lives, sees its ranks fail.`,
		Args: oneArgument("JOB"),
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			folder, err := launch.OpenFolder()
			if err != nil {
				return err
			}
			n, err := folder.Kill(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "ended %s of job %s\n", display.Count(n, "rank"), args[0])
			return err
		}),
	}
}

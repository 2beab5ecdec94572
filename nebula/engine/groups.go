package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/collective"
	"forgekernel/nebula/shard"
)

// groups are those that a rank is in, each used by one goroutine; nil where the rank
// would be alone.
type groups struct {
	tp collective.Group // the ranks of a stage, for programs
	pp collective.Group // the ranks with one TP rank, for programs; their ranks are stages
	// agree is all ranks, before each step.
	agree collective.Group
	// logits is the first rank of the last stage, and rank 0, which receives.
	logits collective.Group

	vote *tensor.Tensor // what agree exchanges
	done *tensor.Tensor // what stands for the logits of a pass that has none
}

// openGroups makes the groups of a rank; all ranks do so at once. Programs on GPUs
// exchange tensors between the devices.
func openGroups(ctx context.Context, world collective.Group, place shard.Place, on backend.Backend) (*groups, error) {
	n := place.Ranks()
	vote, err := tensor.From([]int{2}, []int32{0, 0})
	if err != nil {
		return nil, err
	}
	g := &groups{vote: vote, done: tensor.Scalar(tensor.I32, 0)}
	if n == 1 {
		return g, nil
	}
	if world == nil || world.Size() != n || world.Rank() != place.Rank {
		return nil, fmt.Errorf("rank %d of %v has no group of its %d ranks", place.Rank, place.Layout, n)
	}
	var stage, column, all []int
	for _, other := range place.Places() {
		all = append(all, other.Rank)
		if other.Stage() == place.Stage() {
			stage = append(stage, other.Rank)
		}
		if other.TPRank() == place.TPRank() {
			column = append(column, other.Rank)
		}
	}
	for _, part := range []struct {
		into  *collective.Group
		name  string
		ranks []int
	}{
		{&g.tp, fmt.Sprintf("tp%d", place.Stage()), stage},
		{&g.pp, fmt.Sprintf("pp%d", place.TPRank()), column},
		{&g.agree, "agree", all},
		{&g.logits, "logits", []int{0, lastStage(place.Layout)}},
	} {
		alone := part.ranks[0] == part.ranks[len(part.ranks)-1]
		if alone || !slices.Contains(part.ranks, place.Rank) {
			continue
		}
		sub, err := world.Sub(part.name, part.ranks)
		if err != nil {
			return g, err
		}
		*part.into = sub
	}
	if gpu, ok := on.(*cuda.Backend); ok {
		return g, g.onDevices(ctx, gpu)
	}
	return g, nil
}

// onDevices joins the GPUs of the groups that programs use. The sums of a stage are small
// when it decodes.
func (g *groups) onDevices(ctx context.Context, gpu *cuda.Backend) error {
	for _, group := range []*collective.Group{&g.tp, &g.pp} {
		if *group == nil {
			continue
		}
		joined, err := collective.OverDevices(ctx, *group, gpu.Context)
		if err != nil {
			return err
		}
		*group = joined
	}
	if g.tp == nil {
		return nil
	}
	return collective.ByMailbox(ctx, g.tp, gpu)
}

// lastStage is the first rank of the last stage.
func lastStage(l shard.Layout) int { return l.TP * (l.PP - 1) }

// each calls f with all groups that there are.
func (g *groups) each(f func(collective.Group)) {
	for _, group := range []collective.Group{g.tp, g.pp, g.agree, g.logits} {
		if group != nil {
			f(group)
		}
	}
}

func (g *groups) abort(cause error) { g.each(func(c collective.Group) { c.Abort(cause) }) }

// close gives the groups up. No program has work of them in a device any more.
func (g *groups) close() error {
	var err error
	g.each(func(c collective.Group) { err = errors.Join(err, c.Close()) })
	return err
}

var errDisagree = errors.New("ranks have been sent different steps")

// consent returns when all ranks have checked the step with this hash.
func (g *groups) consent(ctx context.Context, hash uint32) error {
	if g.agree == nil {
		return nil
	}
	v := g.vote.Int32()
	v[0], v[1] = int32(hash), ^int32(hash)
	if err := g.agree.AllReduce(ctx, backend.Max, g.vote); err != nil {
		return err
	}
	if v[0] != int32(hash) || v[1] != ^int32(hash) {
		return errDisagree
	}
	return nil
}

// waits is the rank that this one waits for, or -1: in a step that it executes, or else
// in what it does beside that. Whom devices wait for is not known.
func (g *groups) waits(executes bool) int {
	list := []collective.Group{g.agree}
	if executes {
		list = []collective.Group{g.tp, g.pp}
	}
	if g.logits != nil && executes == (g.logits.Rank() > 0) { // rank 0 receives them aside
		list = append(list, g.logits)
	}
	for _, group := range list {
		if group == nil {
			continue
		}
		if rank := group.Stats().Waits; rank >= 0 {
			return rank
		}
	}
	return -1
}

// last is the latest call of a program in a group: "all_reduce 812 of world/tp0".
func (g *groups) last() string {
	var latest collective.Stats
	for _, group := range []collective.Group{g.tp, g.pp} {
		if group == nil {
			continue
		}
		if s := group.Stats(); s.Last.Seq > 0 && s.Last.Begun.After(latest.Last.Begun) {
			latest = s
		}
	}
	if latest.Last.Seq == 0 {
		return ""
	}
	return fmt.Sprintf("%v %d of %s", latest.Last.Op, latest.Last.Seq, latest.Group)
}

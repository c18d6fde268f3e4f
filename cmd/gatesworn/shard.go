package main

import (
	"errors"
	"fmt"

	"github.com/gatesworn/gatesworn/gates"
)

// shardFlag is a part of a run, given at most once.
type shardFlag struct {
	gates.Shard
	set bool
}

func (f *shardFlag) String() string { return "" }
func (f *shardFlag) Type() string   { return "I/N" }

func (f *shardFlag) Set(s string) (err error) {
	if f.set {
		return errDuplicate
	}
	f.Shard, err = gates.ParseShard(s)
	f.set = err == nil
	return err
}

// share restricts the run to the gates of its shard. Without a deal the gates are
// divided by their number, which every shard does alike.
func (s *session) share() error {
	f := s.flags.shard
	if !f.set {
		return nil
	}
	s.job.Base.Part = &gates.Part{I: f.I, N: f.N}
	if s.broken {
		return nil
	}
	if len(s.job.Only) > 0 {
		return usage("--shard and names of gates exclude each other")
	}
	share, err := f.Share(s.job.Sources)
	if errors.Is(err, gates.ErrDeal) {
		return withHint(fmt.Errorf("%w; plan again", err), fmt.Sprintf("gatesworn plan matrix --shards %d", f.N))
	}
	if err != nil {
		return withHint(err, "gatesworn plan matrix --shards N")
	}
	s.job.Share = share
	return nil
}

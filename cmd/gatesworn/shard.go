package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gatesworn/gatesworn/gates"
)

// shardFlag is a part of a run: I/N, or I/N:DEAL as plan matrix prints it.
type shardFlag struct {
	i, n int
	deal string
	set  bool
}

func (f *shardFlag) String() string { return "" }
func (f *shardFlag) Type() string   { return "I/N" }

func (f *shardFlag) Set(s string) error {
	if f.set {
		return errDuplicate
	}
	part, deal, _ := strings.Cut(s, ":")
	is, ns, ok := strings.Cut(part, "/")
	i, n := shardNumber(is), shardNumber(ns)
	if !ok || i < 1 || n < 1 || i > n || strings.HasSuffix(s, ":") {
		return fmt.Errorf("needs I/N with 1 ≤ I ≤ N ≤ %d, as plan matrix prints it, not %q", gates.MaxShards, s)
	}
	f.i, f.n, f.deal, f.set = i, n, deal, true
	return nil
}

// shardNumber reads plain digits; 0 for everything else.
func shardNumber(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || s[0] < '1' || s[0] > '9' || n > gates.MaxShards {
		return 0
	}
	return n
}

// share restricts the run to the gates of its shard. Without a deal the gates are
// divided by their number, which every shard does alike.
func (s *session) share() error {
	f := s.flags.shard
	if !f.set {
		return nil
	}
	s.job.Base.Part = &gates.Part{I: f.i, N: f.n}
	if s.broken {
		return nil
	}
	if len(s.job.Only) > 0 {
		return usage("--shard and names of gates exclude each other")
	}
	var d gates.Division
	var err error
	if f.deal != "" {
		d, err = gates.Redeal(s.job.Sources, f.n, f.deal)
	} else if d, err = gates.Divide(s.job.Sources, f.n, nil); err == nil && len(d.Parts) != f.n {
		err = fmt.Errorf("these gates make %s, not %d", count(len(d.Parts), "shard"), f.n)
	}
	if errors.Is(err, gates.ErrDeal) {
		return withHint(fmt.Errorf("%w; plan again", err), fmt.Sprintf("gatesworn plan matrix --shards %d", f.n))
	}
	if err != nil {
		return withHint(err, "gatesworn plan matrix --shards N")
	}
	s.job.Share = func(ledger, id string) bool { return d.Has(f.i, ledger, id) }
	return nil
}

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/action/judge"
	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/evidence"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/receipt"
	"github.com/gatesworn/gatesworn/gates/schedule"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// earlier prepares what this machine knows from earlier runs, durations and, if
// asked for, receipts. The func it returns takes in what this run showed. Nothing
// of it decides whether a command may run, and what goes wrong only costs time.
func (s *session) earlier(ctx context.Context) (after func(gates.Report)) {
	s.job.Expected = s.expected()
	var book *receipt.Book
	if s.flags.receipts.on {
		var err error
		if book, err = s.receipts(ctx); err != nil {
			s.app.warn("no results are reused: %v", err)
		} else {
			s.job.Reuse = book
		}
	}
	return func(report gates.Report) {
		if book != nil && ctx.Err() == nil {
			if _, err := book.Close(ctx); err != nil {
				s.app.warn("not every result can be reused next time: %v", err)
			}
		}
		s.recordDurations(ctx, report)
	}
}

// receipts reads the tree as it is before the first check.
func (s *session) receipts(ctx context.Context) (*receipt.Book, error) {
	state, err := s.app.stateFolder()
	if err != nil {
		return nil, err
	}
	policy, err := s.policyText()
	if err != nil {
		return nil, err
	}
	ledgers := map[string]*ledger.Document{}
	for _, src := range s.job.Sources {
		ledgers[src.Path] = src.Doc
	}
	return receipt.Open(ctx, filepath.Join(state, "receipts"),
		receipt.Tree{Top: s.work.Top, Git: s.work.Git, Skip: []string{judge.OutFolder + "/"}, Ledgers: ledgers},
		receipt.Setting{
			Shell: s.job.Shell, Path: s.job.Path, Env: s.lastingEnv, Timeout: s.job.Timeout,
			Platform: runtime.GOOS + "/" + runtime.GOARCH, Version: version(), Policy: policy, Machine: machine(),
		}, s.app.now)
}

// policyText is the work tree's policy and, on a pinned machine, the digest of
// the one that the signers' root holds.
func (s *session) policyText() (string, error) {
	text := ""
	if s.work.HasPolicy {
		f, err := safefile.ReadBeneath(s.work.Top, approval.PolicyPath, approval.MaxPolicy)
		if err != nil {
			return "", fmt.Errorf("cannot read the policy: %w", err)
		}
		text = string(f.Data)
	}
	if s.peer != nil {
		text += "\x00" + s.peer.Root.PolicySHA256
	}
	return text, nil
}

// lastingEnv is a check's environment without the folders that every run makes anew.
func (s *session) lastingEnv(g ledger.Gate) []string {
	env := s.job.Env(g)
	if s.environment() != "clean" {
		return env
	}
	fresh := ""
	for _, v := range env {
		if home, ok := strings.CutPrefix(v, "HOME="); ok {
			fresh = filepath.Dir(home)
		}
	}
	if !strings.Contains(filepath.Base(fresh), "gatesworn-") {
		return env
	}
	lasting := make([]string, len(env))
	for i, v := range env {
		lasting[i] = strings.ReplaceAll(v, fresh, "FRESH")
	}
	return lasting
}

// machine names this machine and user: a home folder may be shared by several.
func machine() string {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	id, err := os.ReadFile("/etc/machine-id") // systemd's machine-id(5); elsewhere the name has to do
	if err != nil {
		id = nil
	}
	return strings.Join([]string{host, strings.TrimSpace(string(id)), strconv.Itoa(os.Getuid())}, "\x00")
}

const durationsFile = "durations.json"

// durationKey names a check, wherever its repository lies: a cache may carry
// durations from one machine to the next.
func durationKey(ledger, id, definition string) string {
	sum := sha256.Sum256([]byte(ledger + "\x00" + id + "\x00" + definition))
	return hex.EncodeToString(sum[:16])
}

// durations reads what was recorded; whatever is wrong with it leaves none.
func (a *app) durations() schedule.Durations {
	state, err := a.stateFolder()
	if err != nil {
		return schedule.Durations{}
	}
	f, err := safefile.Read(filepath.Join(state, durationsFile), schedule.MaxDurationsSize)
	if err != nil {
		return schedule.Durations{}
	}
	d, err := schedule.ParseDurations(f.Data)
	if err != nil {
		return schedule.Durations{}
	}
	return d
}

// expected answers with the last recorded durations, which are read when asked for.
func (s *session) expected() func(gates.GateRef) time.Duration {
	var d *schedule.Durations
	return func(g gates.GateRef) time.Duration {
		if d == nil {
			read := s.app.durations()
			d = &read
		}
		return d.Expected(durationKey(g.Ledger, g.Gate.ID, evidence.DefinitionDigest(g.Gate)))
	}
}

// recordDurations adds what ended by itself to what is recorded by now.
func (s *session) recordDurations(ctx context.Context, report gates.Report) {
	var ran []gates.Gate
	var keys []string
	for _, l := range report.Ledgers {
		for _, g := range l.Gates {
			if g.Run != nil && g.Run.Exit != nil && g.Run.Reused == nil {
				ran, keys = append(ran, g), append(keys, durationKey(l.Path, g.ID, g.DefinitionSHA256))
			}
		}
	}
	state, err := s.app.stateFolder()
	if err != nil || len(ran) == 0 || safefile.PrivateDir(state) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	lock, err := safefile.Acquire(ctx, filepath.Join(state, durationsFile+".lock"))
	if err != nil {
		return
	}
	defer func() { _ = lock.Release() }()
	d := s.app.durations()
	for i, g := range ran {
		d.Record(keys[i], time.Duration(g.Run.DurationMS)*time.Millisecond)
	}
	_ = safefile.Replace(filepath.Join(state, durationsFile), d.Bytes(), 0o600) // costs an order, nothing else
}

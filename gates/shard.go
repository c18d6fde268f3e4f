package gates

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/gates/schedule"
)

// MaxShards is the largest number of parts of a sharded run: one digit of a deal.
const MaxShards = 64

// Division says which part of a sharded run judges which gate. Gates that need
// each other, or whose READS and WRITES conflict, are in one part.
type Division struct {
	Parts []Share
	// Deal is the division in short, for Redeal: the start of a digest of the
	// gates, and for every group of them the digit of its part.
	Deal string

	part map[string]int
}

// Share is one part's size.
type Share struct {
	Gates    int
	Expected time.Duration // of all its checks, one after another
}

// ErrDeal is returned for a deal that was made for other gates or by hand.
var ErrDeal = errors.New("the shard was planned for other gates")

const (
	digits   = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"
	dealMark = 12 // hexadecimal digits of the gates' digest
)

// Divide deals the gates out to n parts, or to fewer where there are fewer groups
// of gates, so that their expected durations are about equal. expected may be nil
// and answer 0; the division depends on nothing else.
func Divide(sources []Source, n int, expected func(GateRef) time.Duration) (Division, error) {
	if n < 1 || n > MaxShards {
		return Division{}, fmt.Errorf("a run has 1 to %d shards, not %d", MaxShards, n)
	}
	d, weights := groups(sources, expected)
	if len(weights) == 0 {
		return Division{}, errors.New("there is no gate to divide")
	}
	parts := schedule.Balance(weights, min(n, len(weights)))
	return d.deal(parts, weights, min(n, len(weights))), nil
}

// Redeal is the division that a deal stands for. The error wraps ErrDeal unless
// it was made from exactly these gates.
func Redeal(sources []Source, n int, deal string) (Division, error) {
	d, weights := groups(sources, nil)
	if n < 1 || n > MaxShards || len(deal) != dealMark+len(weights) || deal[:dealMark] != d.mark {
		return Division{}, ErrDeal
	}
	parts := make([]int, len(weights))
	for i := range parts {
		if parts[i] = strings.IndexByte(digits, deal[dealMark+i]); parts[i] < 0 || parts[i] >= n {
			return Division{}, ErrDeal
		}
	}
	out := d.deal(parts, weights, n)
	for _, p := range out.Parts {
		if p.Gates == 0 {
			return Division{}, ErrDeal
		}
	}
	return out, nil
}

// Has reports whether the part, from 1, judges a gate.
func (d Division) Has(part int, ledger, id string) bool {
	p, ok := d.part[ledger+"\x00"+id]
	return ok && p == part-1
}

// grouped are gates and the group of each.
type grouped struct {
	mark  string
	names []string // ledger and id
	group []int
}

// groups lists all gates in order, the group of each and the groups' durations. A
// check whose duration is not known counts as the average of those that are.
func groups(sources []Source, expected func(GateRef) time.Duration) (grouped, []time.Duration) {
	var g grouped
	var tasks []schedule.Task
	var known, total time.Duration
	h := sha256.New()
	for i := range sources {
		src := &sources[i]
		index := map[string]int{}
		for j, gate := range src.Doc.Gates {
			index[gate.ID] = len(tasks) + j
		}
		for _, gate := range src.Doc.Gates {
			t := schedule.Task{Reads: gate.Reads, Writes: gate.Writes}
			for _, id := range gate.Needs {
				if n, ok := index[id]; ok {
					t.Needs = append(t.Needs, n)
				}
			}
			switch {
			case !gate.Runnable() || gate.AbandonedLine > 0:
				t.Expected = -1 // nothing will run
			case expected != nil:
				if t.Expected = max(0, expected(GateRef{Ledger: src.Path, Abs: src.Abs, Gate: gate})); t.Expected > 0 {
					known, total = known+1, total+t.Expected
				}
			}
			g.names = append(g.names, src.Path+"\x00"+gate.ID)
			tasks = append(tasks, t)
		}
	}
	standard := time.Second
	if known > 0 {
		standard = total / known
	}
	g.group = schedule.Groups(tasks)
	var weights []time.Duration
	for i, n := range g.group {
		if n == len(weights) {
			weights = append(weights, 0)
		}
		fmt.Fprintf(h, "%s\x00%d\x00", g.names[i], n)
		switch e := tasks[i].Expected; {
		case e > 0:
			weights[n] += e
		case e == 0:
			weights[n] += standard
		}
	}
	g.mark = hex.EncodeToString(h.Sum(nil))[:dealMark]
	return g, weights
}

func (g grouped) deal(parts []int, weights []time.Duration, n int) Division {
	d := Division{Parts: make([]Share, n), part: make(map[string]int, len(g.names))}
	deal := []byte(g.mark)
	for i, p := range parts {
		d.Parts[p].Expected += weights[i]
		deal = append(deal, digits[p])
	}
	for i, name := range g.names {
		p := parts[g.group[i]]
		d.part[name] = p
		d.Parts[p].Gates++
	}
	d.Deal = string(deal)
	return d
}

// Shard is one part of a sharded run as it is written: I/N, or I/N:DEAL as a plan
// hands it out.
type Shard struct {
	I, N int    // 1 ≤ I ≤ N ≤ MaxShards
	Deal string // "": the gates are divided by their number
}

// ParseShard reads a shard. There is one spelling of each.
func ParseShard(s string) (Shard, error) {
	part, deal, dealt := strings.Cut(s, ":")
	is, ns, ok := strings.Cut(part, "/")
	out := Shard{I: plainNumber(is), N: plainNumber(ns), Deal: deal}
	if !ok || out.I < 1 || out.I > out.N || dealt && deal == "" || strings.Trim(deal, digits) != "" {
		return Shard{}, fmt.Errorf("needs I/N with 1 ≤ I ≤ N ≤ %d, as plan matrix prints it, not %q", MaxShards, s)
	}
	return out, nil
}

// plainNumber reads a number from 1 to MaxShards without leading zeros, else 0.
func plainNumber(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || s[0] == '0' || i > 1 {
			return 0
		}
		n = n*10 + int(s[i]-'0')
	}
	if n > MaxShards {
		return 0
	}
	return n
}

// Share returns which gates are the shard's, for Job.Share. The error wraps
// ErrDeal if the shard was planned for other gates.
func (s Shard) Share(sources []Source) (func(ledger, id string) bool, error) {
	var d Division
	var err error
	if s.Deal != "" {
		d, err = Redeal(sources, s.N, s.Deal)
	} else if d, err = Divide(sources, s.N, nil); err == nil && len(d.Parts) != s.N {
		err = fmt.Errorf("these gates make at most %d shards, not %d", len(d.Parts), s.N)
	}
	if err != nil {
		return nil, err
	}
	return func(ledger, id string) bool { return d.Has(s.I, ledger, id) }, nil
}

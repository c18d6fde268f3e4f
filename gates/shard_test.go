package gates_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/expect"
	"github.com/gatesworn/gatesworn/gates/ledger"
)

// texts are two ledgers of random gates: some fail, some are manual, ticked,
// abandoned, need others or conflict.
func texts(t *rapid.T) []string {
	out := make([]string, 2)
	for l := range out {
		var b strings.Builder
		abandoned := ""
		for i := range rapid.IntRange(1, 7).Draw(t, "gates") {
			pick := func(what string, options ...string) string { return rapid.SampledFrom(options).Draw(t, what) }
			fmt.Fprintf(&b, "- %s G%d: outcome\n", pick("box", "[ ]", "[x]"), i)
			if pick("kind", "check", "check", "check", "manual") == "manual" {
				b.WriteString(pick("evidence", "", "  EVIDENCE: seen\n"))
			} else {
				fmt.Fprintf(&b, "  CHECK: %s\n  EXPECT: fine\n", pick("command", "good", "good", "bad", "refused"))
				b.WriteString(pick("reads", "", "", "  READS: a/b\n"))
				b.WriteString(pick("writes", "", "", "  WRITES: a\n", "  WRITES: @db\n"))
			}
			if i > 0 && rapid.Bool().Draw(t, "needs") {
				fmt.Fprintf(&b, "  NEEDS: G%d\n", rapid.IntRange(0, i-1).Draw(t, "need"))
			}
			if pick("given up", "no", "no", "no", "yes") == "yes" {
				abandoned += fmt.Sprintf("ABANDON: G%d too hard\n", i)
			}
		}
		out[l] = b.String() + "\n" + abandoned
	}
	return out
}

func shardJob(engine *expect.Engine, texts []string) gates.Job {
	j := gates.Job{
		Mode: gates.AsPR, Jobs: 3, Timeout: time.Second, Shell: "/bin/sh", Path: "/bin", Engine: engine, Now: time.Now,
		Env: func(ledger.Gate) []string { return nil },
		Base: gates.Report{
			Tool:        gates.Tool{Name: "gatesworn", Version: "1"},
			Trust:       gates.Trust{Mode: gates.TrustAllowlist, Governed: true},
			Protections: gates.Protections{Applied: []string{"a"}, Missing: []string{}},
			Execution:   gates.Execution{Containment: "slots", Jobs: 3, Env: "clean"},
		},
	}
	for i, text := range texts {
		path := fmt.Sprintf("gates/%d.md", i)
		j.Sources = append(j.Sources, gates.Source{
			Path: path, Abs: "/r/" + path, SHA256: path, Doc: ledger.Parse(path, []byte(text)),
			Dir: func(ledger.Gate) (string, string, error) { return "/r", ".", nil },
		})
	}
	return j
}

// byCommand allows what is not called refused.
type byCommand struct{}

func (byCommand) Permit(_ context.Context, g gates.GateRef) (gates.Permission, error) {
	if g.Gate.Check == "refused" {
		return gates.Permission{Reason: "not signed"}, nil
	}
	return gates.Permission{Allowed: true, Oracle: "sha256:0"}, nil
}

func runShard(t interface {
	Fatal(...any)
	Context() context.Context
}, j gates.Job,
) gates.Report {
	exec := &script{results: map[string]gates.Result{"bad": {End: gates.Exited, Code: 1}}}
	r, err := gates.Check(t.Context(), j, byCommand{}, exec, &log{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// timeless takes out what two runs of the same never share.
func timeless(r gates.Report) gates.Report {
	r.StartedAt, r.DurationMS = time.Time{}, 0
	for i := range r.Ledgers {
		for j := range r.Ledgers[i].Gates {
			if run := r.Ledgers[i].Gates[j].Run; run != nil {
				run.DurationMS, run.StartedMS = 0, 0
			}
		}
	}
	return r
}

func shards(t interface {
	Fatal(...any)
	Context() context.Context
}, engine *expect.Engine, texts []string, n int, expected func(gates.GateRef) time.Duration,
) []gates.Report {
	planned, err := gates.Divide(shardJob(engine, texts).Sources, n, expected)
	if err != nil {
		t.Fatal(err)
	}
	var parts []gates.Report
	for i := range planned.Parts {
		j := shardJob(engine, texts)
		d, err := gates.Redeal(j.Sources, len(planned.Parts), planned.Deal)
		if err != nil {
			t.Fatal(err)
		}
		j.Share = func(path, id string) bool { return d.Has(i+1, path, id) }
		j.Base.Part = &gates.Part{I: i + 1, N: len(planned.Parts)}
		parts = append(parts, runShard(t, j))
	}
	return parts
}

// TestMergedShardsEqualTheSingleRun is the sentence of issue 6.
func TestMergedShardsEqualTheSingleRun(t *testing.T) {
	t.Parallel()
	engine := expect.New()
	t.Cleanup(engine.Close)
	rapid.Check(t, func(t *rapid.T) {
		in := texts(t)
		for i, s := range shardJob(engine, in).Sources {
			if !s.Doc.OK() {
				t.Fatalf("%s\n%+v", in[i], s.Doc.Findings)
			}
		}
		seed := rapid.IntRange(0, 50).Draw(t, "seed")
		parts := shards(t, engine, in, rapid.IntRange(1, 5).Draw(t, "n"), func(g gates.GateRef) time.Duration {
			return time.Duration(len(g.Ledger+g.Gate.ID)*seed+seed) * time.Millisecond
		})
		single := runShard(t, shardJob(engine, in))
		merged, err := gates.Merge(rapid.Permutation(parts).Draw(t, "order"))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(timeless(single), timeless(merged)); d != "" {
			t.Fatal(d)
		}
		if gates.ExitCode(single) != gates.ExitCode(merged) {
			t.Fatalf("exit %d and %d", gates.ExitCode(single), gates.ExitCode(merged))
		}
	})
}

const eight = `- [ ] G1: a
  CHECK: good
  EXPECT: fine
- [ ] G2: b
  CHECK: good
  EXPECT: fine
- [ ] G3: c
  CHECK: good
  EXPECT: fine
  NEEDS: G1
- [ ] G4: d
  CHECK: good
  EXPECT: fine
`

// TestPartsThatDoNotFit: whatever is not one whole run is an error, never a report.
func TestPartsThatDoNotFit(t *testing.T) {
	t.Parallel()
	engine := expect.New()
	t.Cleanup(engine.Close)
	three := func() []gates.Report { return shards(t, engine, []string{eight}, 3, nil) }
	if r, err := gates.Merge(three()); err != nil || r.Verdict != gates.VerdictAllMet || r.Conclusion != gates.Success || r.Part != nil {
		t.Fatalf("%v: %s, %s", err, r.Verdict, r.Conclusion)
	}
	gate := func(p *gates.Report, i int) *gates.Gate { return &p.Ledgers[0].Gates[i] }
	for name, bend := range map[string]func(p []gates.Report) []gates.Report{
		"none":               func(p []gates.Report) []gates.Report { return nil },
		"one is missing":     func(p []gates.Report) []gates.Report { return p[:2] },
		"one twice":          func(p []gates.Report) []gates.Report { p[1] = p[0]; return p },
		"one more":           func(p []gates.Report) []gates.Report { return append(p, p[0]) },
		"a whole run":        func(p []gates.Report) []gates.Report { p[1].Part = nil; return p },
		"part 0":             func(p []gates.Report) []gates.Report { p[1].Part.I = 0; return p },
		"part 4 of 3":        func(p []gates.Report) []gates.Report { p[1].Part.I = 4; return p },
		"of four":            func(p []gates.Report) []gates.Report { p[1].Part.N = 4; return p },
		"another schema":     func(p []gates.Report) []gates.Report { p[1].Schema = "x"; return p },
		"another tool":       func(p []gates.Report) []gates.Report { p[1].Tool.Version = "2"; return p },
		"another commit":     func(p []gates.Report) []gates.Report { p[1].Subject.JudgedCommit = "f"; return p },
		"another root":       func(p []gates.Report) []gates.Report { p[1].Trust.Commit = "f"; return p },
		"other signers":      func(p []gates.Report) []gates.Report { p[1].Trust.Signers = []string{"eve"}; return p },
		"another policy":     func(p []gates.Report) []gates.Report { p[1].Trust.PolicySHA256 = "f"; return p },
		"another mode":       func(p []gates.Report) []gates.Report { p[1].Trust.Mode = gates.TrustLocal; return p },
		"another level":      func(p []gates.Report) []gates.Report { p[1].Level = "advisory"; return p },
		"a ledger less":      func(p []gates.Report) []gates.Report { p[1].Ledgers = nil; return p },
		"another ledger":     func(p []gates.Report) []gates.Report { p[1].Ledgers[0].Path = "b.md"; return p },
		"another content":    func(p []gates.Report) []gates.Report { p[1].Ledgers[0].SHA256 = "f"; return p },
		"a gate less":        func(p []gates.Report) []gates.Report { p[1].Ledgers[0].Gates = p[1].Ledgers[0].Gates[1:]; return p },
		"another gate":       func(p []gates.Report) []gates.Report { gate(&p[1], 0).ID = "G9"; return p },
		"another definition": func(p []gates.Report) []gates.Report { gate(&p[1], 0).DefinitionSHA256 = "f"; return p },
		"removed for one":    func(p []gates.Report) []gates.Report { gate(&p[1], 0).State = gates.Removed; return p },
		"judged by two": func(p []gates.Report) []gates.Report {
			for i := range p {
				gate(&p[i], 1).NotAsked = false
			}
			return p
		},
		"judged by none": func(p []gates.Report) []gates.Report {
			for i := range p {
				gate(&p[i], 1).NotAsked = true
			}
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := gates.Merge(bend(three()))
			if !errors.Is(err, gates.ErrParts) {
				t.Errorf("%v", err)
			}
			if gates.ExitCode(r) != 2 || r.Conclusion == gates.Success {
				t.Errorf("beside the error: exit %d, %q", gates.ExitCode(r), r.Conclusion)
			}
		})
	}
}

// TestPartsOnlySpoil: what a part claims about itself never improves the result.
func TestPartsOnlySpoil(t *testing.T) {
	t.Parallel()
	engine := expect.New()
	t.Cleanup(engine.Close)
	for name, tc := range map[string]struct {
		text    string
		bend    func(p *gates.Report)
		verdict gates.Verdict
		end     gates.Conclusion
	}{
		"claims an error": {eight, func(p *gates.Report) { p.Verdict = gates.VerdictError }, gates.VerdictError, gates.Failure},
		"claims nothing":  {eight, func(p *gates.Report) { p.Verdict, p.Conclusion = "", "" }, gates.VerdictError, gates.Failure},
		"claims unmet":    {eight, func(p *gates.Report) { p.Verdict = gates.VerdictUnmet }, gates.VerdictUnmet, gates.ActionRequired},
		"claims failure":  {eight, func(p *gates.Report) { p.Conclusion = gates.Failure }, gates.VerdictAllMet, gates.Failure},
		"claims success": {strings.Replace(eight, "good", "bad", 1), func(p *gates.Report) {
			p.Verdict, p.Conclusion, p.Counts = gates.VerdictAllMet, gates.Success, gates.Counts{Gates: 4, Met: 4}
		}, gates.VerdictUnmet, gates.Failure},
		"has a wave open":     {eight, func(p *gates.Report) { p.Pending = []string{"wave 1"} }, gates.VerdictUnmet, gates.ActionRequired},
		"lacks a protection":  {eight, func(p *gates.Report) { p.Protections = gates.Protections{Missing: []string{"a"}} }, gates.VerdictAllMet, gates.Success},
		"is contained weaker": {eight, func(p *gates.Report) { p.Execution.Containment = "group" }, gates.VerdictAllMet, gates.Success},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range 3 {
				parts := shards(t, engine, []string{tc.text}, 3, nil)
				tc.bend(&parts[i])
				r, err := gates.Merge(parts)
				if err != nil || r.Verdict != tc.verdict || r.Conclusion != tc.end {
					t.Errorf("part %d: %s, %s, %v", i+1, r.Verdict, r.Conclusion, err)
				}
				if name == "lacks a protection" && (len(r.Protections.Applied) != 0 || len(r.Protections.Missing) != 1) {
					t.Errorf("%+v", r.Protections)
				}
				if name == "is contained weaker" && r.Execution.Containment != "group" {
					t.Errorf("%+v", r.Execution)
				}
			}
		})
	}
}

func TestDivision(t *testing.T) {
	t.Parallel()
	src := shardJob(nil, []string{eight}).Sources
	d, err := gates.Divide(src, 8, nil)
	if err != nil || len(d.Parts) != 3 { // G1 and G3 belong together
		t.Fatalf("%+v, %v", d, err)
	}
	again, err := gates.Divide(src, 8, nil)
	if err != nil || again.Deal != d.Deal {
		t.Errorf("%q and %q, %v", d.Deal, again.Deal, err)
	}
	slow := func(g gates.GateRef) time.Duration {
		return map[string]time.Duration{"G4": time.Minute}[g.Gate.ID]
	}
	if d, err = gates.Divide(src, 2, slow); err != nil {
		t.Fatal(err)
	}
	var alone []int
	for _, p := range d.Parts {
		alone = append(alone, p.Gates)
	}
	slices.Sort(alone)
	if got := fmt.Sprint(alone); got != "[2 2]" && got != "[1 3]" {
		t.Error(got)
	}
	for _, n := range []int{0, -1, gates.MaxShards + 1} {
		if _, err := gates.Divide(src, n, nil); err == nil {
			t.Errorf("%d shards", n)
		}
	}
	if _, err := gates.Divide(nil, 2, nil); err == nil {
		t.Error("no gate was divided")
	}
}

func TestDealIsForItsGatesOnly(t *testing.T) {
	t.Parallel()
	src := shardJob(nil, []string{eight}).Sources
	d, err := gates.Divide(src, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gates.Redeal(src, 2, d.Deal); err != nil {
		t.Fatal(err)
	}
	other := shardJob(nil, []string{strings.Replace(eight, "  NEEDS: G1\n", "", 1)}).Sources
	for name, try := range map[string]func() error{
		"other gates":   func() error { _, err := gates.Redeal(other, 2, d.Deal); return err },
		"fewer parts":   func() error { _, err := gates.Redeal(src, 1, d.Deal); return err },
		"more parts":    func() error { _, err := gates.Redeal(src, 3, d.Deal); return err },
		"no parts":      func() error { _, err := gates.Redeal(src, 0, d.Deal); return err },
		"cut":           func() error { _, err := gates.Redeal(src, 2, d.Deal[:len(d.Deal)-1]); return err },
		"empty":         func() error { _, err := gates.Redeal(src, 2, ""); return err },
		"no such digit": func() error { _, err := gates.Redeal(src, 2, d.Deal[:len(d.Deal)-1]+"!"); return err },
		"an empty part": func() error { _, err := gates.Redeal(src, 2, d.Deal[:len(d.Deal)-3]+"000"); return err },
	} {
		if err := try(); !errors.Is(err, gates.ErrDeal) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestShardHasOneSpelling(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]gates.Shard{
		"1/1": {I: 1, N: 1}, "2/3": {I: 2, N: 3}, "64/64": {I: 64, N: 64}, "1/2:0aZ_-": {I: 1, N: 2, Deal: "0aZ_-"},
	} {
		if got, err := gates.ParseShard(s); err != nil || got != want {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "1", "/", "1/", "/2", "0/1", "1/0", "2/1", "01/2", "1/02", "1/65", "100/100", "+1/2", "1/2:", "1/2: ", "1/2:a b", "1/2/3", "-1/2", " 1/2", "1/2:a:b", "１/2"} {
		if got, err := gates.ParseShard(s); err == nil {
			t.Errorf("%q: %+v", s, got)
		}
	}
	src := shardJob(nil, []string{eight}).Sources
	if _, err := (gates.Shard{I: 1, N: 4}).Share(src); err == nil {
		t.Error("four shards of three groups")
	}
	if _, err := (gates.Shard{I: 1, N: 2, Deal: "x"}).Share(src); !errors.Is(err, gates.ErrDeal) {
		t.Error(err)
	}
	n := 0
	for i := range 3 {
		has, err := gates.Shard{I: i + 1, N: 3}.Share(src)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"G1", "G2", "G3", "G4"} {
			if has("gates/0.md", id) {
				n++
			}
		}
		if has("gates/0.md", "G5") || has("gates/1.md", "G1") {
			t.Error("a gate that is not there")
		}
	}
	if n != 4 {
		t.Errorf("%d gates", n)
	}
}

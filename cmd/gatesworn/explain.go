package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/evidence"
	"github.com/gatesworn/gatesworn/gates/expect"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/internal/escape"
)

func newExplain(a *app) *cobra.Command {
	f := checkFlags{
		timeout: number{low: 1, high: 86400}, env: choice{words: []string{"inherit", "clean"}},
		shell: text{kind: "SHELL"}, cwd: text{kind: "DIR"}, root: text{kind: "DIR"}, scope: text{kind: "ID"},
	}
	cmd := &cobra.Command{
		Use:   "explain [LEDGER…] GATE",
		Short: "Show a gate's definition and who lets its command run",
		Long: `Shows the whole definition of one gate, what an approval of it binds, and whether
its command may run. Options are those that were given to check: an approval
holds for one folder, shell and time limit. Nothing is run and nothing recorded.

Exit status: 0 approved · 1 not approved · 2 it cannot be known.`,
		Example: `  gatesworn explain GATES:G4    # a gate as check prints it; G4 if it is unique`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return a.completeGates(prefix), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.explain(cmd.Context(), f, args)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.Var(&f.scope, "scope", "the scope in .unlazy/ of the gate")
	fs.Var(&f.root, "root", "where to look for ledgers (default: this folder)")
	fs.Var(&f.cwd, "cwd", "as given to check")
	fs.Var(&f.shell, "shell", "as given to check")
	fs.Var(&f.timeout, "timeout", "as given to check")
	fs.Var(&f.env, "env", "as given to check")
	addToggle(fs, &f.receipts, "receipts", "say whether check --receipts would reuse the last result, or what changed")
	return cmd
}

// explanation is one gate with everything an approval of it depends on.
type explanation struct {
	*session
	src *gates.Source
	ref gates.GateRef
}

// side is one place that decides whether a gate's command may run.
type side struct {
	place   string // "on this machine"
	allowed bool
	lines   []string // the answer, then what was looked at, then what to do next
}

func (a *app) explain(ctx context.Context, f checkFlags, args []string) error {
	s := &session{app: a, flags: f, args: args, engine: expect.New()}
	defer s.engine.Close()
	defer s.close()
	if err := s.open(); err != nil {
		return err
	}
	if err := s.load(ctx); err != nil {
		return err
	}
	if len(s.job.Only) != 1 {
		return withHint(fmt.Errorf("explain needs one gate, got %s", count(len(s.job.Only), "gate")), "gatesworn explain GATES:G1")
	}
	if s.findings() {
		return status(2)
	}
	e, err := s.locate(ctx)
	if err != nil {
		return err
	}
	s.vouch(ctx, false)
	if err := s.prepare(); err != nil {
		return err
	}
	sides, err := e.sides(ctx)
	if err != nil {
		return err
	}
	if err := e.print(a.out, sides); err != nil {
		return fmt.Errorf("cannot print the explanation: %w", err)
	}
	if f.receipts.on {
		if err := e.receipt(ctx); err != nil {
			return err
		}
	}
	for _, side := range sides {
		if !side.allowed {
			return status(1)
		}
	}
	return nil
}

// locate finds the gate that was asked for and the folder it runs in.
func (s *session) locate(ctx context.Context) (*explanation, error) {
	asked, err := s.asked(ctx)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(s.job.Sources))
	for i := range s.job.Sources {
		paths[i] = s.job.Sources[i].Path
	}
	stems := gates.Names(paths)
	for i := range s.job.Sources {
		src := &s.job.Sources[i]
		for _, g := range src.Doc.Gates {
			if !asked[src.Path+"\x00"+g.ID] {
				continue
			}
			abs, rel, err := src.Dir(g)
			if err != nil {
				return nil, withHint(fmt.Errorf("%s:%d: %w", src.Path, g.Line, err), "gatesworn lint")
			}
			ref := gates.GateRef{Name: stems[i] + ":" + g.ID, Ledger: src.Path, Abs: src.Abs, Dir: abs, RelDir: rel, Gate: g}
			return &explanation{session: s, src: src, ref: ref}, nil
		}
	}
	return nil, errors.New("the gate is not there any more")
}

// sides asks every place that decides about the gate, this machine first.
func (e *explanation) sides(ctx context.Context) ([]side, error) {
	here, err := e.here(ctx)
	if err != nil {
		return nil, err
	}
	sides := []side{here}
	if e.work.HasPolicy {
		there, ok, err := e.pullRequest(ctx)
		if err != nil {
			return nil, err
		}
		if ok {
			sides = append(sides, there)
		}
	}
	return sides, nil
}

// here is what check would decide on this machine; nothing is recorded.
func (e *explanation) here(ctx context.Context) (side, error) {
	s := side{place: "on this machine"}
	g := e.ref.Gate
	switch {
	case g.AbandonedLine > 0:
		s.lines = []string{fmt.Sprintf("given up on line %d: %s", g.AbandonedLine, escape.LogLine(g.Abandoned))}
		return s, nil
	case !g.Runnable():
		s.allowed = evidence.Judge(g).Claim == evidence.Met
		s.lines = []string{"nothing to approve: a person judges this gate"}
		if !s.allowed {
			s.lines = append(s.lines, "next: do what it says, then tick it and write EVIDENCE")
		}
		return s, nil
	}
	permit, err := e.permit()
	if err != nil {
		return s, err
	}
	p, err := permit.Permit(ctx, e.ref)
	if err != nil {
		return s, err
	}
	if s.allowed = p.Allowed; s.allowed {
		says := escape.LogLine(p.Reason)
		if p.Approval != nil && p.Approval.ID != "" {
			says += " (" + escape.LogLine(p.Approval.ID) + ")"
		}
		s.lines = []string{says, "next: gatesworn check " + e.ref.Name}
		return s, nil
	}
	reason := p.Reason
	if reason == "new here" {
		reason = "no record for this definition"
	}
	s.lines = []string{"not approved: " + escape.LogLine(reason)}
	if p.Next != "" {
		s.lines = append(s.lines, "next: "+escape.LogLine(p.Next))
	}
	return s, nil
}

// print shows the definition whole: nothing is cut, and what could not be seen is made visible.
func (e *explanation) print(w io.Writer, sides []side) error {
	g := e.ref.Gate
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d %s %s\n", escape.LogLine(e.src.Path), g.Line, escape.LogLine(g.ID), escape.LogLine(g.Outcome))
	row := func(key, value string) { fmt.Fprintf(&b, "  %-7s %s\n", key, value) }
	if g.Runnable() {
		row("CHECK", escape.LogLine(g.Check))
		row("EXPECT", escape.LogLine(g.Expect))
		row("runs", e.runs())
		e.attributes(row)
		row("INPUTS", e.inputs())
		row("digest", e.digest())
	}
	row("ledger", claim(g))
	b.WriteByte('\n')
	for _, s := range sides {
		for i, l := range s.lines {
			place := ""
			if i == 0 {
				place = s.place
			}
			fmt.Fprintf(&b, "%-17s %s\n", place, l)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// runs says where and how the command would run.
func (e *explanation) runs() string {
	limit := int(e.job.Timeout.Seconds())
	if t := e.ref.Gate.Timeout; t > 0 {
		limit = t
	}
	text := fmt.Sprintf("in %s with %s on %s, %ds", escape.LogLine(e.ref.RelDir), escape.LogLine(e.job.Shell), runtime.GOOS, limit)
	if !e.work.HasPolicy {
		return text + "; your environment is passed on"
	}
	passes := "the base environment only"
	if env := e.ref.Gate.Env; len(env) > 0 {
		passes = "the base environment and " + escape.LogLine(strings.Join(env, ", "))
	}
	return text + "; passes on " + passes
}

// attributes shows the optional attributes that decide when and with what it runs.
func (e *explanation) attributes(row func(key, value string)) {
	for _, a := range e.ref.Gate.Attributes {
		switch a.Key {
		case ledger.Needs, ledger.Reads, ledger.Writes, ledger.Env, ledger.Depends:
			row(string(a.Key), escape.LogLine(a.Value))
		}
	}
}

// inputs says which files an approval binds, or which it leaves free.
func (e *explanation) inputs() string {
	consent := "approval"
	if e.work.HasPolicy {
		consent = "signature"
	}
	g := e.ref.Gate
	if len(g.Inputs) == 0 {
		if files := e.filesOf(g.Check); len(files) > 0 {
			return fmt.Sprintf("none: %s may change without a new %s", escape.LogLine(strings.Join(files, ", ")), consent)
		}
		return "none: what CHECK runs may change without a new " + consent
	}
	o, err := e.oracle()
	if err != nil {
		return "cannot be bound: " + escape.LogLine(err.Error())
	}
	var files []string
	for i, f := range o.Inputs {
		if i == 5 && len(o.Inputs) > 6 {
			files = append(files, fmt.Sprintf("%d more", len(o.Inputs)-i))
			break
		}
		files = append(files, f.Path)
	}
	return fmt.Sprintf("%s: binds %s (%s)", escape.LogLine(strings.Join(g.Inputs, ", ")), count(len(o.Inputs), "file"), escape.LogLine(strings.Join(files, ", ")))
}

// filesOf lists words of a command that name a regular file beneath its folder.
func (e *explanation) filesOf(check string) []string {
	var files []string
	for word := range strings.FieldsFuncSeq(check, func(r rune) bool { return strings.ContainsRune(" \t\"'`;|&()<>$=", r) }) {
		if len(files) == 3 || !filepath.IsLocal(word) {
			continue
		}
		info, err := os.Lstat(filepath.Join(e.ref.Dir, word))
		if err == nil && info.Mode().IsRegular() {
			files = append(files, word)
		}
	}
	return files
}

// oracle is the definition as an approval on this machine would hold it.
func (e *explanation) oracle() (approval.Oracle, error) {
	project, g := e.work.Policy.Project, e.ref.Gate
	if len(g.Inputs) == 0 {
		return approval.NewOracle(project, e.ref.Ledger, e.ref.RelDir, g, nil), nil
	}
	tree, err := e.work.WorkTree()
	if err != nil {
		return approval.Oracle{}, err
	}
	return approval.BuildAt(tree, project, e.ref.Ledger, e.ref.RelDir, g)
}

func (e *explanation) digest() string {
	o, err := e.oracle()
	if d := o.Digest(); err == nil && d != "" {
		return d
	}
	return "none: it cannot be approved as it stands"
}

// claim says what the gate's box and evidence are worth.
func claim(g ledger.Gate) string {
	if g.AbandonedLine > 0 {
		g.Abandoned, g.AbandonedLine = "", 0
	}
	if !g.Ticked {
		return "not ticked"
	}
	w := evidence.Judge(g)
	if w.Claim == evidence.Met {
		return "ticked, with evidence that counts"
	}
	switch w.Reason {
	case evidence.Pending:
		return "ticked, but the evidence is pending"
	case evidence.Unbound:
		return "ticked, with evidence that names no command"
	case evidence.Other:
		return "ticked, with evidence of another definition"
	case evidence.Malformed:
		return "ticked, with evidence that is not well formed"
	case evidence.Automatic:
		return "ticked, with an automatic line that a manual gate cannot have"
	}
	return "ticked, without evidence that counts"
}

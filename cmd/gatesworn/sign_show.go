package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"sort"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/gatesworn/gatesworn/action/judge"
	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/store"
	"github.com/gatesworn/gatesworn/internal/escape"
)

// maxDiffLines is how much of one bound file's change is shown.
const maxDiffLines = 60

// show prints everything that a yes would sign: nothing of a definition is cut,
// and what could not be seen is made visible.
func (s *signer) show(o judge.Offer) {
	w := s.app.out
	root := s.pull.Root
	if s.first {
		fmt.Fprintf(w, "first set-up: signers are those of %s in this commit, %s\n", approval.SignersPath, strings.Join(root.Principals, " "))
	} else {
		fmt.Fprintf(w, "against %s %s, signers %s\n", root.Ref, cut(root.Commit), strings.Join(root.Principals, " "))
	}
	for _, i := range o.Items {
		s.showItem(w, i)
	}
	for _, h := range o.Hindered {
		fmt.Fprintf(w, "cannot   %s: %s   next: %s\n", h.Name, escape.LogLine(h.Text), escape.LogLine(h.Next))
	}
}

func (s *signer) showItem(w io.Writer, i judge.Item) {
	fmt.Fprintf(w, "%-8s %s", i.Kind, i.Name)
	if i.Kind != judge.OfferRoot {
		fmt.Fprintf(w, "  %s", escape.LogLine(i.Gate.Outcome))
	}
	switch i.Kind {
	case judge.OfferRemoved:
		fmt.Fprintln(w, "   signing agrees to drop it")
		return
	case judge.OfferRoot:
		fmt.Fprintln(w, "  signing agrees to the new rules and signers")
		for _, f := range i.Files {
			fmt.Fprintf(w, "  %-8s %s\n", f.Verb(), escape.LogLine(f.Path))
			s.showFile(w, f.Path, f.Old)
		}
		return
	case judge.OfferEvidence:
		fmt.Fprintf(w, "\n  EVIDENCE %s\n  counts until %s\n", escape.LogLine(i.Evidence.Text), i.Evidence.ExpiresAt.Format("2006-01-02"))
		return
	case judge.OfferRenewal:
		fmt.Fprintf(w, "   ends on %s\n", i.Expires.UTC().Format("2006-01-02"))
		s.definition(w, i.Oracle)
		return
	case judge.OfferSecond:
		fmt.Fprintf(w, "   signed by %s on %s, %d of %d\n", strings.Join(i.By, " "), i.At.UTC().Format("2006-01-02"), len(i.By), s.pull.Root.Policy.Threshold)
		s.statement(w, *i.Statement)
		return
	case judge.OfferChanged:
		if len(i.By) > 0 {
			fmt.Fprintf(w, "   signed by %s %s", strings.Join(i.By, " "), i.At.UTC().Format("2006-01-02"))
		}
		fmt.Fprintln(w)
		s.changes(w, approval.Diff(*i.Was, i.Oracle))
	default:
		fmt.Fprintln(w)
		s.definition(w, i.Oracle)
	}
	for _, weak := range i.Weak {
		fmt.Fprintf(w, "  !        %s\n", escape.LogLine(weak))
	}
	s.note(w, i)
}

// changes shows old and new of every attribute, and the diff of bound files.
func (s *signer) changes(w io.Writer, d []approval.FieldChange) {
	for _, c := range d {
		if c.File {
			fmt.Fprintf(w, "  file     %s\n", escape.LogLine(c.Field))
			old := c.Old
			if _, sum, ok := strings.Cut(old, " "); ok {
				old = sum
			}
			s.showFile(w, c.Field, old)
			if mode, _, _ := strings.Cut(c.Old, " "); mode != "" && c.New != "" && !strings.HasPrefix(c.New, mode) {
				fmt.Fprintf(w, "         mode %s is now %s\n", mode, c.New[:min(6, len(c.New))])
			}
			continue
		}
		fmt.Fprintf(w, "  %-8s - %s\n           + %s\n", c.Field, absent(c.Old), absent(c.New))
	}
}

func absent(v string) string {
	if v == "" {
		return "(none)"
	}
	return escape.LogLine(v)
}

// showFile shows what changed in a file since the content with that digest.
func (s *signer) showFile(w io.Writer, path, old string) {
	now, _ := s.pull.Content(path)
	was, ok := s.pull.Earlier(path, old)
	if old != "" && !ok {
		fmt.Fprintln(w, "         the content that was signed is not in this history; read the file")
		return
	}
	text := strings.TrimSuffix(string(diff.Diff("before", was, "now", now)), "\n")
	lines := strings.Split(text, "\n")
	if len(lines) > 3 {
		lines = lines[3:] // the two file names and the header line
	}
	for n, line := range lines {
		if n == maxDiffLines {
			fmt.Fprintf(w, "         (%d more lines: git diff)\n", len(lines)-n)
			return
		}
		fmt.Fprintf(w, "         %s\n", escape.LogLine(line))
	}
}

// definition shows one definition whole.
func (s *signer) definition(w io.Writer, o approval.Oracle) {
	row := func(key, value string) {
		if value != "" {
			fmt.Fprintf(w, "  %-8s %s\n", key, escape.LogLine(value))
		}
	}
	if o.Runnable() {
		row("CHECK", *o.Check)
		row("EXPECT", *o.Expect)
	}
	row("NEEDS", strings.Join(o.Needs, ", "))
	row("INPUTS", strings.Join(o.InputPatterns, ", "))
	for n, f := range o.Inputs {
		if n == 20 {
			row("", fmt.Sprintf("… and %d more files", len(o.Inputs)-n))
			break
		}
		row("  binds", f.Path)
	}
	row("READS", strings.Join(o.Reads, ", "))
	row("WRITES", strings.Join(o.Writes, ", "))
	row("ENV", strings.Join(o.Env, ", "))
	limit := defaultTimeout
	if o.Timeout != nil {
		limit = *o.Timeout
	}
	fmt.Fprintf(w, "  in %s  %s  %ds\n", escape.LogLine(o.CWD), escape.LogLine(s.pull.Root.Policy.Shell), limit)
}

// statement shows everything that a second signature would say as well.
func (s *signer) statement(w io.Writer, st approval.Statement) {
	for _, o := range st.Approve {
		fmt.Fprintf(w, "  approve %s %s  %s\n", escape.LogLine(o.Ledger), escape.LogLine(o.Gate), escape.LogLine(o.Outcome))
		s.definition(w, o)
	}
	for _, o := range st.Retire {
		fmt.Fprintf(w, "  drop %s %s  %s\n", escape.LogLine(o.Ledger), escape.LogLine(o.Gate), escape.LogLine(o.Outcome))
	}
	for _, e := range st.Evidence {
		fmt.Fprintf(w, "  evidence %s %s  %s\n", escape.LogLine(e.Ledger), escape.LogLine(e.Gate), escape.LogLine(e.Text))
	}
	paths := make([]string, 0, len(st.Root))
	for p := range st.Root {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	for _, p := range paths {
		fmt.Fprintf(w, "  root %s %s\n", escape.LogLine(p), short(st.Root[p], 12))
	}
	if st.Note != "" {
		fmt.Fprintf(w, "  note %s\n", escape.LogLine(st.Note))
	}
}

// note names scripts that CHECK runs and that may change without a new signature.
func (s *signer) note(w io.Writer, i judge.Item) {
	if !i.Oracle.Runnable() || len(i.Oracle.InputPatterns) > 0 {
		return
	}
	e := explanation{session: s.session}
	e.ref.Dir = filepath.Join(s.work.Top, filepath.FromSlash(i.Oracle.CWD))
	if files := e.filesOf(*i.Oracle.Check); len(files) > 0 {
		fmt.Fprintf(w, "  note     %s can change without a new signature; INPUTS: %s would bind it\n", escape.LogLine(files[0]), escape.LogLine(files[0]))
	}
}

// summary counts what the question is about: "1 changed, 1 new, 1 removed".
func summary(items []judge.Item) string {
	counts := map[judge.OfferKind]int{}
	for _, i := range items {
		counts[i.Kind]++
	}
	var parts []string
	for k := judge.OfferChanged; k <= judge.OfferRoot; k++ {
		if counts[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[k], k))
		}
	}
	return strings.Join(parts, ", ")
}

// message is the commit's: "sign GATES.md G3 G4, drop G5". Ids are of the id grammar.
func message(items []judge.Item) string {
	var sign, drop []string
	for _, i := range items {
		switch {
		case i.Kind == judge.OfferRemoved:
			drop = append(drop, i.Name)
		case i.Kind == judge.OfferRoot:
			sign = append(sign, "rules and signers")
		default:
			sign = append(sign, i.Name)
		}
	}
	var parts []string
	for _, p := range []struct {
		verb  string
		names []string
	}{{"sign", sign}, {"drop", drop}} {
		if n := len(p.names); n > 4 {
			p.names = append(p.names[:3:3], fmt.Sprintf("and %d more", n-3))
		}
		if len(p.names) > 0 {
			parts = append(parts, p.verb+" "+strings.Join(p.names, " "))
		}
	}
	return strings.Join(parts, ", ")
}

// recordHere records the same approvals for this machine. That it cannot is no
// reason to lose the signature.
func (s *signer) recordHere(ctx context.Context, items []judge.Item) {
	var bindings []store.Binding
	shell, err := s.app.shell("")
	if err != nil {
		s.app.warn("not approved on this machine: %v", err)
		return
	}
	for _, i := range items {
		if !i.Oracle.Runnable() || i.Kind == judge.OfferRemoved || i.Kind == judge.OfferSecond {
			continue
		}
		dir, err := filepath.EvalSymlinks(filepath.Join(s.work.Top, filepath.FromSlash(i.Oracle.CWD)))
		if err != nil {
			continue // the folder is made by another check
		}
		limit := defaultTimeout
		if i.Oracle.Timeout != nil {
			limit = *i.Oracle.Timeout
		}
		bindings = append(bindings, store.Binding{
			Oracle: i.Oracle, Ledger: filepath.Join(s.work.Top, filepath.FromSlash(i.Ledger)), Shell: shell, Dir: dir,
			Timeout: limit, Platform: runtime.GOOS, Path: s.app.getenv("PATH"),
		})
	}
	if len(bindings) == 0 {
		return
	}
	folder, err := s.app.approvalFolder()
	if err == nil {
		var st *store.Store
		if st, err = store.Open(folder, s.work.Top); err == nil {
			_, err = st.Put(ctx, s.now, bindings...)
		}
	}
	if err != nil {
		s.app.warn("signed, but not approved on this machine: %v", err)
	}
}

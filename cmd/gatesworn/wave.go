package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/escape"
)

// leaves is an option that is given once for each leaf.
type leaves struct{ names []string }

func (l *leaves) String() string { return strings.Join(l.names, " ") }
func (l *leaves) Type() string   { return "NAME" }

func (l *leaves) Set(s string) error {
	if s == "" {
		return errors.New("needs a value")
	}
	l.names = append(l.names, s)
	return nil
}

// waveFlags are the options of a wave command; each command has some of them.
type waveFlags struct {
	place
	wave, leaf, handle, reason text
	leaves                     leaves
}

func newWave(a *app) *cobra.Command {
	cmd := family("wave open|launch|seal|return|abandon|status", "Which leaves were handed to workers, and what came back",
		`open     declare a wave and the leaves that it hands out
launch   record the handle of the worker that a leaf was handed to
seal     close it once every leaf has a worker: from now on work may come back
return   record that a leaf's work came back; the last one completes the wave
abandon  give the wave up: a handoff, never a success
status   how far the waves are

A scope is complete only when every gate is met and every wave is resolved.

Exit status: 0 done; status: all complete · 1 status: a wave is open, sealed or
abandoned · 2 it cannot be done.`,
		`  gatesworn wave open --wave w1 --leaf leaf-login --leaf leaf-session
  gatesworn wave launch --wave w1 --leaf leaf-login --handle agent-7
  gatesworn wave seal --wave w1
  gatesworn wave return --wave w1 --leaf leaf-login`)
	cmd.AddCommand(newWaveOpen(a), newWaveLaunch(a), newWaveSeal(a), newWaveReturn(a), newWaveAbandon(a), newWaveStatus(a))
	return cmd
}

// waveStep makes a command that moves one wave and prints a line.
func waveStep(a *app, use, short string, do func(context.Context, scope.Tree, string, *waveFlags) (scope.Wave, string, error)) (*cobra.Command, *waveFlags) {
	f := &waveFlags{
		place: newPlace(), wave: text{kind: "ID"}, leaf: text{kind: "NAME"}, handle: text{kind: "TEXT"}, reason: text{kind: "TEXT"},
	}
	cmd := &cobra.Command{
		Use: use, Short: short, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.needs(cmd); err != nil {
				return err
			}
			tree, id, err := a.placed(cmd, f.place)
			if err != nil {
				return err
			}
			w, line, err := do(cmd.Context(), tree, id, f)
			if audit := (*scope.AuditError)(nil); errors.As(err, &audit) {
				a.warn("%v", audit)
				err = nil
			}
			if err != nil {
				return waveTrouble(locked(err), w, id)
			}
			_, err = fmt.Fprintln(a.out, escape.Line(line))
			return err
		},
	}
	f.options(cmd)
	cmd.Flags().Var(&f.wave, "wave", "the wave's name")
	return cmd, f
}

// needs checks that every option the command has, but scope and root, is given.
func (f *waveFlags) needs(cmd *cobra.Command) error {
	for _, o := range []struct {
		name string
		set  bool
	}{{"wave", f.wave.set}, {"leaf", f.leaf.set || len(f.leaves.names) > 0}, {"handle", f.handle.set}, {"reason", f.reason.set}} {
		if cmd.Flags().Lookup(o.name) != nil && !o.set {
			return withHint(fmt.Errorf("wave %s needs --%s", cmd.Name(), o.name), "gatesworn help wave "+cmd.Name())
		}
	}
	return nil
}

func waveTrouble(err error, w scope.Wave, id string) error {
	if e := (*exitError)(nil); errors.As(err, &e) || errors.Is(err, scope.ErrDispatch) {
		return err
	}
	return withHint(err, "gatesworn wave status --scope "+id)
}

func newWaveOpen(a *app) *cobra.Command {
	cmd, f := waveStep(a, "open", "Declare a wave and the leaves that it hands out",
		func(ctx context.Context, t scope.Tree, id string, f *waveFlags) (scope.Wave, string, error) {
			w, err := t.OpenWave(ctx, id, f.wave.value, f.leaves.names)
			return w, w.String(), err
		})
	cmd.Flags().Var(&f.leaves, "leaf", "a leaf; once for each")
	return cmd
}

func newWaveLaunch(a *app) *cobra.Command {
	cmd, f := waveStep(a, "launch", "Record the worker that a leaf was handed to",
		func(ctx context.Context, t scope.Tree, id string, f *waveFlags) (scope.Wave, string, error) {
			w, err := t.Launch(ctx, id, f.wave.value, f.leaf.value, f.handle.value)
			return w, fmt.Sprintf("STARTED %s %s (%d/%d started)", w.Name, f.leaf.value, len(w.Started), len(w.Leaves)), err
		})
	cmd.Aliases = []string{"start"} // unlazy's word
	cmd.Flags().Var(&f.leaf, "leaf", "the leaf")
	cmd.Flags().Var(&f.handle, "handle", "what the worker is known by; of one leaf only")
	return cmd
}

func newWaveSeal(a *app) *cobra.Command {
	cmd, _ := waveStep(a, "seal", "Close a wave whose leaves all have workers",
		func(ctx context.Context, t scope.Tree, id string, f *waveFlags) (scope.Wave, string, error) {
			w, err := t.Seal(ctx, id, f.wave.value)
			return w, fmt.Sprintf("SEALED %s (%d/%d started)", w.Name, len(w.Started), len(w.Leaves)), err
		})
	return cmd
}

func newWaveReturn(a *app) *cobra.Command {
	cmd, f := waveStep(a, "return", "Record that a leaf's work came back",
		func(ctx context.Context, t scope.Tree, id string, f *waveFlags) (scope.Wave, string, error) {
			w, err := t.ReturnLeaf(ctx, id, f.wave.value, f.leaf.value)
			line := fmt.Sprintf("RETURNED %s %s (%d/%d returned)", w.Name, f.leaf.value, len(w.Returned), len(w.Leaves))
			if w.State == scope.WaveComplete {
				line = fmt.Sprintf("COMPLETE %s (%d/%d returned)", w.Name, len(w.Returned), len(w.Leaves))
			}
			return w, line, err
		})
	cmd.Flags().Var(&f.leaf, "leaf", "the leaf")
	return cmd
}

func newWaveAbandon(a *app) *cobra.Command {
	cmd, f := waveStep(a, "abandon", "Give a wave up: a handoff",
		func(ctx context.Context, t scope.Tree, id string, f *waveFlags) (scope.Wave, string, error) {
			w, err := t.Abandon(ctx, id, f.wave.value, f.reason.value)
			return w, w.String(), err
		})
	cmd.Flags().Var(&f.reason, "reason", "why, in at most 500 characters")
	return cmd
}

func newWaveStatus(a *app) *cobra.Command {
	p, wave := newPlace(), text{kind: "ID"}
	cmd := &cobra.Command{
		Use: "status", Short: "Say how far the waves are", Args: noArguments,
		Long: `Prints a line for every wave of the scope, or for one, and below it what each leaf
that is not back does. Exit status 0 if they are complete, 1 if one is open, sealed
or abandoned.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tree, id, err := a.placed(cmd, p)
			if err != nil {
				return err
			}
			all, err := scope.Waves(tree.Root, id)
			if err != nil {
				return err
			}
			return a.waves(all.Waves, wave.value, id)
		},
	}
	p.options(cmd)
	cmd.Flags().Var(&wave, "wave", "only this wave")
	return cmd
}

func (a *app) waves(all []scope.Wave, only, id string) error {
	var out strings.Builder
	code, found := 0, false
	for _, w := range all {
		if only != "" && w.Name != only {
			continue
		}
		found = true
		if w.State != scope.WaveComplete {
			code = 1
		}
		out.WriteString(escape.Line(w.String()) + "\n")
		out.WriteString(leafLines(w))
	}
	switch {
	case only != "" && !found:
		return withHint(fmt.Errorf("unknown wave %s", only), "gatesworn wave status --scope "+id)
	case !found:
		out.WriteString("(no waves)\n")
	}
	if _, err := fmt.Fprint(a.out, out.String()); err != nil {
		return err
	}
	return status(code)
}

// leafLines says what the leaves of an open or sealed wave do that are not back.
func leafLines(w scope.Wave) string {
	if w.State != scope.WaveOpen && w.State != scope.WaveSealed {
		return ""
	}
	back, worker := map[string]bool{}, map[string]string{}
	for _, r := range w.Returned {
		back[r.Leaf] = true
	}
	for _, s := range w.Started {
		worker[s.Leaf] = s.Handle
	}
	var out strings.Builder
	for _, l := range w.Leaves {
		switch handle, started := worker[l]; {
		case back[l]:
		case started:
			out.WriteString(escape.Line("  IN-FLIGHT "+l+" as "+handle) + "\n")
		default:
			out.WriteString("  WAITING " + l + "\n")
		}
	}
	return out.String()
}

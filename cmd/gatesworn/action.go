package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/action"
)

// actionFlags are the options of the action's entry point.
type actionFlags struct {
	container toggle
	secrets   number // descriptor to read the secrets from, after the hand-over
}

// newAction is what the container starts and host/action.yml calls; people do not.
func newAction(a *app) *cobra.Command {
	f := actionFlags{secrets: number{low: 3, high: 1 << 16}}
	cmd := &cobra.Command{
		Use: "action", Hidden: true, Args: noArguments,
		Short: "The entry point of the GitHub Action",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.action(cmd.Context(), f)
		},
	}
	addToggle(cmd.Flags(), &f.container, "container", "this is the action's own container")
	cmd.Flags().Var(&f.secrets, "secrets", "descriptor that the secrets come from")
	return cmd
}

// action hands the secrets over to a fresh image of this process first, so that the
// environment that others can read in /proc has none.
func (a *app) action(ctx context.Context, f actionFlags) error {
	env, secrets := action.TakeSecrets(a.env)
	if f.secrets.set {
		got, err := readSecrets(f.secrets.value)
		if err != nil {
			return fmt.Errorf("cannot take over the secrets: %w", err)
		}
		secrets = append(secrets, got...)
	} else if len(secrets) > 0 {
		args := []string{"gatesworn", "action"}
		if f.container.on {
			args = append(args, "--container")
		}
		if err := handOver(args, env, secrets); !errors.Is(err, errors.ErrUnsupported) {
			return err // it comes back only when it could not
		}
	}
	host, err := a.host(env, secrets)
	if err != nil {
		return err
	}
	host.Container = f.container.on
	return status(action.Run(ctx, host))
}

// host is this process as the action sees it.
func (a *app) host(env, secrets []string) (action.Host, error) {
	program, err := os.Executable()
	if err != nil {
		return action.Host{}, fmt.Errorf("cannot find this program: %w", err)
	}
	h := action.Host{
		Env: env, Secrets: secrets, Out: a.out, Random: rand.Reader, Now: a.now, Sleep: a.sleep, Program: program, Version: version(),
	}
	if selfPath != "" {
		h.Helper = []string{selfPath, slotCommand}
	}
	return h, nil
}

// sleep waits, or returns early with the context's error.
func (a *app) sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-a.after(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxSecrets is what fits into a pipe without a reader.
const maxSecrets = 60 << 10

// readSecrets reads what handOver left in a pipe.
func readSecrets(fd int) ([]string, error) {
	pipe := os.NewFile(uintptr(fd), "secrets")
	if pipe == nil {
		return nil, errors.New("there is no such descriptor")
	}
	defer pipe.Close()
	data, err := io.ReadAll(io.LimitReader(pipe, maxSecrets))
	if err != nil {
		return nil, err
	}
	var secrets []string
	return secrets, json.Unmarshal(data, &secrets)
}

// newProbe tries, as a check, what no check may do.
func newProbe(a *app) *cobra.Command {
	return &cobra.Command{
		Use: action.ProbeCommand, Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error { return action.Probe(args, a.out) },
	}
}

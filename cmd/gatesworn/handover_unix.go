//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// handOver replaces this process by the same program with env as its whole
// environment and the secrets in a pipe that it reads once. It returns only on an error.
func handOver(args, env, secrets []string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find this program: %w", err)
	}
	data, err := json.Marshal(secrets)
	if err != nil {
		return fmt.Errorf("cannot hand over the secrets: %w", err)
	}
	if len(data) >= maxSecrets {
		return errors.New("the secrets in the environment are over 60 KiB")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("cannot hand over the secrets: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("cannot hand over the secrets: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("cannot hand over the secrets: %w", err)
	}
	fd, err := unix.FcntlInt(r.Fd(), unix.F_DUPFD, 10) // the copy stays open in the new image
	if err != nil {
		return fmt.Errorf("cannot hand over the secrets: %w", err)
	}
	err = unix.Exec(program, append(args, "--secrets", strconv.Itoa(fd)), env)
	return fmt.Errorf("cannot start %s again: %w", program, err)
}

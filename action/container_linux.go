package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/runner"
	"github.com/gatesworn/gatesworn/internal/escape"
)

// CheckID is the user and group that checks run as in the container: nobody's on
// the machine, and never the workspace owner's, whose group may be docker's.
const CheckID = 59173

// dockerSocket is mounted into every container action (actions/runner,
// ContainerActionHandler.cs): whoever reaches it is root on the machine.
const dockerSocket = "/var/run/docker.sock"

// contained makes the place of the container: a copy of the workspace without
// credentials that belongs to a user of its own.
func (m *measurement) contained(workspace string) (*place, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("the container must start as root, to run checks as another user: remove USER from the Dockerfile")
	}
	if err := foreign(workspace, dockerSocket); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(m.env("TMPDIR"), "gatesworn-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a scratch folder: %w", err)
	}
	p := &place{
		work: filepath.Join(dir, "work"), home: filepath.Join(dir, "home"), temp: filepath.Join(dir, "tmp"),
		user: &runner.User{UID: CheckID, GID: CheckID}, close: func() { _ = os.RemoveAll(dir) },
		held: gates.Protections{
			Applied: []string{
				"separate user", "private copy of the workspace", "no credentials in the copy", "environment allowlist",
				"process tree", "empty HOME and TMPDIR", "probe of the job's files and sockets",
			},
			Missing: []string{"limits of memory and processor (no cgroup)", "a tree for each gate (shared tree)"},
		},
	}
	err = errors.Join(os.Chmod(dir, 0o711), owned(p.home), owned(p.temp))
	if err == nil {
		err = copyTree(workspace, p.work, CheckID, CheckID)
	}
	if err == nil {
		err = seal(m.secretPlaces(workspace))
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// foreign makes sure that the checks' ids own nothing that they must not reach.
func foreign(paths ...string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue // what is not there is not reached
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid == CheckID || st.Gid == CheckID {
			return fmt.Errorf("%s belongs to the user that checks run as (%d)", path, CheckID)
		}
	}
	return nil
}

func owned(dir string) error {
	return errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, CheckID, CheckID))
}

// secretPlaces are what the runner hands to this container and not to checks.
func (m *measurement) secretPlaces(workspace string) []string {
	places := []string{workspace}
	for _, name := range []string{
		"GITHUB_EVENT_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "RUNNER_TEMP", "HOME",
	} {
		if p := m.env(name); filepath.IsAbs(p) && p != "/" && p != "/root" {
			places = append(places, p)
		}
	}
	return places
}

// sharedFolders are left as they are: programs need them.
const sharedFolders = " / /bin /dev /etc /home /lib /lib32 /lib64 /opt /proc /sbin /srv /sys /tmp /usr /var /root "

func shared(dir string) bool { return strings.Contains(sharedFolders, " "+dir+" ") }

// seal closes, for everybody but root, the topmost folder of the container's own
// file system on the way to each place: mounts from the machine keep their modes,
// but nobody else gets to them. Where nothing can be closed the probe decides.
func seal(places []string) error {
	var top syscall.Stat_t
	if err := syscall.Stat("/", &top); err != nil {
		return fmt.Errorf("cannot look at /: %w", err)
	}
	for _, place := range places {
		real, err := filepath.EvalSymlinks(place)
		if err != nil {
			continue
		}
		for _, dir := range ancestors(real) {
			var st syscall.Stat_t
			if shared(dir) || syscall.Stat(dir, &st) != nil {
				continue
			}
			if st.Dev != top.Dev {
				break
			}
			if err := os.Chmod(dir, 0o700); err != nil {
				return fmt.Errorf("cannot close %s to checks: %w", dir, err)
			}
			break
		}
	}
	return nil
}

// ancestors lists the folders above a path, the topmost first, without the path itself.
func ancestors(path string) []string {
	var out []string
	for dir := filepath.Dir(path); dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		out = append(out, dir)
	}
	slices.Reverse(out)
	return out
}

// probeDone is the probe's last line: without it, it proved nothing.
const probeDone = "probe ended"

// probe runs a program of ours exactly as a check runs and has it try what no
// check may do. One success ends the run.
func (m *measurement) probe(ctx context.Context) error {
	words := []string{m.host.Program, ProbeCommand}
	add := func(what, path string) {
		if path != "" {
			words = append(words, what+":"+path)
		}
	}
	workspace := m.env("GITHUB_WORKSPACE")
	for _, path := range []string{dockerSocket, "/run/docker.sock"} {
		add("connect", path)
	}
	for _, path := range []string{filepath.Join(workspace, ".git", "config"), m.env("GITHUB_EVENT_PATH"), "/proc/" + strconv.Itoa(os.Getpid()) + "/environ"} {
		add("read", path)
	}
	add("list", workspace)
	if temp := m.env("RUNNER_TEMP"); shared(temp) {
		add("credentials", temp) // it cannot be closed, so what lies in it is looked at
	} else {
		add("list", temp)
	}
	for _, name := range []string{"GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY", "GITHUB_EVENT_PATH"} {
		add("write", m.env(name))
	}
	add("config", filepath.Join(m.place.work, ".git", "config"))
	add("metadata", "169.254.169.254:80")
	quoted := make([]string, len(words))
	for i, w := range words {
		q, ok := escape.ShellQuote(w)
		if !ok {
			return fmt.Errorf("the probe cannot be told of %q", w)
		}
		quoted[i] = q
	}
	result := m.exec.Exec(ctx, gates.Command{
		Shell: "/bin/sh", Script: "exec " + strings.Join(quoted, " "), Dir: m.place.work,
		Env: []string{"PATH=/usr/bin:/bin", "HOME=" + m.place.home, "TMPDIR=" + m.place.temp}, Timeout: 30 * time.Second,
	})
	return m.probed(result)
}

// probed reads what the probe found.
func (m *measurement) probed(result gates.Result) error {
	lines := strings.Split(strings.TrimSpace(string(result.Stdout)), "\n")
	if result.End != gates.Exited || result.Code != 0 || lines[len(lines)-1] != probeDone {
		return fmt.Errorf("the probe that shows what checks cannot reach did not run (%s); nothing else was run", probeEnd(result))
	}
	var breaches []string
	for _, line := range lines[:len(lines)-1] {
		if line == metadataReachable {
			m.place.held.Missing = append(m.place.held.Missing, "the cloud's metadata address out of reach")
			continue
		}
		breaches = append(breaches, line)
	}
	if len(breaches) > 0 {
		return fmt.Errorf("a check could %s; nothing was run", strings.Join(breaches, ", could "))
	}
	return nil
}

func probeEnd(r gates.Result) string {
	switch {
	case r.Err != nil:
		return r.Err.Error()
	case r.End == gates.Signaled:
		return fmt.Sprintf("killed by signal %d", r.Signal)
	case r.End == gates.Exited:
		return fmt.Sprintf("exit %d: %s", r.Code, strings.TrimSpace(string(r.Tail)))
	}
	return "stopped"
}

// owner gives what root creates in the workspace to the workspace's owner, so that
// later steps can remove it.
func owner(workspace string) func(*os.Root, string) error {
	info, err := os.Stat(workspace)
	if err != nil || os.Geteuid() != 0 {
		return func(*os.Root, string) error { return nil }
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return func(*os.Root, string) error { return nil }
	}
	return func(root *os.Root, name string) error { return root.Lchown(name, int(st.Uid), int(st.Gid)) }
}

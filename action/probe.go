package action

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ProbeCommand is the hidden sub-command that enters Probe.
const ProbeCommand = "__probe"

// metadataReachable is said of a cloud's metadata address, which is a note and no breach.
const metadataReachable = "reach the metadata address"

// probePatience bounds one connection of the probe.
const probePatience = 300 * time.Millisecond

// Probe tries what no check may be able to do and prints a line for everything
// that it could. It runs as a check does; its last line says that it came to the
// end. Each task is what:where: connect, read, list, write,
// config, credentials, metadata.
func Probe(tasks []string, out io.Writer) error {
	for _, task := range tasks {
		what, where, _ := strings.Cut(task, ":")
		if found := attempt(what, where); found != "" {
			if _, err := fmt.Fprintln(out, found); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintln(out, "probe ended")
	return err
}

// attempt does one thing and says so if it worked; a task it does not know counts
// as one that worked.
func attempt(what, where string) string {
	switch what {
	case "connect":
		if c, err := net.DialTimeout("unix", where, probePatience); err == nil {
			c.Close()
			return "connect to " + where
		}
	case "metadata":
		if c, err := net.DialTimeout("tcp", where, probePatience); err == nil {
			c.Close()
			return metadataReachable
		}
	case "read":
		if f, err := os.Open(where); err == nil {
			f.Close()
			return "read " + where
		}
	case "list":
		if _, err := os.ReadDir(where); err == nil {
			return "list " + where
		}
	case "write":
		if f, err := os.OpenFile(where, os.O_WRONLY|os.O_APPEND, 0); err == nil {
			f.Close()
			return "write " + where
		}
	case "config":
		data, err := os.ReadFile(where)
		if err != nil {
			return ""
		}
		if found := credentialsIn(data); found != "" {
			return "read " + found + " in the copy"
		}
	case "credentials":
		return credentialFile(where)
	default:
		return "do " + what
	}
	return ""
}

// maxCredential is the largest file in which a credential is looked for, in bytes.
const maxCredential = 64 << 10

// credentialFile finds a file with a git credential in a folder: newer versions of
// actions/checkout keep theirs in RUNNER_TEMP.
func credentialFile(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxCredential {
			continue
		}
		name := filepath.Join(dir, e.Name())
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if strings.Contains(e.Name(), "credential") || strings.Contains(strings.ToLower(string(data)), "extraheader") {
			return "read a credential in " + name
		}
	}
	return ""
}

package action

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/gatesworn/gatesworn/action/judge"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/ghreport"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// Mode is what one call does.
type Mode string

const (
	ModeRun     Mode = "run"     // measure and publish: the single-job form
	ModeMeasure Mode = "measure" // no writes over the API
	ModePublish Mode = "publish" // publish a saved report; runs nothing
)

// DefaultReport is where the report goes, relative to the workspace: a path of a
// container's own would not be there for a later step.
const DefaultReport = judge.OutFolder + "/report.json"

// maxLedgers bounds the ledgers that a workflow may add.
const maxLedgers = 64

// Inputs are the action's inputs, valid. They can add to the policy of the default
// branch or tighten it, never relax it.
type Inputs struct {
	Ledgers     []string    // in addition to the policy's
	Jobs        int         // 0: the policy's
	Shard       gates.Shard // zero: the whole run
	Token       string
	APIURL      string
	TrustRef    string // "" is the default branch
	CheckName   string
	Comment     ghreport.CommentPolicy
	Annotations bool
	ReportFile  string   // relative to the workspace
	Parts       []string // in mode publish: the parts' reports, or the one
	Mode        Mode
}

// InputNames are the names of all inputs, as action.yml declares them.
func InputNames() []string {
	return []string{
		"ledger", "jobs", "github_token", "api_url", "trust_ref", "check_name", "comment", "annotations", "report_file", "mode", "shard",
	}
}

// ParseInputs validates what get returns for each name, "" meaning not given.
// apiURL is the runner's own GITHUB_API_URL. The error names every input that is
// wrong, and no value of github_token.
func ParseInputs(get func(name string) string, apiURL string) (Inputs, error) {
	var errs []error
	bad := func(name, format string, args ...any) {
		errs = append(errs, fmt.Errorf("input %s %s", name, fmt.Sprintf(format, args...)))
	}
	in := Inputs{
		Token: get("github_token"), TrustRef: get("trust_ref"), CheckName: orElse(get("check_name"), ghreport.DefaultCheckName),
		Comment: ghreport.CommentPolicy(orElse(get("comment"), string(ghreport.CommentFailures))), Annotations: true,
		Mode: Mode(orElse(get("mode"), string(ModeRun))), APIURL: orElse(get("api_url"), apiURL),
	}
	for line := range strings.Lines(get("ledger")) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := checkRelative(line); err != nil {
			bad("ledger", "%v", err)
		}
		in.Ledgers = append(in.Ledgers, line)
	}
	if len(in.Ledgers) > maxLedgers {
		bad("ledger", "names more than %d files", maxLedgers)
	}
	if s := get("jobs"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || !plainNumber.MatchString(s) || n < 1 || n > 64 {
			bad("jobs", "needs a whole number from 1 to 64, not %q", s)
		}
		in.Jobs = n
	}
	if s := get("shard"); s != "" {
		shard, err := gates.ParseShard(s)
		if err != nil {
			bad("shard", "%v", err)
		}
		in.Shard = shard
	}
	if in.Token == "" {
		bad("github_token", "is empty; leave it out or pass ${{ github.token }}")
	}
	if err := checkAPI(in.APIURL, apiURL); err != nil {
		bad("api_url", "%v", err)
	}
	if in.TrustRef != "" && gitobj.CheckRefName("refs/heads/"+in.TrustRef) != nil {
		bad("trust_ref", "%q is no branch name", in.TrustRef)
	}
	if len(in.CheckName) > 100 || strings.ContainsAny(in.CheckName, "\r\n") {
		bad("check_name", "needs one line of at most 100 bytes")
	}
	switch in.Comment {
	case ghreport.CommentFailures, ghreport.CommentChanges, ghreport.CommentAlways, ghreport.CommentNever:
	default:
		bad("comment", "is one of failures, changes, always, never, not %q", in.Comment)
	}
	switch s := get("annotations"); s {
	case "", "true":
	case "false":
		in.Annotations = false
	default:
		bad("annotations", "is true or false, not %q", s)
	}
	in.reportFiles(orElse(get("report_file"), DefaultReport), bad)
	switch in.Mode {
	case ModeRun, ModeMeasure, ModePublish:
	default:
		bad("mode", "is one of run, measure, publish, not %q", in.Mode)
	}
	if in.Shard.N > 0 && in.Mode != ModeMeasure {
		bad("shard", "needs mode measure; one job publishes all parts")
	}
	return in, errors.Join(errs...)
}

// reportFiles reads one path, or in mode publish one a line: the parts of a
// sharded run.
func (in *Inputs) reportFiles(value string, bad func(name, format string, args ...any)) {
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := checkRelative(line); err != nil || !strings.HasPrefix(line, judge.OutFolder+"/") || strings.Count(line, "/") != 1 {
			bad("report_file", "needs a file name beneath %s/, not %q", judge.OutFolder, line)
		}
		in.Parts = append(in.Parts, line)
	}
	if len(in.Parts) == 0 || len(in.Parts) > gates.MaxShards || len(in.Parts) > 1 && in.Mode != ModePublish {
		bad("report_file", "needs one path; mode publish takes one a line, at most %d", gates.MaxShards)
		return
	}
	in.ReportFile = in.Parts[0]
}

var plainNumber = regexp.MustCompile(`^[1-9][0-9]?$`)

func orElse(s, or string) string {
	if s == "" {
		return or
	}
	return s
}

// checkRelative refuses whatever is not a plain path beneath the workspace.
func checkRelative(p string) error {
	switch {
	case len(p) > 1000, strings.ContainsAny(p, "\\\x00\r\n*?[{"):
		return fmt.Errorf("needs a plain path, not %q", p)
	case path.IsAbs(p), path.Clean(p) != p, p == ".", p == "..", strings.HasPrefix(p, "../"):
		return fmt.Errorf("needs a path relative to the repository, not %q", p)
	case p == ".git" || strings.HasPrefix(p, ".git/") || strings.HasPrefix(p, ".gatesworn/"):
		return fmt.Errorf("cannot be %q", p)
	}
	return nil
}

// checkAPI lets the token go to the runner's own API, or to a test's on this
// machine, and nowhere else.
func checkAPI(given, own string) error {
	if given == "" {
		return errors.New("is not known: the runner sets GITHUB_API_URL")
	}
	if strings.TrimSuffix(given, "/") == strings.TrimSuffix(own, "/") {
		return nil
	}
	u, err := url.Parse(given)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil {
		if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
			return nil
		}
	}
	return fmt.Errorf("must be the runner's own (${{ github.api_url }}), because the token goes there")
}

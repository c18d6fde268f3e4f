package action

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/action/actiontest"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/ghreport/ghtest"
)

// TestSinksNeverChangeTheVerdict: each sink fails in turn; status, verdict and the
// other sinks stay.
func TestSinksNeverChangeTheVerdict(t *testing.T) {
	t.Parallel()
	write := func(path string) ghtest.Fault { return ghtest.Fault{Method: "POST", Path: path} }
	with := func(f ghtest.Fault, status int, header http.Header) ghtest.Fault {
		f.Status, f.Header = status, header
		return f
	}
	for name, spoil := range map[string]func(t *testing.T, w *actiontest.World){
		"nothing":        func(*testing.T, *actiontest.World) {},
		"check run 500":  func(_ *testing.T, w *actiontest.World) { w.Break(with(write("check-runs"), 500, nil)) },
		"check run 422":  func(_ *testing.T, w *actiontest.World) { w.Break(with(write("check-runs"), 422, nil)) },
		"check run 404":  func(_ *testing.T, w *actiontest.World) { w.Break(with(write("check-runs"), 404, nil)) },
		"check run torn": func(_ *testing.T, w *actiontest.World) { w.Break(write("check-runs")) },
		"comment 403":    func(_ *testing.T, w *actiontest.World) { w.Break(with(write("comments"), 403, nil)) },
		"comment 429 and a header": func(_ *testing.T, w *actiontest.World) {
			w.Break(with(write("comments"), 429, http.Header{"Retry-After": {"3600"}}))
		},
		"comment 429": func(_ *testing.T, w *actiontest.World) { w.Break(with(write("comments"), 429, nil)) },
		"comment half": func(_ *testing.T, w *actiontest.World) {
			w.Break(ghtest.Fault{Method: "POST", Path: "comments", Half: true, Times: 1})
		},
		"completion 502": func(_ *testing.T, w *actiontest.World) {
			w.Break(ghtest.Fault{Method: "PATCH", Path: "check-runs", Status: 502, Times: 1})
		},
		"no output file": func(t *testing.T, w *actiontest.World) { remove(t, filepath.Join(w.Temp, "output")) },
		"no summary":     func(t *testing.T, w *actiontest.World) { remove(t, filepath.Join(w.Temp, "summary")) },
		"output is a link": func(t *testing.T, w *actiontest.World) {
			remove(t, filepath.Join(w.Temp, "output"))
			if err := os.Symlink(filepath.Join(w.Top, "README.md"), filepath.Join(w.Temp, "output")); err != nil {
				t.Fatal(err)
			}
		},
		"folder is a link": func(t *testing.T, w *actiontest.World) {
			if err := os.Symlink(w.Temp, filepath.Join(w.Top, ".gatesworn-out")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := signedWorld(t, "", func(f actiontest.Files, _ actiontest.Signer) actiontest.Files {
				return f.With(actiontest.Files{"README.md": ""})
			})
			spoil(t, w)
			r := runAction(t, w, nil)
			r.needs(t, r.code == 1 && strings.Contains(r.log, "UNMET: 1 (met: 1)"), "the verdict")
			if !strings.Contains(name, "folder") {
				r.needs(t, r.report.Conclusion == gates.Failure, "the report")
			} else if _, err := os.Stat(filepath.Join(w.Temp, "report.json")); err == nil {
				t.Error("the report was written through a link")
			}
			if !strings.Contains(name, "output") {
				r.needs(t, r.outputs["conclusion"] == "failure", "the outputs")
			}
			if !strings.Contains(name, "summary") {
				r.needs(t, strings.Contains(r.summary, "1 of 2 gates met"), "the summary")
			}
			if !strings.HasPrefix(name, "comment 4") {
				r.needs(t, len(w.Comments(412)) == 1, "one comment")
			}
			for _, c := range w.Checks() {
				r.needs(t, c.Status == "completed", "no check run is left open")
			}
		})
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}

// TestOtherEvents: a push to the default branch and a merge group are judged too.
func TestOtherEvents(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"push", "merge_group", "workflow_dispatch"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := signedWorld(t, "", nil)
			event, err := json.Marshal(map[string]any{"merge_group": map[string]any{"head_sha": w.Merge, "base_ref": "refs/heads/main"}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(w.Temp, "event.json"), event, 0o644); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			h := host(w, &log, nil)
			h.Env = append(h.Env, "GITHUB_EVENT_NAME="+name, "GITHUB_REF=refs/heads/main")
			r := collect(t, w, result{code: Run(context.Background(), h), log: log.String()})
			r.log = log.String()
			r.needs(t, r.code == 0 && r.report.Conclusion == gates.Success, "success")
			r.needs(t, len(w.Checks()) == 1 && w.Checks()[0].HeadSHA == w.Merge && len(w.Comments(412)) == 0, "check run and no comment")
		})
	}
	t.Run("push to another branch", func(t *testing.T) {
		t.Parallel()
		w := signedWorld(t, "", nil)
		var log bytes.Buffer
		h := host(w, &log, nil)
		h.Env = append(h.Env, "GITHUB_EVENT_NAME=push", "GITHUB_REF=refs/heads/topic")
		r := collect(t, w, result{code: Run(context.Background(), h), log: log.String()})
		r.log = log.String()
		r.needs(t, r.code == 1 && r.report.Conclusion == gates.ActionRequired, "a branch that is not governed is never green")
	})
}

// TestAttestation is what actions/attest and its readers get.
func TestAttestation(t *testing.T) {
	t.Parallel()
	w := signedWorld(t, "", nil)
	r := runAction(t, w, map[string]string{"mode": "measure"})
	data, err := os.ReadFile(filepath.Join(w.Top, r.outputs["attestation_file"]))
	if err != nil {
		t.Fatal(err)
	}
	var s Statement
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	if s.Type != StatementType || s.PredicateType != PredicateType || s.Subject[0].Digest["gitCommit"] != w.Merge ||
		s.Predicate.Result != "PASSED" || len(s.Predicate.PassedTests) != 2 || len(s.Predicate.Configuration) != 2 {
		t.Errorf("%s", data)
	}
}

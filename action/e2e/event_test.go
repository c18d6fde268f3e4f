package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/action"
)

// TestRealEvents reads every example payload that GitHub publishes for the events
// that the Action knows, and refuses the privileged ones.
func TestRealEvents(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(need(t, payloads))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []struct {
		Name     string            `json:"name"`
		Examples []json.RawMessage `json:"examples"`
	}
	if err := json.Unmarshal(data, &kinds); err != nil {
		t.Fatal(err)
	}
	read, refused := map[string]int{}, 0
	for _, k := range kinds {
		for i, payload := range k.Examples {
			s := action.Signal{Name: k.Name, SHA: strings.Repeat("a", 40), Ref: "refs/heads/main", Payload: payload}
			if k.Name == "merge_group" {
				s.SHA = groupHead(t, payload)
			}
			e, err := action.ReadEvent(s)
			switch k.Name {
			case "pull_request":
				if closed := strings.Contains(errorText(err), "closed"); err != nil && !closed || err == nil && (e.Number < 1 || len(e.Head) != 40) {
					t.Errorf("%s %d: %+v %v", k.Name, i, e, err)
				}
				read[k.Name]++
			case "merge_group", "workflow_dispatch":
				if err != nil || e.Base == "" {
					t.Errorf("%s %d: %+v %v", k.Name, i, e, err)
				}
				read[k.Name]++
			case "push":
				if err != nil && !strings.Contains(err.Error(), "no branch that stands") {
					t.Errorf("%s %d: %v", k.Name, i, err)
				}
				read[k.Name]++
			default:
				if err == nil {
					t.Errorf("%s %d is accepted", k.Name, i)
				}
				if errors.Is(err, action.ErrPrivileged) {
					refused++
				}
			}
			if k.Name == "workflow_run" {
				e, err := action.ReadPublishEvent(s)
				if strings.Contains(string(payload), `"action": "completed"`) || strings.Contains(string(payload), `"action":"completed"`) {
					if err != nil || e.Run < 1 {
						t.Errorf("workflow_run %d: %+v %v", i, e, err)
					}
				} else if err == nil {
					t.Errorf("workflow_run %d is not completed", i)
				}
			}
		}
	}
	for _, name := range []string{"pull_request", "merge_group", "push", "workflow_dispatch"} {
		if read[name] == 0 {
			t.Errorf("no example of %s", name)
		}
	}
	if refused == 0 {
		t.Error("no privileged example")
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func groupHead(t *testing.T, payload json.RawMessage) string {
	t.Helper()
	var p struct {
		MergeGroup struct {
			HeadSHA string `json:"head_sha"`
		} `json:"merge_group"`
	}
	if err := json.Unmarshal(payload, &p); err != nil {
		t.Fatal(err)
	}
	return p.MergeGroup.HeadSHA
}

package plan

import (
	"encoding/json"

	"github.com/gatesworn/gatesworn/internal/escape"
)

// MaxBytes is the size of an answer's JSON, which it stays below.
const MaxBytes = 1024

// Wait is a task that is not started now.
type Wait struct {
	Task    string `json:"task"`
	Because string `json:"because"`
}

// More counts what an answer leaves out to stay below MaxBytes.
type More struct {
	Launch int `json:"launch,omitempty"`
	Wait   int `json:"wait,omitempty"`
	Review int `json:"review,omitempty"`
}

// Answer says what to do next. All lists are in the order of the tasks' ids.
type Answer struct {
	Launch []string `json:"launch"` // start these now: claim first
	Wait   []Wait   `json:"wait"`
	Review []string `json:"review"` // a person must look; nothing is launched then
	More   *More    `json:"more,omitempty"`
}

// JSON is the compact form, less than MaxBytes long. What does not fit is counted.
func (a Answer) JSON() []byte {
	text := a.encode()
	if len(text) < MaxBytes {
		return text
	}
	full := a
	// Launches first: each waiting line tells less than one that can be acted on.
	a.More = &More{len(full.Launch), len(full.Wait), len(full.Review)}
	a.Launch, a.Wait, a.Review = []string{}, []Wait{}, []string{}
	fits := func() bool { return len(a.encode()) < MaxBytes }
	for _, r := range full.Review {
		a.Review = append(a.Review, escape.Cut(r, 200))
		if a.More.Review--; !fits() {
			a.Review, a.More.Review = a.Review[:len(a.Review)-1], a.More.Review+1
			break
		}
	}
	for _, l := range full.Launch {
		a.Launch = append(a.Launch, l)
		if a.More.Launch--; !fits() {
			a.Launch, a.More.Launch = a.Launch[:len(a.Launch)-1], a.More.Launch+1
			break
		}
	}
	for _, w := range full.Wait {
		a.Wait = append(a.Wait, w)
		if a.More.Wait--; !fits() {
			a.Wait, a.More.Wait = a.Wait[:len(a.Wait)-1], a.More.Wait+1
			break
		}
	}
	return a.encode()
}

func (a Answer) encode() []byte {
	if a.Launch == nil {
		a.Launch = []string{}
	}
	if a.Wait == nil {
		a.Wait = []Wait{}
	}
	if a.Review == nil {
		a.Review = []string{}
	}
	text, err := json.Marshal(a)
	if err != nil {
		return nil // text always marshals
	}
	return text
}

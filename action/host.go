package action

import (
	"context"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/internal/escape"
)

// Host is the process as the action sees it.
type Host struct {
	Env       []string // NAME=value, without Secrets
	Secrets   []string // NAME=value that were taken out of the environment (TakeSecrets)
	Out       io.Writer
	Random    io.Reader // crypto/rand.Reader
	Now       func() time.Time
	Sleep     func(ctx context.Context, d time.Duration) error
	Helper    []string // command of a slot helper (gates/runner)
	Program   string   // this program's file, which the probe starts
	Container bool     // this is the action's own container
	Version   string
}

// lookup returns a variable, secret or not; the last one of a name counts.
func (h Host) lookup(name string) string {
	for _, list := range [][]string{h.Secrets, h.Env} {
		for i := len(list) - 1; i >= 0; i-- {
			if v, ok := strings.CutPrefix(list[i], name+"="); ok {
				return v
			}
		}
	}
	return ""
}

// runnerSecrets are variables of the runner's that are secrets without looking
// like one: their addresses carry a signature.
const runnerSecrets = " ACTIONS_ID_TOKEN_REQUEST_URL ACTIONS_RUNTIME_URL ACTIONS_RESULTS_URL ACTIONS_CACHE_URL "

// TakeSecrets separates the variables that no other process should find in this
// one's environment: everything whose name looks like a secret's, the action's
// token, and the runner's own access.
func TakeSecrets(env []string) (rest, secrets []string) {
	for _, v := range env {
		if name, _, _ := strings.Cut(v, "="); secretName(name) {
			secrets = append(secrets, v)
		} else {
			rest = append(rest, v)
		}
	}
	return rest, secrets
}

func secretName(name string) bool {
	if strings.Contains(runnerSecrets, " "+name+" ") {
		return true
	}
	// The one list of such names is the ledger's, which refuses them in ENV.
	reason, ok := ledger.EnvNameAllowed(strings.TrimPrefix(name, "INPUT_"))
	return !ok && strings.HasPrefix(reason, "it looks like a secret") || strings.HasPrefix(name, "ACTIONS_") && strings.HasSuffix(name, "_TOKEN") ||
		strings.HasSuffix(strings.ToUpper(name), "TOKEN")
}

// redactor hides the values of all secrets. Values shorter than eight bytes are
// words like "true" more often than secrets; the runner masks those it knows.
func (h Host) redactor() *escape.Redactor {
	var values []string
	for _, v := range h.Secrets {
		name, value, _ := strings.Cut(v, "=")
		if len(value) >= 8 && !strings.HasSuffix(name, "_URL") {
			values = append(values, value)
		}
	}
	r, _ := escape.NewRedactor(values) // what is refused is shorter than what is let in here
	return r
}

// redactReport hides secrets in every text of a report: it is done once, so that
// no sink can forget it. Values of types of their own (states, verdicts) are ours.
func redactReport(r *gates.Report, hide func(string) string) {
	redactValue(reflect.ValueOf(r).Elem(), hide)
}

var textType = reflect.TypeFor[string]()

func redactValue(v reflect.Value, hide func(string) string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			redactValue(v.Elem(), hide)
		}
	case reflect.Struct:
		for _, f := range v.Fields() {
			redactValue(f, hide)
		}
	case reflect.Slice:
		for i := range v.Len() {
			redactValue(v.Index(i), hide)
		}
	case reflect.String:
		if v.CanSet() && v.Type() == textType {
			v.SetString(hide(v.String()))
		}
	}
}

package lint

import (
	"slices"
	"strings"
)

// flow is a CHECK as the lists, and-or chains and pipelines it consists of.
type flow struct {
	src      string
	lists    []chain
	errexit  bool // set -e
	pipefail bool
}

// chain is pipelines joined by && and ||.
type chain struct {
	pipes      []pipeline
	ops        []string // ops[i] stands before pipes[i+1]
	background bool
}

type pipeline []command

func (p pipeline) last() *command { return &p[len(p)-1] }

// parse arranges the commands of a CHECK.
func parse(check string) (flow, bool) {
	commands, ok := split(check)
	if !ok || len(commands) == 0 {
		return flow{}, false
	}
	f := flow{src: check}
	var c chain
	var p pipeline
	for _, cmd := range commands {
		p = append(p, cmd)
		f.options(&cmd)
		if cmd.join == "|" {
			continue
		}
		c.pipes = append(c.pipes, p)
		p = nil
		switch cmd.join {
		case "&&", "||":
			c.ops = append(c.ops, cmd.join)
		default:
			c.background = cmd.join == "&"
			f.lists = append(f.lists, c)
			c = chain{}
		}
	}
	return f, len(p) == 0 && len(c.pipes) == 0
}

// options notes set -e and set -o pipefail.
func (f *flow) options(c *command) {
	if c.name() != "set" {
		return
	}
	for _, w := range c.words[1:] {
		short := strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--")
		f.errexit = f.errexit || w.text == "errexit" || short && strings.Contains(w.text, "e")
		f.pipefail = f.pipefail || w.text == "pipefail"
	}
}

// culprit is what makes a CHECK succeed whatever happens.
type culprit struct {
	text string // as written, its operator first: "|| true"
	op   string // || ; | & or "" for a command that never fails
	cut  int    // CHECK up to here is the command without it, 0 if that makes no sense
	last *command
	left *command // what it hides, nil if nothing
}

// always returns the culprit of a CHECK whose exit status is 0 whatever
// happens; ok is false if it can fail, as far as can be told.
func (f *flow) always() (c culprit, ok bool) {
	lists := f.lists
	if f.errexit {
		for i := range lists {
			if c, ok = f.chain(lists, i); !ok {
				return culprit{}, false
			}
		}
		return c, true
	}
	return f.chain(lists, len(lists)-1)
}

func (f *flow) chain(lists []chain, i int) (c culprit, ok bool) {
	l := lists[i]
	if l.background {
		p := l.pipes[len(l.pipes)-1].last()
		return culprit{text: "&", op: "&", cut: p.end, last: p}, true
	}
	c, ok = f.pipe(l.pipes[0])
	ready := prepares(l.pipes[0])
	if ok && i > 0 && len(l.pipes) == 1 && c.op == "" {
		before := lists[i-1]
		left := before.pipes[len(before.pipes)-1].last()
		c = culprit{text: strings.TrimSpace(f.src[left.end:]), op: ";", cut: left.end, last: c.last, left: left}
	}
	for j, op := range l.ops {
		right, fine := f.pipe(l.pipes[j+1])
		switch {
		case op == "||" && fine:
			left := l.pipes[j].last()
			c = culprit{text: strings.TrimSpace(f.src[left.end:]), op: "||", cut: left.end, last: right.last, left: left}
			ok = true
		case op == "&&":
			// A missing folder fails the check; what the pipe hides, it does not.
			if ok = (ok || ready && right.op == "|") && fine; ok {
				c = right
			}
		}
		ready = ready && op == "&&" && prepares(l.pipes[j+1])
	}
	return c, ok
}

// prepares reports `cd` and the like in front of what is checked.
func prepares(p pipeline) bool {
	n := p.last().name()
	return len(p) == 1 && (n == "cd" || n == "export" || n == "mkdir" || n == "set")
}

// pipe tells whether a pipeline always succeeds.
func (f *flow) pipe(p pipeline) (c culprit, ok bool) {
	last := p.last()
	if p[0].negated {
		return culprit{}, false
	}
	if f.pipefail && len(p) > 1 {
		return culprit{}, false
	}
	if len(p) == 1 {
		return culprit{text: strings.TrimSpace(f.src[last.start:last.end]), last: last}, succeeds(last)
	}
	if !succeeds(last) && !filters(last) {
		return culprit{}, false
	}
	left := &p[len(p)-2]
	c = culprit{text: strings.TrimSpace(f.src[left.end:last.end]), op: "|", last: last, left: left}
	if n := last.name(); n == "tee" || n == "cat" {
		c.cut = left.end
	}
	return c, true
}

// succeeds reports a command whose exit status says nothing.
func succeeds(c *command) bool {
	if c.group || c.negated || len(c.words) == 0 {
		return false
	}
	args := make([]string, 0, len(c.words)-1)
	for _, w := range c.words[1:] {
		args = append(args, w.text)
	}
	switch c.name() {
	case "true", ":", "set", "echo", "printf", "date", "pwd", "sleep", "whoami", "uname", "hostname":
		return true
	case "exit":
		return len(args) == 1 && args[0] == "0"
	case "git":
		return gitSucceeds(args)
	}
	return false
}

// gitSucceeds reports git commands that print what they find and exit 0.
func gitSucceeds(args []string) bool {
	for len(args) > 1 && (args[0] == "-C" || args[0] == "-c") {
		args = args[2:]
	}
	if len(args) == 0 {
		return false
	}
	has := func(options ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(options, a) })
	}
	switch args[0] {
	case "status":
		return true
	case "diff":
		return !has("--exit-code", "--quiet", "--check", "--no-index")
	case "ls-files":
		return !has("--error-unmatch")
	}
	return false
}

// filters reports a command that passes on what it reads and succeeds.
func filters(c *command) bool {
	switch c.name() {
	case "tee", "cat", "head", "tail", "wc", "sort", "uniq", "tr", "cut", "nl", "column", "fold", "sed", "xargs", "less", "more":
		return c.name() != "xargs"
	}
	return false
}

// searches reports a command whose failure is an answer: it found nothing.
func searches(c *command) bool {
	if c == nil {
		return false
	}
	switch c.name() {
	case "grep", "egrep", "fgrep", "rg", "ag", "test", "[", "find", "ls", "diff", "cmp", "comm", "which", "type", "jq", "cat", "awk", "sed":
		return true
	case "git":
		return len(c.words) > 1 && slices.Contains([]string{"grep", "diff", "status", "ls-files", "log"}, c.words[1].text)
	}
	return false
}

// printed returns what echo and printf of a CHECK print whatever happens, and
// what they print where a command before them failed.
func (f *flow) printed() (regardless, fallback []string) {
	for _, l := range f.lists {
		sure := true
		for i, p := range l.pipes {
			if i > 0 {
				_, before := f.pipe(l.pipes[i-1])
				sure = sure && before && l.ops[i-1] == "&&"
			}
			text, ok := echoes(p.last())
			switch {
			case !ok:
			case sure:
				regardless = append(regardless, text)
			case l.ops[i-1] == "||":
				fallback = append(fallback, text)
			}
		}
	}
	return regardless, fallback
}

// echoes returns what an echo or printf prints; expansions are NUL.
func echoes(c *command) (string, bool) {
	if c.group || c.name() != "echo" && c.name() != "printf" {
		return "", false
	}
	for _, r := range c.redirects {
		if r.op != ">&" {
			return "", false
		}
	}
	var words []string
	for i, w := range c.words[1:] {
		if i == 0 && (w.text == "-e" || w.text == "-n" || w.text == "--") {
			continue
		}
		words = append(words, w.text)
	}
	text := strings.Join(words, " ")
	if c.name() == "printf" || len(c.words) > 1 && c.words[1].text == "-e" {
		text = strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(text)
	}
	return text + "\n", true
}

// Command gatesworn checks the claims of a GATES.md: see the README.
package main

import (
	"os"
	"time"
)

func main() {
	os.Exit(run(app{
		args: os.Args[1:], in: os.Stdin, out: os.Stdout, err: os.Stderr,
		env: os.Environ(), dir: os.Getwd, now: time.Now, after: time.After,
	}))
}

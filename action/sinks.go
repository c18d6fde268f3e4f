package action

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"github.com/gatesworn/gatesworn/action/judge"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/render"
	"github.com/gatesworn/gatesworn/internal/escape"
)

// AttestationFile is the in-toto statement beside the report, and PredicateFile
// its predicate alone, which is what actions/attest takes.
const (
	AttestationFile = "attestation.json"
	PredicateFile   = "predicate.json"
)

// sinks are the files that a run writes, opened without following a link before
// the first check starts: nothing that a check does to the workspace can turn a
// write of ours elsewhere.
type sinks struct {
	folder      *os.Root
	report      *os.File
	attestation *os.File
	predicate   *os.File
	outputs     *os.File // nil when the runner named none
	summary     *os.File
	before      int64 // size of the summary before ours
	random      io.Reader
	hide        func(string) string
}

// openSinks opens all files; a sink that cannot be opened is in the error and the
// others work all the same. owner gives a new file to the workspace's owner.
func openSinks(workspace, reportFile, outputs, summary string, owner func(*os.Root, string) error) (*sinks, error) {
	s := &sinks{}
	var errs []error
	errs = append(errs, s.openFolder(workspace, path.Base(reportFile), owner))
	var err error
	if outputs != "" {
		if s.outputs, err = openAppend(outputs); err != nil {
			errs = append(errs, fmt.Errorf("cannot open GITHUB_OUTPUT: %w", err))
		}
	}
	if summary != "" {
		if s.summary, err = openAppend(summary); err != nil {
			errs = append(errs, fmt.Errorf("cannot open GITHUB_STEP_SUMMARY: %w", err))
		} else if info, err := s.summary.Stat(); err == nil {
			s.before = info.Size()
		}
	}
	return s, errors.Join(errs...)
}

// openFolder makes .gatesworn-out and new files in it.
func (s *sinks) openFolder(workspace, report string, owner func(*os.Root, string) error) error {
	top, err := os.OpenRoot(workspace)
	if err != nil {
		return fmt.Errorf("cannot open the workspace: %w", err)
	}
	defer top.Close()
	info, err := top.Lstat(judge.OutFolder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := errors.Join(top.Mkdir(judge.OutFolder, 0o755), owner(top, judge.OutFolder)); err != nil {
			return fmt.Errorf("cannot make %s: %w", judge.OutFolder, err)
		}
	case err != nil:
		return fmt.Errorf("cannot look at %s: %w", judge.OutFolder, err)
	case !info.IsDir():
		return fmt.Errorf("%s is in the way: it is a file or a link", judge.OutFolder)
	}
	if s.folder, err = top.OpenRoot(judge.OutFolder); err != nil {
		return fmt.Errorf("cannot open %s: %w", judge.OutFolder, err)
	}
	ignore, err := s.create(".gitignore", owner)
	if err != nil {
		return err
	}
	_, err = ignore.WriteString("*\n")
	errs := []error{err, ignore.Close()}
	for name, file := range map[string]**os.File{report: &s.report, AttestationFile: &s.attestation, PredicateFile: &s.predicate} {
		*file, err = s.create(name, owner)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// create replaces whatever has the name by a new, empty file.
func (s *sinks) create(name string, owner func(*os.Root, string) error) (*os.File, error) {
	if err := s.folder.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot replace %s/%s: %w", judge.OutFolder, name, err)
	}
	f, err := s.folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot create %s/%s: %w", judge.OutFolder, name, err)
	}
	return f, owner(s.folder, name)
}

// openAppend opens a file of the runner's, which must be regular and no link.
func openAppend(name string) (*os.File, error) {
	seen, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", filepath.Base(name))
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(seen, info) {
		f.Close()
		return nil, fmt.Errorf("%s changed while it was opened", filepath.Base(name))
	}
	return f, nil
}

func (s *sinks) close() {
	for _, f := range []*os.File{s.report, s.attestation, s.predicate, s.outputs, s.summary} {
		if f != nil {
			_ = f.Close()
		}
	}
	if s.folder != nil {
		_ = s.folder.Close()
	}
}

// settle writes report, attestation and the outputs that are known before anything
// is published. Each is tried whatever became of the others.
func (s *sinks) settle(r gates.Report, reportFile string, a Statement) error {
	var errs []error
	if s.report != nil {
		var b bytes.Buffer
		errs = append(errs, render.JSON(&b, r), write(s.report, b.Bytes()))
	}
	if s.attestation != nil {
		errs = append(errs, writeJSON(s.attestation, a), writeJSON(s.predicate, a.Predicate))
	}
	attestation := path.Join(path.Dir(reportFile), AttestationFile)
	for _, o := range [][2]string{
		{"conclusion", string(r.Conclusion)},
		{"verdict", string(r.Verdict)},
		{"met", strconv.Itoa(r.Counts.Met)},
		{"total", strconv.Itoa(r.Counts.Gates)},
		{"unsigned", strconv.Itoa(r.Counts.Unapproved)},
		{"report_file", reportFile},
		{"attestation_file", attestation},
	} {
		errs = append(errs, s.output(o[0], o[1]))
	}
	return errors.Join(errs...)
}

// output sets one output of the step. The library's own writer is not used: its
// delimiter is fixed, so that a value can set another output.
func (s *sinks) output(name, value string) error {
	if s.outputs == nil {
		return nil
	}
	if err := escape.WriteOutput(s.outputs, s.random, name, s.hide(value)); err != nil {
		return fmt.Errorf("cannot set output %s: %w", name, err)
	}
	return nil
}

// writeSummary replaces our part of the job summary; it may be called again.
func (s *sinks) writeSummary(text string) error {
	if s.summary == nil {
		return nil
	}
	if err := s.summary.Truncate(s.before); err != nil {
		return fmt.Errorf("cannot write the job summary: %w", err)
	}
	if _, err := s.summary.WriteString(s.hide(text)); err != nil {
		return fmt.Errorf("cannot write the job summary: %w", err)
	}
	return nil
}

// write replaces the content of an open file.
func write(f *os.File, data []byte) error {
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("cannot write %s: %w", f.Name(), err)
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		return fmt.Errorf("cannot write %s: %w", f.Name(), err)
	}
	return nil
}

func writeJSON(f *os.File, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return write(f, append(data, '\n'))
}

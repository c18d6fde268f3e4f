// Package ghreport publishes a finished gates.Report to GitHub: a check run with
// annotations on ledger lines and one sticky comment. It also reads, over the same
// client, the live facts that the Action decides on.
//
// It promises that
//   - nothing here changes a verdict: every failure is a Fault in the Outcome;
//   - a check run that was created is completed, also after a panic, a signal or
//     an API fault, and one that a killed process left open is completed by the
//     next run for the same commit;
//   - a comment is found by its hidden marker and its author over all pages, never
//     posted twice, never overwritten by an older run, not rewritten when nothing
//     changed, and never read back as a result;
//   - writes are serial, limits are honoured, and the time spent waiting is bounded
//     in total.
//
// It does not render (package markdown does), does not run anything and does not
// know the event. It is the only importer of go-github, which stays behind the
// interfaces Checks and Comments and the type Client.
package ghreport

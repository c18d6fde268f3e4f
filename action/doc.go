// Package action is gatesworn as a GitHub Action: inputs and the event come in as
// values, live facts from the API; gates are decided, run and reported.
//
// It promises that
//   - nothing runs that the default branch's signers did not sign, asked of the
//     API when the run begins and not taken from the event;
//   - events that would run a fork's code with privileges are refused;
//   - verdict and exit status are fixed before anything is published, and no
//     sink's failure changes them or loses another sink's result;
//   - every secret the process holds is hidden in every sink;
//   - in the container, checks run as a user of their own in a copy without
//     credentials, after a probe showed that this holds.
//
// The report says what held and what did not. Nothing here reads the environment,
// the clock or the working folder: Host brings them. It starts processes through
// gates/runner only. It imports judge, ghreport and gates; cmd imports it.
package action

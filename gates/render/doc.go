// Package render writes a report for one reader: people and agents at a terminal
// or a pipe (Text), programs (JSON, JUnit).
//
// It promises that foreign text cannot break a line, colour a terminal or start
// a workflow command; that a block for a gate that is not met ends in one command
// and stays under 700 bytes; that the first column of the verdict line is the
// verdict. It decides nothing: everything it says is in the report.
// It imports gates and internal/escape; front ends import it.
package render

// Package runner is the face of runs: it chooses a request, takes its locks,
// lets one run of it happen and tells what came of it; sessions of many runs;
// what a person does with a run later: resume, answer, drop, clean, compare.
//
// How a run goes stands in runner/stage, how one that stopped or died goes on in
// runner/revive, what AI command lines say in runner/agent. It does not merge,
// and it makes no sentences: its caller lends the words for what is recorded.
package runner

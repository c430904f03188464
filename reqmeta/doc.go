// Package reqmeta reads one request file, markdown with a small YAML head, and
// judges it by itself: what it says, and what is wrong with it.
//
// It promises that every file gives a request, with what is wrong with the file
// as problems: kinds with facts.
//
// It does not list folders (see folder), compare requests with each other (see
// choose), write files (see edit), or make sentences for people.
package reqmeta

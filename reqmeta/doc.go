// Package reqmeta reads, judges and edits request files: markdown with a small
// YAML head, one file per request, in one folder.
//
// It promises that one bad file never hides the others, that an edit changes
// the bytes of the asked values and nothing else, and that the choice of the
// next request is a pure function of the files and the facts it is given.
//
// It does not lock, does not start processes, does not look at git or at runs/
// (their state is handed in as Facts), does not write a cache unless it is told
// where (see Cache: what is in it is believed only while the file system says
// that nothing has changed), and does not make sentences for people: problems
// and exclusions are kinds with facts.
package reqmeta

// Package choose says which request is next, why the others are not, and what
// depends on what.
//
// It promises that the answer is a pure function of the files and the facts that
// it is given.
//
// It does not lock, start processes or look at git, runs and files: what is known
// of those is handed in as Facts.
package choose

// Package edit changes request files and makes new ones.
//
// It promises that an edit changes the bytes of the asked values and no others,
// and that a file is replaced whole.
//
// It does not read folders, and does not lock requests: writers of one folder come
// one after the other, and that is all.
package edit

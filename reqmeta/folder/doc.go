// Package folder reads all requests of a project, and finds the one that somebody
// means.
//
// It promises that one bad file never hides the others. A large folder is read
// with a cache, if it is told where (see Cache): what is in it is believed only
// while the file system says that nothing has changed.
//
// It does not decide which request is next, and does not change request files.
package folder

// Package stage holds the stages of a run in the order in which they happen, as
// functions over a Run: begin and workspace, plan, step (implement, limits, test,
// review, commit), finish, report. drive.go records how it ended, stop.go what a
// stop leaves, write.go is where every write that others see is allowed.
//
// It does not choose a request, take its locks or decide where a run that stopped
// goes on. It does not merge, it does not push unless the configuration says so,
// and it does not change the user's checkout beyond the status of the request that
// runs, unless it is told to work in place.
package stage

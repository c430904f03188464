// Package runner does one run of one request: from the choice and the locks
// over a workspace of its own and one commit per step to a finished branch, or
// to a stop that a person can resume from.
//
// It does not merge, it does not push unless the configuration says so, and it
// does not change the user's checkout beyond the status of the request that
// runs, unless it is told to work in place. It makes no sentences: its caller
// lends the words for what is recorded.
package runner

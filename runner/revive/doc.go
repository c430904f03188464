// Package revive knows what becomes of a run that stopped or died: where it goes
// on, what its runner committed and did not record, which processes it left, what
// a person changed in its workspace meanwhile, what the request's file goes back
// to; and what can be done about it, as advice.
//
// The rules of where a run goes on are runs.Resume's. This package does not do
// the stages themselves, and it does not take locks.
package revive

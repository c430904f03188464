// Package queue lets several runners share work through DynamoDB: two tables
// (pm-runner-queue, pm-runner-runners), namespaces, heartbeats, and the five
// states of a task.
//
// It promises: every write is conditional, so a finished task is never
// overwritten; one claim gives one winner; a write that was applied but whose
// answer was lost is recognised as ours; a task whose runner died ends in ERROR
// with that runner's name; a runner that was paused and replaced is refused.
//
// It does not run anything itself (a task is done by a function that is passed
// in), does not read the environment, and keeps no other store beside
// DynamoDB. It does not delete tasks and does not hold back a client that
// writes without conditions.
package queue

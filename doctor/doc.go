// Package doctor looks at everything that a run needs and says what is wrong
// and what to type: git, the repository, requests, configuration, commands of
// roles, hooks, locks, runs and what killed commands left behind.
//
// It promises that git's own word decides what is clean, that looking changes
// nothing, that a repair cannot lose anything, and that it is safe beside a
// live run and beside another doctor.
//
// It does not make sentences (checks are kinds with facts), does not stage,
// commit or edit a person's files, and does not end processes of others.
package doctor

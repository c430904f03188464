// Package failpoint lets a test stop a program at a chosen write: killed before
// it, killed in the middle of it, or told that the disk is full or broken. Its
// code exists only in builds with the tag failpoint.
//
// It does not exist in a released binary, and it does not decide what a point
// means: whoever writes names the file, whoever works names the place.
//
// A point is KIND.OP:N, the Nth time that this process does OP on a file of
// that kind; see Kind. A named place in the code is at.NAME:N.
//
//	AIFLOW_FAILPOINT=stage.rename:3         kill -9 there (N left out is 1)
//	AIFLOW_FAILPOINT=plan.write=enospc      the write fails half done, once
//	AIFLOW_FAILPOINT=plan.write=eio,always  from there on every operation fails
//	AIFLOW_FAILPOINT_LIST=FILE              append each point that is passed
//	AIFLOW_FAILPOINT_RECORD=FILE            append what is done to files (powercut.Read)
package failpoint

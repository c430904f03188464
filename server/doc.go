// Package server is the HTTP face: the API under /api, the stream of events,
// and the embedded page. docs/openapi.yaml describes every answer.
//
// It promises that nobody without the token, from another origin or under
// another host name gets anything, that a GET changes nothing, and that no run
// depends on it: runs are processes of their own, everything is read from the
// project's files, and a server that comes back shows what it showed before.
//
// It does not run requests itself, does not keep state of its own but in
// memory, and does not listen on anything but what the program opened.
package server

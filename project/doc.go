// Package project opens a project (where it lives, its configuration, its
// locks, its record of runs), looks it over, and puts right what a killed
// command left half done.
//
// It does not run requests and links neither go-git nor net/http: `aiflow-next`
// and the hooks stand on it.
package project

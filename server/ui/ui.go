// Package ui holds what the server sends to browsers: built files, embedded.
//
// It does not build them (bundle does, when somebody runs go generate) and
// does not serve them.
package ui

import (
	"embed"
	"io/fs"
)

//go:generate go run ./build

//go:embed dist
var dist embed.FS

// Assets are the built files as the server names them: lib/locks.js is served
// as /lib/locks.js.
func Assets() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the directive above names it
	}
	return sub
}

// Package ui holds what the server sends to browsers: built files, embedded.
//
// It does not build them (bundle does, when somebody runs go generate) and
// does not serve them.
package ui

import (
	"embed"
	"io/fs"
	"path"
)

//go:generate go run ./build

//go:embed dist package/locks.js
var built embed.FS

// Library is the name of the project lock's library among the Assets. It is in
// the npm package and in no folder of theirs.
const Library = "lib/locks.js"

// Assets are the built files as the server names them.
func Assets() fs.FS { return assets{} }

type assets struct{}

func (assets) Open(name string) (fs.File, error) {
	if name == Library {
		return built.Open("package/locks.js")
	}
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return built.Open(path.Join("dist", name))
}

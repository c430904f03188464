// Package serving is .aiflow/cache/serve.json: where the server of a project is, for
// whoever asks it, or must not go on while it is there.
//
// It does not serve anything; package server does.
package serving

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/fault"
	"aiflow/project"
)

// Identity is .aiflow/cache/serve.json: where a script finds the server and
// its token.
type Identity struct {
	PID       int       `json:"pid"`
	Host      string    `json:"host"`
	Port      int       `json:"port"`
	Token     string    `json:"token"`
	StartedAt time.Time `json:"started_at"`
	Build     string    `json:"build,omitempty"` // version and commit
}

func pathOf(p *project.Project) string {
	return p.Path(p.Config.Paths.CacheDir + "/serve.json")
}

const tokenBytes = 32

// TokenOf is the token of the project: the one that was used before, so that
// open pages live on, unless fresh is asked for or others could read it.
func TokenOf(p *project.Project, fresh bool) (string, error) {
	if old, ok := readIdentity(pathOf(p)); ok && !fresh {
		return old.Token, nil
	}
	var b [tokenBytes]byte
	if _, err := io.ReadFull(p.Env.Rand, b[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(b[:]), nil
}

// Load is what serve.json says, if it can be trusted.
func Load(p *project.Project) (Identity, bool) { return readIdentity(pathOf(p)) }

// Running is the server that serves p now.
func Running(p *project.Project) (Identity, bool) {
	id, ok := Load(p)
	return id, ok && id.Answers()
}

// Answers says whether that server still lives: somebody listens where it did,
// and its process is there.
func (id Identity) Answers() bool {
	if errors.Is(syscall.Kill(id.PID, 0), syscall.ESRCH) {
		return false
	}
	c, err := net.DialTimeout("tcp", net.JoinHostPort(id.Host, strconv.Itoa(id.Port)), time.Second)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

func readIdentity(path string) (Identity, bool) {
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() || fi.Mode().Perm()&0o077 != 0 || fi.Size() > 4<<10 {
		return Identity{}, false
	}
	data, err := os.ReadFile(path)
	var id Identity
	if err != nil || json.Unmarshal(data, &id) != nil || len(id.Token) != 2*tokenBytes {
		return Identity{}, false
	}
	return id, true
}

// Save writes serve.json for this user's eyes only.
func Save(p *project.Project, id Identity) error {
	path := pathOf(p)
	data, err := json.MarshalIndent(id, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o777)
	}
	if err == nil {
		err = atomicfile.Write(p.Env.Disk, path, append(data, '\n'), atomicfile.Options{Perm: 0o600, TempSuffix: p.Suffix()})
	}
	if err != nil {
		return fault.Wrap(err, fault.PathNotWritable, "path", p.Config.Paths.CacheDir+"/serve.json")
	}
	return nil
}

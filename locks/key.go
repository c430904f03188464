package locks

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strconv"
	"strings"

	"aiflow/internal/fault"
)

// Lock types as they stand in records.
const (
	TypeRequest = "request"
	TypeQueue   = "queue"
	TypeName    = "name"
	TypeSlot    = "slot"
)

// Key says which lock is meant.
type Key struct {
	Type string
	ID   string // request id, name, or number of a slot; empty for the queue
}

// Request, Queue and Named make keys.
func Request(id string) Key { return Key{TypeRequest, id} }

// Queue is the one lock of auto-runs.
func Queue() Key { return Key{Type: TypeQueue} }

// Named is a lock of the user's own (aiflow-lock exec --name).
func Named(name string) Key { return Key{TypeName, name} }

// Slot is one of the places for runs at a time, from 1.
func Slot(n int) Key { return Key{TypeSlot, strconv.Itoa(n)} }

// NameFor is the name of a lock about a thing of any name, such as a branch.
func NameFor(kind, thing string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || strings.ContainsRune(alphanumeric, r) {
			return r
		}
		return '-'
	}, thing)
	sum := sha256.Sum256([]byte(thing))
	return kind + "-" + name[:min(len(name), 80)] + "-" + hex.EncodeToString(sum[:3])
}

const (
	suffix       = ".lock.json"
	alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

func (k Key) file() string {
	if k.Type == TypeQueue {
		return TypeQueue + suffix
	}
	return k.Type + "." + k.ID + suffix
}

// KeyOf tells which lock a file is, by its name alone; ok is false for what is
// no lock of ours.
func KeyOf(path string) (k Key, ok bool) {
	stem, ok := strings.CutSuffix(filepath.Base(path), suffix)
	if !ok || strings.HasPrefix(stem, ".") {
		return Key{}, false
	}
	if stem == TypeQueue {
		return Queue(), true
	}
	kind, id, found := strings.Cut(stem, ".")
	if !found || id == "" || kind != TypeRequest && kind != TypeName && kind != TypeSlot {
		return Key{}, false
	}
	return Key{kind, id}, true
}

// Check refuses what cannot be the name of a lock: [A-Za-z0-9][A-Za-z0-9._-]{0,127},
// by hand, because compiling the expression took 0.6 ms at every start of every
// binary.
func (k Key) Check() error {
	if k.Type == TypeQueue {
		return nil
	}
	if k.ID == "" || len(k.ID) > 128 || !strings.Contains(alphanumeric, k.ID[:1]) || strings.Trim(k.ID, alphanumeric+"._-") != "" ||
		strings.Contains(k.ID, "..") || strings.HasSuffix(k.ID, ".") || strings.HasSuffix(k.ID, ".lock") {
		return fault.New(fault.InvalidRequest, "key", k.Type, "value", k.ID, "reason", "bad_lock_name")
	}
	return nil
}

// refusal is the code for "somebody else has it".
func (k Key) refusal() fault.Code {
	switch k.Type {
	case TypeRequest:
		return fault.RunInProgress
	case TypeQueue:
		return fault.QueueInProgress
	case TypeSlot:
		return fault.SlotsTaken
	}
	return fault.LockHeld
}

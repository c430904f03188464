package app

import (
	"maps"
	"testing"
)

func TestShortIDs(t *testing.T) {
	got := ShortIDs([]string{"RQ-20261129-001-say-hello", "RQ-20261129-002-say-goodbye", "RQ-20261129-002b", "RQ-1", "RQ-10", "RQ-1-again", "docs/one-two", "RQ-ü-x", "RQ-ö-x"})
	want := map[string]string{
		"RQ-20261129-001-say-hello": "RQ-20261129-001", "RQ-20261129-002-say-goodbye": "RQ-20261129-002-say", "RQ-20261129-002b": "RQ-20261129-002b",
		"RQ-1": "RQ-1", "RQ-10": "RQ-10", "RQ-1-again": "RQ-1-again", "docs/one-two": "docs/one", "RQ-ü-x": "RQ-ü", "RQ-ö-x": "RQ-ö",
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

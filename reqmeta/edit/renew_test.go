package edit

import (
	"testing"
	"time"
)

func TestLikeDate(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.FixedZone("", -2*3600))
	for _, tc := range []struct{ old, want string }{
		{"2025-12-14", "2026-01-02"},
		{"2025-12-14T15:01:02Z", "2026-01-02T05:04:05Z"},
		{"2025-12-14T15:01:02+00:00", "2026-01-02T05:04:05+00:00"},
		{"2025-12-14T15:01:02+09:00", "2026-01-02T14:04:05+09:00"},
		{"2025-12-14T15:01:02.000Z", "2026-01-02T05:04:05.678Z"},
		{"TBD", ""},
		{"", ""},
	} {
		if got := likeDate(tc.old, now); got != tc.want {
			t.Errorf("likeDate(%q) = %q, want %q", tc.old, got, tc.want)
		}
	}
}

package gitops

import (
	"testing"

	"aiflow/internal/fault"
)

func TestCompareURL(t *testing.T) {
	const template = "https://{host}/x/{{path}}?o={owner}&r={repo}&from={base}&to={{branch}}"
	for _, tc := range []struct{ origin, template, want string }{
		{"git@github.com:o/r.git", "", "https://github.com/o/r/compare/main...aiflow/RQ-1/x%23y"},
		{"https://github.com/o/r", "", "https://github.com/o/r/compare/main...aiflow/RQ-1/x%23y"},
		{"https://user:secret@github.com/o/r.git/", "", "https://github.com/o/r/compare/main...aiflow/RQ-1/x%23y"},
		{"ssh://git@github.com:22/o/r.git", "", "https://github.com/o/r/compare/main...aiflow/RQ-1/x%23y"},
		{"git://github.com/o/r", "", "https://github.com/o/r/compare/main...aiflow/RQ-1/x%23y"},
		{"git@github.example.org:o/r.git", "", "https://github.example.org/o/r/compare/main...aiflow/RQ-1/x%23y"},
		{"git@gitlab.com:g/sub/r.git", "", "https://gitlab.com/g/sub/r/-/compare/main...aiflow/RQ-1/x%23y"},
		{"https://gitlab.example.org:8443/g/r.git", "", "https://gitlab.example.org:8443/g/r/-/compare/main...aiflow/RQ-1/x%23y"},
		{"https://codeberg.org/o/r.git", "", "https://codeberg.org/o/r/compare/main...aiflow/RQ-1/x%23y"},
		{"http://gitea.local:3000/o/r.git", "", "http://gitea.local:3000/o/r/compare/main...aiflow/RQ-1/x%23y"},
		{"ssh://git@forgejo-1.example.org:2222/o/r.git", "", "https://forgejo-1.example.org/o/r/compare/main...aiflow/RQ-1/x%23y"},
		{"git@bitbucket.org:o/r.git", "", "https://bitbucket.org/o/r/branches/compare/aiflow/RQ-1/x%23y%0Dmain"},
		{
			"https://bitbucket.example.org/scm/KEY/r.git", "",
			"https://bitbucket.example.org/projects/KEY/repos/r/compare/diff?sourceBranch=refs%2Fheads%2Faiflow%2FRQ-1%2Fx%23y&targetBranch=refs%2Fheads%2Fmain",
		},
		{"git@code.example.org:o/r.git", template, "https://code.example.org/x/o/r?o=o&r=r&from=main&to=aiflow/RQ-1/x%23y"},
		{"git@github.com:o/r.git", "https://mirror/{base}", "https://mirror/main"},
		{"/srv/git/r.git", "https://mirror/{base}", "https://mirror/main"},
		{"git@code.example.org:o/r.git", "", ""},
		{"https://notgithub.com/o/r", "", ""},
		{"https://github.com.evil.example/o", "", ""},
		{"/srv/git/r.git", "", ""},
		{"../r", "", ""},
		{`C:\git\r`, "", ""},
		{"file:///srv/github.com/o/r", "", ""},
		{"git@github.com:r.git", "", ""},
	} {
		b := newBench(t)
		root := b.repo("r")
		b.sh(root, "remote", "add", "origin", tc.origin)
		got, err := b.open(root).CompareURL(t.Context(), "origin/main", "aiflow/RQ-1/x#y", tc.template)
		if got != tc.want || tc.want == "" && !fault.Has(err, fault.RemoteNotGitHub) || tc.want != "" && err != nil {
			t.Errorf("%s: %q, %v, want %q", tc.origin, got, err, tc.want)
		}
		if f, _ := fault.As(err); f != nil && f.Facts["value"] == "" {
			t.Errorf("%s: the fault does not name it", tc.origin)
		}
	}
}

func TestCompareURLWithoutOrigin(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	b.sh(root, "remote", "add", "upstream", "git@github.com:o/r.git")
	if _, err := b.open(root).CompareURL(t.Context(), "main", "x", ""); !fault.Has(err, fault.OriginMissing) {
		t.Errorf("err = %v", err)
	}
	b.sh(root, "config", "url.git@github.com:.insteadOf", "gh:")
	b.sh(root, "remote", "add", "origin", "gh:o/r")
	if got, err := b.open(root).CompareURL(t.Context(), "main", "x", ""); got != "https://github.com/o/r/compare/main...x" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestRemoteIsShownWithoutItsPassword(t *testing.T) {
	b := newBench(t)
	root := b.repo("r")
	b.sh(root, "remote", "add", "origin", "https://user:secret@code.example.org/o/r.git")
	_, err := b.open(root).CompareURL(t.Context(), "main", "x", "")
	if f, _ := fault.As(err); f == nil || f.Facts["value"] != "https://code.example.org/o/r.git" {
		t.Errorf("err = %v", err)
	}
}

package gitops

import (
	"context"
	"net/url"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
)

// CompareURL is the page that shows base...branch at the place that origin
// points to: GitHub, GitLab, Gitea, Forgejo, Codeberg or Bitbucket. Any other
// place needs a template with {base}, {branch}, {host}, {path} (owner and
// repository), {owner} and {repo}; {{…}} is understood too. No origin is
// ORIGIN_MISSING, a place that is not known REMOTE_NOT_GITHUB.
func (r *reader) CompareURL(ctx context.Context, base, branch, template string) (string, error) {
	missing := fault.New(fault.OriginMissing, "name", "origin")
	if _, there := r.settings(ctx)[originURL]; !there {
		return "", missing
	}
	origin, err := r.git.Ask(ctx, "remote", "get-url", "origin") // which other settings may write anew
	if gitcmd.Exit(err) > 0 {
		return "", missing
	}
	if err != nil {
		return "", err
	}
	at, ok := parseRemote(line(origin))
	base = strings.TrimPrefix(base, "origin/")
	if template != "" {
		return at.fill(template, base, branch), nil
	}
	compare := ""
	if ok {
		compare, ok = at.compare(base, branch)
	}
	if !ok {
		return "", fault.New(fault.RemoteNotGitHub, "name", "origin", "value", at.shown)
	}
	return compare, nil
}

// remote is where a remote's repository can be looked at.
type remote struct {
	site  string // scheme://host[:port] of its pages
	host  string
	path  string // owner/repo, groups/…/repo
	shown string // the URL without credentials
}

// parseRemote reads scheme URLs and the short form host:path of ssh.
func parseRemote(s string) (remote, bool) {
	if !strings.Contains(s, "://") {
		return parseShort(s)
	}
	u, err := url.Parse(s)
	if err != nil {
		return remote{}, false
	}
	u.User = nil
	at := remote{site: "https://" + u.Hostname(), host: strings.ToLower(u.Hostname()), path: repoPath(u.Path), shown: u.String()}
	switch u.Scheme {
	case "http", "https":
		at.site = u.Scheme + "://" + u.Host
	case "ssh", "git", "git+ssh", "ssh+git":
	default:
		return at, false
	}
	return at, at.host != "" && strings.Contains(at.path, "/")
}

func parseShort(s string) (remote, bool) {
	host, path, ok := strings.Cut(s, ":")
	if !ok || strings.ContainsAny(host, `/\`) || len(host) < 2 {
		return remote{shown: s}, false
	}
	if i := strings.LastIndex(host, "@"); i >= 0 {
		host = host[i+1:]
	}
	at := remote{site: "https://" + strings.ToLower(host), host: strings.ToLower(host), path: repoPath(path), shown: host + ":" + path}
	return at, strings.Contains(at.path, "/")
}

func repoPath(p string) string {
	return strings.TrimSuffix(strings.Trim(p, "/"), ".git")
}

// compare makes the URL in the way of the site; false when its way is unknown.
func (at remote) compare(base, branch string) (string, bool) {
	b, w := escaped(base), escaped(branch)
	page := at.site + "/" + escaped(at.path)
	switch {
	case at.is("gitlab"):
		return page + "/-/compare/" + b + "..." + w, true
	case at.is("bitbucket") && strings.HasPrefix(at.path, "scm/"):
		parts := strings.Split(at.path, "/") // scm/KEY/repo
		if len(parts) != 3 {
			return "", false
		}
		q := url.Values{"sourceBranch": {"refs/heads/" + branch}, "targetBranch": {"refs/heads/" + base}}
		return at.site + "/projects/" + escaped(parts[1]) + "/repos/" + escaped(parts[2]) + "/compare/diff?" + q.Encode(), true
	case at.is("bitbucket"):
		return page + "/branches/compare/" + w + "%0D" + b, true
	case at.is("github"), at.is("gitea"), at.is("forgejo"), at.is("codeberg"):
		return page + "/compare/" + b + "..." + w, true
	}
	return "", false
}

// is reports whether one label of the host name begins with what the site's
// software is called: gitlab.example.org, gitlab-ce.local.
func (at remote) is(software string) bool {
	for label := range strings.SplitSeq(at.host, ".") {
		if label == software || strings.HasPrefix(label, software+"-") {
			return true
		}
	}
	return false
}

func (at remote) fill(template, base, branch string) string {
	owner, repo := at.path, ""
	if i := strings.LastIndex(at.path, "/"); i >= 0 {
		owner, repo = at.path[:i], at.path[i+1:]
	}
	values := []struct{ name, value string }{
		{"base", escaped(base)},
		{"branch", escaped(branch)},
		{"host", at.host},
		{"path", escaped(at.path)},
		{"owner", escaped(owner)},
		{"repo", escaped(repo)},
	}
	var pairs []string
	for _, v := range values {
		pairs = append(pairs, "{{"+v.name+"}}", v.value, "{"+v.name+"}", v.value)
	}
	return strings.NewReplacer(pairs...).Replace(template)
}

// escaped keeps slashes.
func escaped(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

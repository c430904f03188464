package reqmeta

import (
	"bytes"
	_ "embed" // the templates
	"path"
	"strings"
)

// IsRequest reports whether a file is a request by its name: p is its path in
// the requests folder, with slashes. Markdown is, in any sub-folder, but not
// what begins with `_` or `.`, README files, and what one of the globs names.
func IsRequest(p string, ignore ...string) bool {
	dir, name := path.Split(p)
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if part != "" && IsHidden(part) {
			return false
		}
	}
	return IsRequestName(name) && !IsIgnored(p, ignore)
}

// IsMarkdown reports whether a name ends as the files of requests do.
func IsMarkdown(name string) bool { return endingOf(name) != "" }

// IsRequestName judges a name alone, without its folder.
func IsRequestName(name string) bool { return IsMarkdown(name) && !IsHidden(name) && !isReadme(name) }

// IsHidden reports whether a file or folder is left out for how its name begins.
func IsHidden(name string) bool { return name[0] == '_' || name[0] == '.' }

// endingOf is the ending of a markdown file as it is written; "" for others.
func endingOf(name string) string {
	if strings.HasSuffix(name, ".md") {
		return ".md"
	}
	for _, e := range [...]string{".md", ".markdown"} {
		if at := len(name) - len(e); at >= 0 && strings.EqualFold(name[at:], e) {
			return name[at:]
		}
	}
	return ""
}

// Stem is the file name without folder and ending.
func Stem(p string) string {
	name := p[strings.LastIndexByte(p, '/')+1:]
	return name[:len(name)-len(endingOf(name))]
}

const readme = "readme"

// isReadme knows README.md, and README.ja.md, readme_zh-CN.md: in any case and
// with the short name of a language behind it.
func isReadme(name string) bool {
	if len(name) < len(readme) || !strings.EqualFold(name[:len(readme)], readme) {
		return false
	}
	rest := Stem(name)[len(readme):]
	return rest == "" || strings.IndexByte("._-", rest[0]) >= 0 && isLanguage(rest[1:])
}

// isLanguage reports whether text looks like ja, zh-CN, zh_Hant or pt-br.
func isLanguage(text string) bool {
	lang, region, _ := strings.Cut(strings.ReplaceAll(text, "_", "-"), "-")
	letters := func(s string, from, to int) bool {
		return len(s) >= from && len(s) <= to && !strings.ContainsFunc(s, func(r rune) bool { return r|0x20 < 'a' || r|0x20 > 'z' })
	}
	return letters(lang, 2, 3) && (region == "" || letters(region, 2, 4))
}

// IsIgnored reports whether a glob names p or one of the folders above it. A
// glob without a slash is about names, wherever they stand.
func IsIgnored(p string, globs []string) bool {
	for _, g := range globs {
		g = strings.TrimSuffix(g, "/")
		for at := p; at != "."; at = path.Dir(at) {
			name := at
			if !strings.Contains(g, "/") {
				name = path.Base(at)
			}
			if MatchPath(g, name) {
				return true
			}
		}
	}
	return false
}

// MatchPath reports whether a path matches a glob in which `**` stands for any
// number of folders, `*` and `?` for parts of one name.
func MatchPath(glob, name string) bool {
	return matchParts(strings.Split(glob, "/"), strings.Split(name, "/"))
}

func matchParts(globs, names []string) bool {
	for len(globs) > 0 {
		if globs[0] == "**" {
			for i := range len(names) + 1 {
				if matchParts(globs[1:], names[i:]) {
					return true
				}
			}
			return false
		}
		if len(names) == 0 {
			return false
		}
		if ok, err := path.Match(globs[0], names[0]); err != nil || !ok {
			return false
		}
		globs, names = globs[1:], names[1:]
	}
	return len(names) == 0
}

// TemplateName is the file in the requests folder that Create starts from.
const TemplateName = "_template.md"

//go:embed templates/ja.md
var templateJA []byte

//go:embed templates/en.md
var templateEN []byte

// Template is the built-in template, in the language ja or en.
func Template(lang string) []byte {
	if lang == "en" {
		return bytes.Clone(templateEN)
	}
	return bytes.Clone(templateJA)
}

package reqmeta

import (
	"slices"
	"strings"
)

// foreign are words of other tools, without case and the signs between words,
// for one of ours.
type foreign struct{ own, words string }

var foreignKeys = [...]foreign{
	{"depends_on", "dependencies dependency deps depends blockedby blockedon requires needs waitsfor prerequisites prereqs 依存 依存関係 前提"},
	{"status", "state 状態 ステータス"},
	{"priority", "prio importance severity 優先度"},
	{"title", "summary subject タイトル 件名"},
	{"labels", "topics ラベル"},
	{"created_at", "createddate datecreated 作成日"},
	{"updated_at", "updateddate lastmodified modified 更新日"},
	{"base", "basebranch targetbranch"},
}

var foreignStatus = [...]foreign{
	{Draft, "draft backlog proposed idea triage deferred later someday onhold 保留 下書き"},
	{Ready, "ready open todo pending inprogress doing started wip active new planned next notstarted unstarted 未着手 着手中 進行中 未対応 対応中 処理中 作業中"},
	{Running, "running"},
	{Blocked, "blocked review inreview waiting paused 確認待ち"},
	{Done, "done completed complete closed finished resolved merged shipped 完了 済 済み 完了済み 対応済み 処理済み"},
	{Archived, "archived cancelled canceled wontfix wontdo duplicate abandoned obsolete rejected skipped 中止"},
}

// foreignPriority knows no bare number: some tools count from 0, and with some
// 1 is the highest.
var foreignPriority = [...]foreign{
	{"P0", "p0 critical urgent highest blocker 最優先 緊急"},
	{"P1", "p1 high major 高"},
	{"P2", "p2 medium normal middle 中"},
	{"P3", "p3 low lowest minor trivial 低"},
}

// MeantStatus gives our status for a word of another tool; "" for none. Ready
// stands for all that is open.
func MeantStatus(word string) string { return meantBy(foreignStatus[:], word) }

// MeantPriority gives our priority for a word of another tool; "" for none.
func MeantPriority(word string) string { return meantBy(foreignPriority[:], word) }

// meantBy gives our word for one of another tool; "" for none.
func meantBy(list []foreign, word string) string {
	word = squeeze(word)
	for _, f := range list {
		if slices.Contains(strings.Fields(f.words), word) {
			return f.own
		}
	}
	return ""
}

// nothing are the words that say that there is nothing.
var nothing = [...]string{"", "none", "-", "n/a", "なし", "null", "[]"}

// fillForeign judges a key of another tool. A dependency that is not read must
// not be passed over: the request would run before what it waits for.
func (r *Request) fillForeign(e *Entry, own string, has func(key string) bool) {
	if own != "depends_on" {
		if !has(own) {
			r.Warn("foreign_key", e.Line, "key", e.Key, "near", own)
		}
		return
	}
	var ids []string
	switch e.Kind {
	case ScalarValue:
		ids = []string{e.Text}
	case ListValue:
		for _, it := range e.Items {
			ids = append(ids, it.Text)
		}
	case OtherValue:
		ids = []string{"{…}"}
	}
	ids = slices.DeleteFunc(ids, func(id string) bool {
		return slices.Contains(nothing[:], strings.ToLower(strings.TrimSpace(id))) || slices.Contains(r.Meta.DependsOn, id)
	})
	if len(ids) > 0 {
		r.Fail("foreign_depends_on", e.Line, "key", e.Key, "value", Join(ids))
	}
}

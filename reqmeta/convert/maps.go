package convert

import (
	"maps"
	"slices"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// fromZero are the priorities of tools that count from 0.
var fromZero = map[string]string{"0": "P0", "1": "P1", "2": "P2", "3": "P3", "4": "P3"}

var people = []string{"assignee", "assignees", "reporter", "owner", "author", "created_by", "user"}

// anyFolder is what a head of a stranger is read with: the words that are used
// most, Japanese ones too.
func anyFolder() Map {
	return Map{
		ID:        []string{"id", "ticket", "task_id", "key", "issue_key", "issue", "number", "name"},
		Title:     []string{"title", "summary", "subject", "題名", "タイトル", "件名", "表題"},
		Status:    Words{From: []string{"status", "state", "状態", "ステータス"}},
		Priority:  Words{From: []string{"priority", "prio", "優先度", "優先順位", "importance", "severity"}},
		Estimate:  Words{From: []string{"estimate", "size", "見積もり", "見積"}},
		DependsOn: []string{"depends_on", "dependencies", "deps", "blocked_by", "requires", "needs", "depends", "dependency", "blocked_on", "waits_for", "prerequisites", "prereqs", "依存先", "依存", "依存関係", "前提"},
		Blocks:    []string{"blocks"},
		Related:   []string{"related", "related_to", "links", "関連"},
		Parent:    []string{"parent", "parent_id", "parent_issue", "epic", "親"},
		Labels:    []string{"labels", "tags", "topics", "ラベル", "タグ"},
		LabelAs:   map[string]string{"type": "type", "milestone": "milestone", "project": "project", "component": "component", "sprint": "sprint"},
		CreatedAt: []string{"created_at", "created", "created_date", "date", "作成日", "作成日時", "作成"},
		UpdatedAt: []string{"updated_at", "updated", "updated_date", "modified", "更新日", "更新日時", "更新"},
		Due:       []string{"due", "due_date", "defer_until", "scheduled", "期限"},
		URL:       []string{"url", "link"},
		People:    slices.Concat(people, []string{"担当者", "報告者"}),
		Body:      []Section{{"body", ""}, {"description", ""}, {"本文", ""}, {"説明", ""}},
		Skip:      []string{"index.md", "docs/**"},
	}
}

// anyTable is what a CSV is read with: the words of heads, and the columns of Jira.
func anyTable() Map {
	m := anyFolder()
	m.DependsOn = append(m.DependsOn, "Inward issue link (Blocks)")
	m.Blocks = append(m.Blocks, "Outward issue link (Blocks)")
	for _, kind := range []string{"Relates", "Duplicate", "Cloners"} {
		m.Related = append(m.Related, "Inward issue link ("+kind+")", "Outward issue link ("+kind+")")
	}
	m.Parent = append([]string{"Parent key", "Custom field (Epic Link)"}, m.Parent...)
	for column, label := range map[string]string{"Issue Type": "type", "Components": "component", "Component/s": "component", "Fix versions": "version", "Fix Version/s": "version"} {
		m.LabelAs[column] = label
	}
	m.Comments = []string{"Comment"}
	m.Ignore = []string{"Issue id", "Status Category", "Resolution"}
	return m
}

func sourceOf(name string) source {
	m := Map{ID: []string{"id"}, Title: []string{"title"}, People: people, Status: Words{From: []string{"status"}}, Priority: Words{From: []string{"priority"}}, Labels: []string{"labels"}}
	switch name {
	case "backlog":
		m.DependsOn, m.Parent = []string{"dependencies"}, []string{"parent_task_id"}
		m.LabelAs = map[string]string{"milestone": "milestone", "type": "type"}
		m.CreatedAt, m.UpdatedAt, m.Due = []string{"created_date"}, []string{"updated_date"}, []string{"due_date"}
		m.Links = []string{"references", "documentation", "modified_files"}
		m.Ignore = []string{"subtasks", "completed_date", "ordinal"}
		m.Status.Values = map[string]string{"won't do": "archived"}
		return source{name, "BL-", m, readBacklog}
	case "taskmaster":
		m.Status.Values = map[string]string{"in-progress": "ready", "pending": "ready", "deferred": "draft", "review": "blocked"}
		m.DependsOn, m.Parent = []string{"needs"}, []string{"parentKey"}
		m.Ignore = []string{"parentTaskId", "parentId", "parentTask"}
		m.UpdatedAt = []string{"updatedAt"}
		m.Body = []Section{{"description", ""}, {"details", "## Details"}, {"criteria", "## Acceptance criteria"}, {"testStrategy", "## Tests\n\n### Unit"}}
		return source{name, "TM-", m, readTaskmaster}
	case "beads":
		m.Status.Values = map[string]string{"hooked": "ready", "pinned": "draft"}
		m.Priority.Values = fromZero
		m.DependsOn, m.Parent, m.Related = []string{"needs"}, []string{"parent"}, []string{"related"}
		m.LabelAs = map[string]string{"issue_type": "type"}
		m.CreatedAt, m.UpdatedAt = []string{"created_at"}, []string{"updated_at"}
		m.Due, m.URL, m.Ignore = []string{"defer_until", "due_at"}, []string{"external_ref"}, []string{"closed_at", "status_category"}
		m.Comments = []string{"comments"}
		m.Body = []Section{{"description", ""}, {"design", "## Design"}, {"acceptance_criteria", "## Acceptance criteria"}, {"notes", "## Notes"}, {"close_reason", "## Why it was closed"}}
		return source{name, "BD-", m, readBeads}
	case "ticket":
		m.Priority.Values = fromZero
		m.DependsOn, m.Related, m.Parent = []string{"deps"}, []string{"links"}, []string{"parent"}
		m.Labels, m.LabelAs = []string{"tags", "labels"}, map[string]string{"type": "type"}
		m.CreatedAt, m.URL = []string{"created", "created_at"}, []string{"external-ref"}
		m.Ignore = []string{"started_at", "closed_at"}
		return source{name, "TK-", m, readFolder}
	case "taskwarrior":
		m.ID, m.Title, m.Labels = []string{"uuid"}, []string{"description"}, []string{"tags"}
		m.Status.Values = map[string]string{"waiting": "draft", "deleted": "archived", "recurring": "skip"}
		m.Priority.Values = map[string]string{"H": "P1", "M": "P2", "L": "P3"}
		m.DependsOn, m.LabelAs = []string{"depends"}, map[string]string{"project": "project"}
		m.CreatedAt, m.UpdatedAt, m.Due = []string{"entry"}, []string{"modified"}, []string{"due", "wait", "scheduled"}
		m.Body, m.Ignore = []Section{{"notes", "## Notes"}}, []string{"id", "urgency"}
		return source{name, "TW-", m, readTaskwarrior}
	case "github":
		m.ID, m.Status.From = []string{"number"}, []string{"state"}
		m.DependsOn, m.Parent = []string{"blockedBy"}, []string{"parent"}
		m.LabelAs = map[string]string{"milestone": "milestone", "issueType": "type"}
		m.CreatedAt, m.UpdatedAt = []string{"createdAt", "created_at"}, []string{"updatedAt", "updated_at"}
		m.URL, m.Ignore = []string{"html_url", "url"}, []string{"body", "children", "stateReason", "state_reason", "subIssues", "url"}
		m.Comments = []string{"comments"}
		return source{name, "GH-", m, readGitHub}
	case "todo":
		m.DependsOn, m.Parent, m.Due, m.CreatedAt = []string{"needs"}, []string{"parent"}, []string{"due"}, []string{"created"}
		m.Ignore = []string{"number"}
		return source{name, "TODO-", m, readTodo}
	case "aiflow":
		m.DependsOn, m.CreatedAt, m.UpdatedAt = []string{"depends_on"}, []string{"created_at"}, []string{"updated_at"}
		m.Estimate.From, m.Ignore = []string{"estimate"}, []string{"unknown"}
		m.Status.Values = map[string]string{"running": "ready"}
		return source{name, "RQ-", m, readExport}
	case "csv":
		return source{name, "CSV-", anyTable(), readCSV}
	}
	return source{name, "T-", anyFolder(), readFolder}
}

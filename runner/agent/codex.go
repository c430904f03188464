package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// codex reads `codex exec --json`.
type codex struct{}

type codexEvent struct {
	Type   string `json:"type"`
	Thread string `json:"thread_id"`
	Item   struct {
		Type    string          `json:"type"`
		Text    string          `json:"text"`
		Command string          `json:"command"`
		Output  string          `json:"aggregated_output"`
		Exit    *int            `json:"exit_code"`
		Status  string          `json:"status"`
		Message string          `json:"message"`
		Server  string          `json:"server"`
		Tool    string          `json:"tool"`
		Query   string          `json:"query"`
		Error   json.RawMessage `json:"error"`
		Changes []struct {
			Path string `json:"path"`
			Kind string `json:"kind"`
		} `json:"changes"`
	} `json:"item"`
	Usage struct {
		Input  int64 `json:"input_tokens"`
		Cached int64 `json:"cached_input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
	Message string          `json:"message"`
	Error   json.RawMessage `json:"error"`
}

func (c *codex) event(r *Reader, line []byte) bool {
	var e codexEvent
	if !object(line, &e) || e.Type == "" {
		return false
	}
	switch e.Type {
	case "thread.started":
		r.usage.SessionID = e.Thread
		r.say("[codex " + ShortLine(e.Thread) + "]")
	case "item.started":
		if e.Item.Type == "command_execution" {
			r.say("> " + ShortLine(e.Item.Command))
		}
	case "item.completed":
		c.item(r, e)
	case "turn.completed":
		r.ended, r.failed = true, failure{}
		r.usage.Turns++
		r.usage.Input += max(0, e.Usage.Input-e.Usage.Cached) // its count of what was read has the cache's in it
		r.usage.Cached += e.Usage.Cached
		r.usage.Output += e.Usage.Output
		r.say(r.ending())
	case "error":
		r.failed = failure{there: true, said: e.Message}
		r.say("! " + ShortLine(e.Message))
	case "turn.failed":
		r.ended = true
		r.failed = failure{there: true, said: cmp.Or(textIn(e.Error), r.failed.said)}
		r.say("! " + ShortLine(r.failed.said))
	}
	return true
}

func (c *codex) item(r *Reader, e codexEvent) {
	it := e.Item
	switch it.Type {
	case "agent_message":
		r.text.set(it.Text)
		r.say(it.Text)
	case "command_execution":
		exit := cmp.Or(it.Status, "?")
		if it.Exit != nil {
			exit = fmt.Sprintf("exit %d", *it.Exit)
		}
		r.say("< " + exit + ": " + ShortLine(it.Command))
		failed := it.Exit == nil || *it.Exit != 0
		if failed {
			r.noteRefusal(it.Command, it.Output)
		}
		if it.Status == "declined" || failed && strings.Contains(it.Output, "Read-only file system") {
			r.deny(it.Command)
		}
	case "file_change":
		for _, f := range it.Changes {
			r.say("> " + ShortLine(f.Kind+" "+f.Path+mark(it.Status)))
			if it.Status == "declined" || it.Status == "failed" {
				r.deny(f.Kind + " " + f.Path)
			}
		}
	case "mcp_tool_call":
		r.say("> " + ShortLine(it.Server+" "+it.Tool+mark(it.Status)))
	case "web_search":
		r.say("> " + ShortLine("search "+it.Query))
	case "error":
		r.say("! " + ShortLine(it.Message))
	}
}

// mark is a status that is not the usual one.
func mark(status string) string {
	if status == "" || status == "completed" {
		return ""
	}
	return " (" + status + ")"
}

package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// claude reads `claude --output-format stream-json --verbose`, which amp speaks
// too.
type claude struct {
	counted string // id of the message whose usage was counted last
	last    string // message that the text so far is of
	resets  int64  // epoch
}

type claudeUsage struct {
	Input   int64 `json:"input_tokens"`
	Output  int64 `json:"output_tokens"`
	Read    int64 `json:"cache_read_input_tokens"`
	Written int64 `json:"cache_creation_input_tokens"`
}

type claudeEvent struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Session string `json:"session_id"`
	Model   string `json:"model"`
	Version string `json:"claude_code_version"`
	Message struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Usage   *claudeUsage    `json:"usage"`
	} `json:"message"`
	// a tool that was refused
	Tool     string `json:"tool_name"`
	ToolID   string `json:"tool_use_id"`
	Decision string `json:"decision_reason"`
	// a call of the model that is made again
	Attempt int             `json:"attempt"`
	Retries int             `json:"max_retries"`
	DelayMS float64         `json:"retry_delay_ms"`
	Error   json.RawMessage `json:"error"`
	Limit   struct {
		Status   string `json:"status"`
		ResetsAt int64  `json:"resetsAt"`
	} `json:"rate_limit_info"`
	// the last event
	IsError    bool            `json:"is_error"`
	Result     json.RawMessage `json:"result"`
	DurationMS int64           `json:"duration_ms"`
	Turns      int             `json:"num_turns"`
	Cost       *float64        `json:"total_cost_usd"`
	Usage      *claudeUsage    `json:"usage"`
	Denials    []struct {
		Tool  string          `json:"tool_name"`
		Input json.RawMessage `json:"tool_input"`
	} `json:"permission_denials"`
	Status   int             `json:"api_error_status"`
	APIError string          `json:"api_error"`
	Reason   string          `json:"terminal_reason"`
	Errors   json.RawMessage `json:"errors"`
}

type claudeBlock struct {
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`

	Tool    string          `json:"tool_use_id"`
	IsError bool            `json:"is_error"`
	Content json.RawMessage `json:"content"`
}

func (c *claude) event(r *Reader, line []byte) bool {
	var e claudeEvent
	if !object(line, &e) || e.Type == "" {
		return false
	}
	r.usage.SessionID = cmp.Or(e.Session, r.usage.SessionID)
	switch e.Type {
	case "system":
		c.system(r, e)
	case "assistant":
		c.assistant(r, e)
	case "user":
		c.results(r, e)
	case "rate_limit_event":
		if e.Limit.Status == "rejected" {
			c.resets = e.Limit.ResetsAt
		}
	case "result":
		c.result(r, e)
	}
	return true
}

func (c *claude) system(r *Reader, e claudeEvent) {
	switch e.Subtype {
	case "init":
		r.usage.Model = cmp.Or(e.Model, r.usage.Model)
		r.say(strings.TrimSpace(fmt.Sprintf("[claude %s %s]", e.Version, e.Model)))
	case "permission_denied":
		r.deny(cmp.Or(r.tools[e.ToolID], e.Tool))
		r.say("! " + ShortLine(e.Tool+": "+strings.TrimSpace(e.Decision)))
	case "api_retry":
		wait := time.Duration(e.DelayMS * float64(time.Millisecond)).Round(time.Second)
		r.say(fmt.Sprintf("... %s, again in %s (%d/%d)", cmp.Or(ShortLine(textIn(e.Error)), "?"), wait, e.Attempt, e.Retries))
	}
}

func (c *claude) assistant(r *Reader, e claudeEvent) {
	r.usage.Model = cmp.Or(r.usage.Model, e.Message.Model)
	if u := e.Message.Usage; u != nil && e.Message.ID != c.counted {
		c.counted = e.Message.ID // a message of several parts comes as several events
		r.usage.Turns++
		r.usage.Input += u.Input + u.Written
		r.usage.Cached += u.Read
		r.usage.Output += u.Output
	}
	for _, b := range blocks(e.Message.Content) {
		switch b.Type {
		case "text":
			if e.Message.ID != c.last || c.last == "" {
				r.text.set("")
			}
			c.last = e.Message.ID
			r.text.Write([]byte(b.Text))
			r.say(b.Text)
		case "tool_use":
			r.uses(b.ID, b.Name, b.Input)
		}
	}
}

// results shows what tools failed with; what they gave is the agent's to read.
func (c *claude) results(r *Reader, e claudeEvent) {
	for _, b := range blocks(e.Message.Content) {
		if b.Type != "tool_result" {
			continue
		}
		if b.IsError {
			said := textIn(b.Content)
			r.say("< " + ShortLine(r.tools[b.Tool]+": "+said))
			r.noteRefusal(r.tools[b.Tool], said)
		}
		delete(r.tools, b.Tool)
	}
}

func (c *claude) result(r *Reader, e claudeEvent) {
	r.ended = true
	if u := e.Usage; u != nil {
		r.usage.Input, r.usage.Cached, r.usage.Output = u.Input+u.Written, u.Read, u.Output
	}
	r.usage.DurationMS, r.usage.CostUSD = e.DurationMS, e.Cost
	if e.Turns > 0 {
		r.usage.Turns = e.Turns
	}
	for _, d := range e.Denials {
		r.deny(toolCall(d.Tool, d.Input))
	}
	said := cmp.Or(textIn(e.Result), textIn(e.Errors))
	if said != "" && !e.IsError {
		r.text.set(said)
	}
	if e.IsError || e.Subtype != "success" && e.Subtype != "" {
		r.failed = failure{there: true, said: cmp.Or(said, e.APIError, e.Reason, e.Subtype), status: e.Status, words: []string{e.Reason, e.Subtype, e.APIError}, resets: c.resets}
		r.say("! " + ShortLine(r.failed.said))
	}
	r.say(r.ending())
}

// blocks are the parts of a message; one that is only a text is one part.
func blocks(content json.RawMessage) []claudeBlock {
	var list []claudeBlock
	if len(content) > 0 && content[0] == '[' {
		object(content, &list)
	}
	return list
}

// textIn is the text in a value that may be a string, a list of strings or of
// parts with a text, or an object with a message.
func textIn(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		var s string
		object(raw, &s)
		return s
	case '[':
		var list []json.RawMessage
		object(raw, &list)
		var parts []string
		for _, item := range list {
			if s := textIn(item); s != "" {
				parts = append(parts, s)
			}
		}
		return strings.Join(parts, "\n")
	case '{':
		var o struct{ Text, Message, Content string }
		object(raw, &o)
		return cmp.Or(o.Text, o.Message, o.Content)
	}
	return ""
}

// toolCall is a tool with what it is to do: the file, the command, the pattern.
func toolCall(name string, input json.RawMessage) string {
	var o map[string]json.RawMessage
	object(input, &o)
	for _, key := range []string{"command", "cmd", "file_path", "notebook_path", "absolute_path", "path", "dir_path", "pattern", "query", "url", "description", "prompt"} {
		if s := textIn(o[key]); s != "" {
			return ShortLine(name + ": " + s)
		}
	}
	return ShortLine(name)
}

// ending tells in one line what the call took.
func (r *Reader) ending() string {
	u := r.usage
	line := fmt.Sprintf("[in %d, cached %d, out %d", u.Input, u.Cached, u.Output)
	if u.Turns > 0 {
		line += fmt.Sprintf(", turns %d", u.Turns)
	}
	if u.CostUSD != nil {
		line += fmt.Sprintf(", $%.4f", *u.CostUSD)
	}
	if u.DurationMS > 0 {
		line += ", " + (time.Duration(u.DurationMS) * time.Millisecond).Round(100*time.Millisecond).String()
	}
	return line + "]"
}

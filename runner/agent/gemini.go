package agent

import (
	"cmp"
	"encoding/json"
)

// gemini reads `gemini -o stream-json`, which qwen speaks too.
type gemini struct{}

type geminiEvent struct {
	Type    string          `json:"type"`
	Session string          `json:"session_id"`
	Model   string          `json:"model"`
	Role    string          `json:"role"`
	Content string          `json:"content"`
	Delta   bool            `json:"delta"`
	Tool    string          `json:"tool_name"`
	ToolID  string          `json:"tool_id"`
	Params  json.RawMessage `json:"parameters"`
	Status  string          `json:"status"`
	Output  json.RawMessage `json:"output"`
	Error   struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Message string `json:"message"`
	Stats   struct {
		Input      int64 `json:"input_tokens"`
		Output     int64 `json:"output_tokens"`
		Cached     int64 `json:"cached"`
		DurationMS int64 `json:"duration_ms"`
	} `json:"stats"`
}

func (g *gemini) event(r *Reader, line []byte) bool {
	var e geminiEvent
	if !object(line, &e) || e.Type == "" {
		return false
	}
	switch e.Type {
	case "init":
		r.usage.SessionID, r.usage.Model = e.Session, e.Model
		r.say("[gemini " + ShortLine(e.Model) + "]")
	case "message":
		if e.Role == "assistant" { // the other one is the prompt
			r.text.Write([]byte(e.Content))
			r.piece(e.Content)
			if !e.Delta {
				r.closeLine()
			}
		}
	case "tool_use":
		r.usage.Turns++
		r.uses(e.ToolID, e.Tool, e.Params)
	case "tool_result":
		if e.Status == "error" {
			said := cmp.Or(e.Error.Message, textIn(e.Output))
			r.say("< " + ShortLine(r.tools[e.ToolID]+": "+said))
			r.noteRefusal(r.tools[e.ToolID], said)
			if geminiRefuses().MatchString(said) {
				r.deny(r.tools[e.ToolID])
			}
		}
		delete(r.tools, e.ToolID)
	case "error":
		r.say("! " + ShortLine(cmp.Or(e.Message, e.Error.Message)))
	case "result":
		r.ended = true
		s := e.Stats
		r.usage.Input, r.usage.Cached, r.usage.Output, r.usage.DurationMS = max(0, s.Input-s.Cached), s.Cached, s.Output, s.DurationMS
		r.usage.Turns++
		if e.Status == "error" {
			r.failed = failure{there: true, said: cmp.Or(e.Error.Message, e.Error.Type), words: []string{e.Error.Type}}
			r.say("! " + ShortLine(r.failed.said))
		}
		r.say(r.ending())
	}
	return true
}

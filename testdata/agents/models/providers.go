package models

import (
	"encoding/json"
	"strings"
)

// What each call of a model took, as all three report it.
const (
	tokensIn, tokensCached, tokensOut = 1200, 300, 40
)

type object = map[string]any

// pieces are how a long text comes.
func pieces(text string) []string {
	var list []string
	for len(text) > 4000 {
		list, text = append(list, text[:4000]), text[4000:]
	}
	return append(list, text)
}

// Anthropic: POST /v1/messages

func readAnthropic(body []byte) request {
	var in struct {
		Model    string
		Stream   bool
		Tools    []struct{ Name string }
		Messages []struct{ Content json.RawMessage }
	}
	_ = json.Unmarshal(body, &in)
	q := request{stream: in.Stream, model: in.Model}
	for _, t := range in.Tools {
		q.tools = append(q.tools, t.Name)
	}
	for _, m := range in.Messages {
		var parts []struct{ Type string }
		_ = json.Unmarshal(m.Content, &parts) // or one text
		for _, p := range parts {
			if p.Type == "tool_result" {
				q.results++
			}
		}
	}
	return q
}

func answerAnthropic(q request, t Turn) ([]event, any) {
	stop := "tool_use"
	block := object{"type": "tool_use", "id": q.id("toolu")}
	switch {
	case t.Write != "":
		block["name"], block["input"] = "Write", object{"file_path": t.Write, "content": t.Text}
	case t.Run != "":
		block["name"], block["input"] = "Bash", object{"command": t.Run, "description": "as told"}
	default:
		stop, block = "end_turn", object{"type": "text", "text": t.Say}
	}
	usage := object{"input_tokens": tokensIn, "cache_creation_input_tokens": 0, "cache_read_input_tokens": tokensCached, "output_tokens": tokensOut}
	message := func(content []any, stop any) object {
		return object{
			"id": q.id("msg"), "type": "message", "role": "assistant", "model": q.model, "content": content,
			"stop_reason": stop, "stop_sequence": nil, "usage": usage,
		}
	}
	var list []event
	add := func(kind string, more object) {
		more["type"] = kind
		list = append(list, event{kind, more})
	}
	add("message_start", object{"message": message([]any{}, nil)})
	empty := object{"type": "text", "text": ""}
	if stop == "tool_use" {
		empty = object{"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}}
	}
	add("content_block_start", object{"index": 0, "content_block": empty})
	if stop == "tool_use" {
		add("content_block_delta", object{"index": 0, "delta": object{"type": "input_json_delta", "partial_json": string(encoded(block["input"]))}})
	} else {
		for _, part := range pieces(t.Say) {
			add("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": part}})
		}
	}
	add("content_block_stop", object{"index": 0})
	add("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	add("message_stop", object{})
	return list, message([]any{block}, stop)
}

// OpenAI: POST /v1/responses

func readOpenAI(body []byte) request {
	var in struct {
		Model  string
		Stream bool
		Tools  []openAITool
		Input  []struct {
			Type  string
			Tools []openAITool
		}
	}
	_ = json.Unmarshal(body, &in)
	q := request{stream: in.Stream, model: in.Model, names: map[string]string{}}
	q.offer(in.Tools)
	for _, item := range in.Input {
		q.offer(item.Tools)
		if strings.HasSuffix(item.Type, "_call_output") {
			q.results++
		}
	}
	return q
}

// openAITool is one tool, or a namespace of some.
type openAITool struct {
	Type, Name string
	Tools      []openAITool
}

func (q *request) offer(tools []openAITool) {
	for _, t := range tools {
		if t.Type == "namespace" {
			q.offer(t.Tools)
			continue
		}
		q.tools = append(q.tools, t.Name)
		q.names[t.Name] = t.Type
	}
}

func answerOpenAI(q request, t Turn) ([]event, any) {
	item := openAIItem(q, t)
	response := func(status string, output []any) object {
		return object{
			"id": q.id("resp"), "object": "response", "status": status, "model": q.model, "output": output,
			"usage": object{
				"input_tokens": tokensIn + tokensCached, "input_tokens_details": object{"cached_tokens": tokensCached},
				"output_tokens": tokensOut, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": tokensIn + tokensCached + tokensOut,
			},
		}
	}
	var list []event
	add := func(kind string, more object) {
		more["type"] = kind
		list = append(list, event{kind, more})
	}
	add("response.created", object{"response": response("in_progress", []any{})})
	if item["type"] == "message" {
		add("response.output_item.added", object{"output_index": 0, "item": object{"type": "message", "id": item["id"], "role": "assistant", "status": "in_progress", "content": []any{}}})
		for _, part := range pieces(t.Say) {
			add("response.output_text.delta", object{"item_id": item["id"], "output_index": 0, "content_index": 0, "delta": part})
		}
	}
	add("response.output_item.done", object{"output_index": 0, "item": item})
	add("response.completed", object{"response": response("completed", []any{item})})
	return list, response("completed", []any{item})
}

// openAIItem calls the tools as the model of the request is used to: from a
// script, by names of their own, or all through a shell.
func openAIItem(q request, t Turn) object {
	patch := ""
	if t.Write != "" {
		patch = "*** Begin Patch\n*** Add File: " + t.Write + "\n"
		for line := range strings.Lines(t.Text) {
			patch += "+" + strings.TrimSuffix(line, "\n") + "\n"
		}
		patch += "*** End Patch\n"
	}
	custom := func(name, input string) object {
		return object{"type": "custom_tool_call", "id": q.id("ctc"), "call_id": q.id("call"), "name": name, "input": input, "status": "completed"}
	}
	switch {
	case patch == "" && t.Run == "":
		return object{"type": "message", "id": q.id("msg"), "role": "assistant", "status": "completed", "content": []any{object{"type": "output_text", "text": t.Say, "annotations": []any{}}}}
	case q.names["exec"] == "custom" && patch != "":
		return custom("exec", "text(await tools.apply_patch("+string(encoded(patch))+"))")
	case q.names["exec"] == "custom":
		return custom("exec", "text(await tools.exec_command("+string(encoded(object{"cmd": t.Run}))+"))")
	case q.names["apply_patch"] == "custom" && patch != "":
		return custom("apply_patch", patch)
	case patch != "":
		t.Run = "apply_patch <<'EOP'\n" + patch + "EOP"
	}
	name, arguments := "shell", object{"command": []string{"bash", "-lc", t.Run}}
	if q.names["exec_command"] != "" {
		name, arguments = "exec_command", object{"cmd": t.Run}
	}
	return object{"type": "function_call", "id": q.id("fc"), "call_id": q.id("call"), "name": name, "arguments": string(encoded(arguments))}
}

// Gemini: POST /v1beta/models/M:streamGenerateContent

func readGemini(body []byte) request {
	var in struct {
		Contents []struct {
			Parts []struct{ FunctionResponse json.RawMessage }
		}
		Tools            []struct{ FunctionDeclarations []struct{ Name string } }
		GenerationConfig struct{ ResponseMimeType string }
	}
	_ = json.Unmarshal(body, &in)
	q := request{schema: in.GenerationConfig.ResponseMimeType == "application/json"}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			q.tools = append(q.tools, f.Name)
		}
	}
	for _, c := range in.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				q.results++
			}
		}
	}
	return q
}

func answerGemini(q request, t Turn) ([]event, any) {
	var parts []any
	switch {
	case t.Write != "":
		parts = []any{object{"functionCall": object{"name": "write_file", "args": object{"file_path": t.Write, "content": t.Text}}}}
	case t.Run != "":
		parts = []any{object{"functionCall": object{"name": "run_shell_command", "args": object{"command": t.Run, "description": "as told"}}}}
	default:
		for _, part := range pieces(t.Say) {
			parts = append(parts, object{"text": part})
		}
	}
	answer := func(parts []any, last bool) object {
		c := object{"index": 0, "content": object{"role": "model", "parts": parts}}
		if last {
			c["finishReason"] = "STOP"
		}
		return object{
			"candidates": []any{c}, "modelVersion": "played", "responseId": q.id("r"),
			"usageMetadata": object{
				"promptTokenCount": tokensIn + tokensCached, "cachedContentTokenCount": tokensCached,
				"candidatesTokenCount": tokensOut, "totalTokenCount": tokensIn + tokensCached + tokensOut,
			},
		}
	}
	var list []event
	for i, part := range parts {
		list = append(list, event{"", answer([]any{part}, i == len(parts)-1)})
	}
	return list, answer(parts, true)
}

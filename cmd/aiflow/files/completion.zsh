#compdef aiflow aiflow-next aiflow-request aiflow-run aiflow-land aiflow-lock aiflow-hook aiflow-doctor aiflow-queue aiflow-serve aiflow-mcp
# aiflow completion for zsh
_aiflow() {
    local -a found
    found=("${(@f)$("${words[1]}" --complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
if [[ "$funcstack[1]" = _aiflow ]]; then _aiflow; else compdef _aiflow aiflow aiflow-next aiflow-request aiflow-run aiflow-land aiflow-lock aiflow-hook aiflow-doctor aiflow-queue aiflow-serve aiflow-mcp; fi

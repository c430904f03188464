# aiflow completion for bash
_aiflow() {
    local IFS=$'\n'
    COMPREPLY=($("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _aiflow aiflow aiflow-next aiflow-request aiflow-run aiflow-lock aiflow-hook aiflow-doctor aiflow-queue aiflow-serve

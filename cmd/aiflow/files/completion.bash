# aiflow completion for bash
_aiflow() {
    # Readline takes KEY=VALUE for three words and replaces only the last.
    local IFS=$'\n' word last="" glued=""
    local -a line=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if [[ ${#line[@]} -gt 0 && ( "$word" = "=" || -n "$glued" ) ]]; then
            line[${#line[@]}-1]+="$word"
        else
            line+=("$word")
        fi
        glued=""
        [[ "$word" = "=" ]] && glued=1
    done
    COMPREPLY=($("${COMP_WORDS[0]}" --complete "${line[@]}" 2>/dev/null))
    [[ ${#line[@]} -gt 0 ]] && last="${line[${#line[@]}-1]}"
    if [[ "$last" = *=* ]]; then COMPREPLY=("${COMPREPLY[@]#*=}"); fi
    if [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" = *= ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o default -F _aiflow aiflow aiflow-next aiflow-request aiflow-run aiflow-land aiflow-lock aiflow-hook aiflow-doctor aiflow-queue aiflow-serve aiflow-mcp

# aiflow completion for fish
function __aiflow_complete
    set -l line (commandline -opc)
    set -l word (commandline -ct)
    $line[1] --complete $line[2..-1] "$word" 2>/dev/null
end
for name in aiflow aiflow-next aiflow-request aiflow-run aiflow-land aiflow-lock aiflow-hook aiflow-doctor aiflow-queue aiflow-serve aiflow-mcp
    complete -c $name -a '(__aiflow_complete)'
end


# KEYS: opens the picker, and puts the command that resumes the chosen session on the prompt line.
function _unspool_pick
    set -l line (commandline | string collect)
    set -l id (unspool pick -- "$line")
    and set line (unspool resume --print --no-refresh --shell fish "$id")
    and commandline --replace -- "$line"
    commandline --function repaint
end
if status is-interactive
    bind SEQUENCE _unspool_pick
    bind -M insert SEQUENCE _unspool_pick
end

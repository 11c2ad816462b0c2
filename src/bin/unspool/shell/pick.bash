
# KEYS: opens the picker, and puts the command that resumes the chosen session on the prompt line.
_unspool_pick() {
    local id line
    if id=$(unspool pick -- "$READLINE_LINE" </dev/tty) && line=$(unspool resume --print --no-refresh --shell bash "$id"); then
        READLINE_LINE=$line
        READLINE_POINT=${#line}
    fi
}
# Before version 4, bash cannot change the prompt line from a function.
if [[ $- == *i* ]] && ((BASH_VERSINFO[0] >= 4)); then
    for _unspool_map in emacs vi-insert vi-command; do
        bind -m "$_unspool_map" -x '"SEQUENCE": _unspool_pick'
    done
    unset _unspool_map
fi

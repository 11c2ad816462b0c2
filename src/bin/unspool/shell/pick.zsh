
# KEYS: opens the picker, and puts the command that resumes the chosen session on the prompt line.
_unspool_pick() {
    emulate -L zsh
    local id line
    zle -I
    if id=$(unspool pick -- "$BUFFER" </dev/tty) && line=$(unspool resume --print --no-refresh --shell zsh "$id"); then
        BUFFER=$line
        CURSOR=$#BUFFER
    fi
    zle reset-prompt
}
if [[ -o interactive ]]; then
    zle -N _unspool_pick
    for _unspool_map in emacs viins vicmd; do
        bindkey -M $_unspool_map 'SEQUENCE' _unspool_pick
    done
    unset _unspool_map
fi

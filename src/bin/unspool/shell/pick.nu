
# KEYS: opens the picker, and puts the command that resumes the chosen session on the prompt line.
def _unspool_pick [] {
    # Both programs say themselves why they have no answer, so errors are not shown again.
    let id = (try { ^unspool pick -- (commandline) | str trim } catch { "" })
    if ($id | is-not-empty) {
        let line = (try { ^unspool resume --print --no-refresh --shell nu $id | str trim } catch { "" })
        if ($line | is-not-empty) { commandline edit --replace $line }
    }
}
$env.config = ($env.config | upsert keybindings ($env.config.keybindings | append {
    name: unspool_pick
    modifier: MODIFIER
    keycode: KEYCODE
    mode: [emacs vi_normal vi_insert]
    event: { send: executehostcommand, cmd: "_unspool_pick" }
}))


# KEYS: opens the picker, and puts the command that resumes the chosen session on the prompt line.
if (Get-Command Set-PSReadLineKeyHandler -ErrorAction Ignore) {
    Set-PSReadLineKeyHandler -Chord 'SEQUENCE' -BriefDescription 'unspool pick' -ScriptBlock {
        $line = $null
        $cursor = $null
        [Microsoft.PowerShell.PSConsoleReadLine]::GetBufferState([ref]$line, [ref]$cursor)
        $id = if ($line) { unspool pick '--' $line } else { unspool pick }
        if ($LASTEXITCODE -eq 0) {
            $command = unspool resume --print --no-refresh --shell powershell $id
            if ($LASTEXITCODE -eq 0) {
                [Microsoft.PowerShell.PSConsoleReadLine]::RevertLine()
                [Microsoft.PowerShell.PSConsoleReadLine]::Insert($command)
            }
        }
        [Microsoft.PowerShell.PSConsoleReadLine]::InvokePrompt()
    }
}

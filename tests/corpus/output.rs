//! Output of commands: builds, tests, listings, diffs, traces, logs and tables.

use super::ink::Ink;
use super::names::Code;

/// A command and the templates of its output.
pub(crate) struct Shell {
    pub command: &'static str,
    pub purpose: &'static str,
    /// The first lines. `lines` repeats until the output is long enough, and `tail` is the end.
    pub head: &'static str,
    pub lines: &'static [&'static str],
    pub tail: &'static str,
}

const fn shell(
    command: &'static str,
    purpose: &'static str,
    head: &'static str,
    lines: &'static [&'static str],
    tail: &'static str,
) -> Shell {
    Shell { command, purpose, head, lines, tail }
}

/// Commands that every project runs.
pub(crate) const COMMON: &[Shell] = &[
    shell(
        "git status --short && git diff --stat",
        "Show changed files",
        "",
        &[" M %f\n", "?? %f\n", " %f | %n ++++---\n", "MM %f\n"],
        " %n files changed, %n insertions(+), %n deletions(-)",
    ),
    shell(
        "git log --oneline -%n",
        "Show recent commits",
        "",
        &["%h %v %t %o in %c\n", "%h %q\n", "%h %v %a %o (#%n)\n", "%h Merge branch '%k'\n", "%h %w %w %w %l\n"],
        "",
    ),
    shell(
        "git diff %j",
        "Review the diff",
        "diff --git a/%f b/%f\nindex %h..%h 100644\n--- a/%f\n+++ b/%f\n",
        &[
            "@@ -%n,%n +%n,%n @@ %i\n",
            "     let %i = %i(%c);\n",
            "+    %i.%i(%n);\n",
            "-    return %c;\n",
            " \n",
            "+// %S\n",
            "-%l\n",
            " %P::%i(%i)\n",
        ],
        "",
    ),
    shell(
        "ls -la %f",
        "List files",
        "total %N\n",
        &[
            "-rw-r--r--  1 dev staff %N %T %b\n",
            "drwxr-xr-x %n dev staff %n %T %k\n",
            "-rw-r--r--  1 dev staff %N %T %i.json\n",
        ],
        "",
    ),
    shell(
        "grep -rn \"%i\" src | head -%n",
        "Find uses",
        "",
        &["%f:%n:    %i(%c, %n);\n", "%f:%n:use %i::%P;\n", "%f:%n:        // %s\n", "%f:%n:%c = %c.%c\n"],
        "",
    ),
    shell(
        "find . -name '*%k*' -newer %f",
        "Find files",
        "",
        &["./%f\n", "./src/%i/%k-%h.%V.js\n", "./node_modules/%x/dist/%k.d.ts\n"],
        "",
    ),
    shell(
        "docker compose logs --tail %n %t",
        "Read service logs",
        "",
        &[
            "%t-1  | %T INFO %i %s id=%k took=%dms\n",
            "%t-1  | %T WARN %i: %s\n",
            "%t-1  | %T DEBUG GET /%k/%N 200 %dms\n",
            "%t-1  | %T ERROR %e\n",
        ],
        "",
    ),
    shell(
        "curl -s localhost:%n/%k | jq .",
        "Call the endpoint",
        "{\n  \"%c\": [\n",
        &[
            "    { \"id\": \"%k-%n\", \"%c\": %N, \"%c\": \"%k\" },\n",
            "    { \"id\": \"%h\", \"%c\": \"%l\", \"%c\": %d },\n",
        ],
        "  ],\n  \"total\": %n\n}",
    ),
    shell(
        "psql -c 'select * from %i order by %i limit %n'",
        "Query the table",
        "   id   |   %i   |  %i  | created\n--------+--------+--------+---------\n",
        &[" %N | %k | %d | %D\n", " %N | %w %w | %d | %D\n"],
        "(%n rows)",
    ),
    shell(
        "tail -n %n logs/%k.log",
        "Read the log",
        "",
        &[
            "[%T] %P.%c - %s (%dms)\n",
            "[%T] %P.%c - retry %n of %n: %e\n",
            "[%T] job %h finished, %N %t %y\n",
            "\u{1b}[33m[%T] warn\u{1b}[39m %s\n",
        ],
        "",
    ),
    shell(
        "git add -A && git commit -m \"%v %t %o\"",
        "Commit the change",
        "[%k %h] %q\n",
        &[" create mode 100644 %f\n", " rewrite %f (%n%%)\n"],
        " %n files changed, %n insertions(+), %n deletions(-)",
    ),
    shell(
        "gh pr view %n --comments",
        "Read the review",
        "title:\t%q\nstate:\tOPEN\nauthor:\t%r\n--\n",
        &["%r commented:\n%S %S\n\n", "%f:%n %S\n\n", "%r approved: %l\n"],
        "",
    ),
    shell("mkdir -p %k && cp %f %k/", "Copy the file", "", &[], ""),
    shell("sed -i 's/%c/%c/g' %f", "Rename in the file", "", &[], ""),
    shell("wc -l %f %f", "Count lines", "", &["  %n %f\n"], "  %N total"),
    shell(
        "%k --%k %n --%k=%f",
        "Try the tool",
        "%P %V\n",
        &["%l\n", "%k: %s\n", "  --%k <%K>   %s\n", "loaded %n %os from %f in %dms\n"],
        "",
    ),
    shell(
        "python3 - <<'EOF'\nimport json, sys\nrows = [json.loads(l) for l in open('%f')]\nprint(len(rows), sum(r['%i'] for r in rows))\nfor r in rows[:%n]:\n    print(r['%i'], r['%i'])\nEOF",
        "Analyse the data",
        "%N %N\n",
        &["%k %d\n", "%r %N\n", "%i %h\n"],
        "",
    ),
];

const RUST: &[Shell] = &[
    shell(
        "cargo test %i -- --nocapture",
        "Run the tests",
        "   Compiling %k v%V (%F)\n    Finished `test` profile [unoptimized + debuginfo] target(s) in %ds\n     Running unittests src/lib.rs (target/debug/deps/%i-%h%h)\n\nrunning %n tests\n",
        &[
            "test %i::tests::%i ... ok\n",
            "test %i::%i_%z_%t ... ok\n",
            "test %i::tests::%i ... \u{1b}[31mFAILED\u{1b}[0m\n",
        ],
        "\ntest result: ok. %n passed; 0 failed; 0 ignored; 0 measured; %n filtered out; finished in %ds",
    ),
    shell(
        "cargo build --release 2>&1 | tail -%n",
        "Build",
        "",
        &[
            "   Compiling %x v%V\n",
            "warning: unused variable: `%i`\n  --> %f:%n:%n\n   |\n%n | let %i = %i();\n   |     ^^ help: prefix it with an underscore\n\n",
            "%e\n  --> %f:%n:%n\n",
        ],
        "    Finished `release` profile [optimized] target(s) in %ds",
    ),
    shell(
        "cargo clippy --all-targets",
        "Lint",
        "    Checking %k v%V\n",
        &["warning: this `%i` %z the %o\n  --> %f:%n:%n\n   = help: %s\n\n"],
        "warning: `%k` (lib) generated %n warnings",
    ),
];

const TYPESCRIPT: &[Shell] = &[
    shell(
        "pnpm vitest run %f",
        "Run the tests",
        "\n RUN  v%V %F\n\n",
        &[
            " \u{1b}[32m✓\u{1b}[39m %f (%n tests) %nms\n",
            "   \u{1b}[32m✓\u{1b}[39m %c > %z the %a %o %nms\n",
            " FAIL  %f > %c > %s\n%e\n ❯ %c %f:%n:%n\n",
        ],
        "\n Test Files  %n passed (%n)\n      Tests  %n passed (%n)\n   Duration  %ds",
    ),
    shell(
        "npm run build",
        "Build",
        "> %k@%V build\n> tsc -b && vite build\n\nvite v%V building for production...\n",
        &["dist/assets/%P-%h.js   %d kB │ gzip: %d kB\n", "dist/assets/%k-%h.css  %d kB\n", "%f(%n,%n): %e\n"],
        "✓ built in %ds",
    ),
    shell(
        "npx tsc --noEmit",
        "Type check",
        "",
        &[
            "%f(%n,%n): error TS2339: Property '%c' does not exist on type '%P'.\n",
            "%f(%n,%n): error TS2322: Type '%P' is not assignable to type '%P | undefined'.\n",
        ],
        "Found %n errors in %n files.",
    ),
    shell(
        "node scripts/%k.mjs",
        "Run the script",
        "",
        &["    at %c (%F:%n:%n)\n", "    at async %P.%c (%F:%n:%n)\n", "%e\n", "[%k] %s\n"],
        "",
    ),
];

const PYTHON: &[Shell] = &[
    shell(
        "pytest -q %f",
        "Run the tests",
        "============================= test session starts ==============================\nplatform linux -- Python 3.%n, pytest-%V\ncollected %n items\n\n",
        &[
            "%f ..........                    [ %n%%]\n",
            "FAILED %f::test_%i - %e\n",
            "%f:%n: in %i\n    %i = %i(%c)\nE   %e\n",
        ],
        "=================== %n passed, %n failed in %ds ===================",
    ),
    shell(
        "python -m %i --%k %n",
        "Run the module",
        "",
        &[
            "Traceback (most recent call last):\n  File \"%F\", line %n, in %i\n    return %i(%i)\n",
            "  File \"%F\", line %n, in %i\n    %i.%i(%n)\n",
            "INFO:%i:%s\n",
            "%e\n",
        ],
        "",
    ),
    shell(
        "ruff check . && mypy src",
        "Lint",
        "",
        &[
            "%f:%n:%n: F401 `%x.%i` imported but unused\n",
            "%f:%n: error: Item \"None\" of \"%P | None\" has no attribute \"%i\"\n",
        ],
        "Found %n errors.",
    ),
];

const GO: &[Shell] = &[
    shell(
        "go test ./... -run Test%P",
        "Run the tests",
        "",
        &[
            "ok  \texample.com/%k/%t\t%ds\n",
            "--- FAIL: Test%P (%ds)\n    %b:%n: %s\n",
            "?   \texample.com/%k/%i\t[no test files]\n",
        ],
        "FAIL",
    ),
    shell(
        "go vet ./... && go build ./...",
        "Build",
        "",
        &["%f:%n:%n: undefined: %c\n", "%f:%n:%n: %c declared and not used\n"],
        "",
    ),
];

/// Chooses a command that suits the project.
pub(crate) fn choose(ink: &mut Ink) -> &'static Shell {
    let own = match ink.names.code {
        Code::Rust => RUST,
        Code::TypeScript => TYPESCRIPT,
        Code::Python => PYTHON,
        Code::Go => GO,
    };
    if ink.rng.chance(0.4) { ink.rng.pick(own) } else { ink.rng.pick(COMMON) }
}

/// Returns the output of a command, about `length` bytes long.
pub(crate) fn print(ink: &mut Ink, shell: &Shell, length: usize) -> String {
    let mut out = String::with_capacity(length + 256);
    ink.fill(&mut out, shell.head);
    while out.len() < length && !shell.lines.is_empty() {
        let template = *ink.rng.zipf(shell.lines);
        ink.fill(&mut out, template);
    }
    ink.fill(&mut out, shell.tail);
    out.truncate(out.trim_end().len());
    out
}

/// Returns the output of a command that runs again. Most lines are the same.
pub(crate) fn print_again(ink: &mut Ink, shell: &Shell, before: &str) -> String {
    let mut out = String::with_capacity(before.len() + 256);
    for line in before.split_inclusive('\n') {
        if !shell.lines.is_empty() && ink.rng.chance(0.1) {
            let template = *ink.rng.zipf(shell.lines);
            ink.fill(&mut out, template);
        } else {
            out.push_str(line);
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Returns lines of command output, as users paste them into prompts.
pub(crate) fn paste(ink: &mut Ink, length: usize) -> String {
    let shell = choose(ink);
    print(ink, shell, length)
}

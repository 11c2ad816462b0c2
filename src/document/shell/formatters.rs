//! The programs that format, fix or rewrite files, and how to recognize those that are not in a table. Pure.

use crate::document::shell::operands;
use crate::document::shell::split::Word;

/// A program that formats or fixes files.
pub(super) struct Formatter {
    pub(super) name: &'static str,
    /// The words without which it changes nothing. Any of the alternatives in `a|b` will do.
    pub(super) needs: &'static [&'static str],
    /// The extensions of its files. Any file if empty.
    pub(super) extensions: &'static [&'static str],
}

/// Options with which a command only reports what it would do.
pub(super) const REPORTS_ONLY: [&str; 7] = ["--check", "--dry-run", "--diff", "--help", "--version", "--stat", "-n"];
const PYTHON: &[&str] = &["py", "pyi", "ipynb"];
const ANY: &[&str] = &[];
const FORMATTERS: &[Formatter] = &[
    Formatter { name: "gofmt", needs: &["-w"], extensions: &["go"] },
    Formatter { name: "goimports", needs: &["-w"], extensions: &["go"] },
    Formatter { name: "gofumpt", needs: &["-w"], extensions: &["go"] },
    Formatter { name: "go", needs: &["fmt|fix|generate"], extensions: &["go"] },
    Formatter { name: "golangci-lint", needs: &["--fix|fmt"], extensions: &["go"] },
    Formatter { name: "rustfmt", needs: &[], extensions: &["rs"] },
    Formatter { name: "cargo", needs: &["fmt|fix"], extensions: &["rs"] },
    Formatter { name: "cargo", needs: &["clippy", "--fix"], extensions: &["rs"] },
    Formatter { name: "prettier", needs: &["--write|-w"], extensions: ANY },
    Formatter { name: "eslint", needs: &["--fix"], extensions: ANY },
    Formatter { name: "stylelint", needs: &["--fix"], extensions: ANY },
    Formatter { name: "biome", needs: &["--write|--apply|--fix|--apply-unsafe"], extensions: ANY },
    Formatter { name: "dprint", needs: &["fmt"], extensions: ANY },
    Formatter { name: "deno", needs: &["fmt"], extensions: ANY },
    Formatter { name: "black", needs: &[], extensions: PYTHON },
    Formatter { name: "isort", needs: &[], extensions: PYTHON },
    Formatter { name: "ruff", needs: &["format"], extensions: PYTHON },
    Formatter { name: "ruff", needs: &["--fix"], extensions: PYTHON },
    Formatter { name: "autopep8", needs: &["-i|--in-place"], extensions: PYTHON },
    Formatter { name: "yapf", needs: &["-i|--in-place"], extensions: PYTHON },
    Formatter { name: "clang-format", needs: &["-i"], extensions: ANY },
    Formatter { name: "shfmt", needs: &["-w"], extensions: ANY },
    Formatter { name: "terraform", needs: &["fmt"], extensions: &["tf", "tfvars"] },
    Formatter { name: "mix", needs: &["format"], extensions: &["ex", "exs", "heex"] },
    Formatter { name: "dotnet", needs: &["format"], extensions: &["cs", "vb"] },
    Formatter {
        name: "rubocop",
        needs: &["-a|-A|--autocorrect|--autocorrect-all|--auto-correct"],
        extensions: &["rb"],
    },
    Formatter { name: "swiftformat", needs: &[], extensions: &["swift"] },
    Formatter { name: "ktlint", needs: &["-F|--format"], extensions: &["kt", "kts"] },
    Formatter { name: "npm", needs: &["format|fmt|lint:fix|format:fix|fix"], extensions: ANY },
    Formatter { name: "pnpm", needs: &["format|fmt|lint:fix|format:fix|fix"], extensions: ANY },
    Formatter { name: "yarn", needs: &["format|fmt|lint:fix|format:fix|fix"], extensions: ANY },
    Formatter { name: "make", needs: &["format|fmt|lint-fix"], extensions: ANY },
    Formatter { name: "pre-commit", needs: &["run"], extensions: ANY },
    Formatter { name: "ast-grep", needs: &["-U|--update-all|-i|--interactive"], extensions: ANY },
    Formatter { name: "sg", needs: &["-U|--update-all|-i|--interactive"], extensions: ANY },
    Formatter { name: "cargo", needs: &["insta", "accept|review|test"], extensions: &["rs", "snap"] },
    Formatter { name: "cargo", needs: &["add|remove|rm|update|upgrade"], extensions: &["Cargo.toml", "Cargo.lock"] },
    Formatter { name: "go", needs: &["mod|get"], extensions: &["go.mod", "go.sum"] },
];
/// Programs that rewrite the files and folders they are given, or else the working directory.
const REWRITERS: [&str; 28] = [
    "2to3",
    "alejandra",
    "astyle",
    "autoflake",
    "buildifier",
    "codemod",
    "comby",
    "csharpier",
    "docformatter",
    "fourmolu",
    "indent",
    "jscodeshift",
    "jupytext",
    "latexindent",
    "lint-staged",
    "ormolu",
    "perltidy",
    "phpcbf",
    "pint",
    "purs-tidy",
    "pyupgrade",
    "rufo",
    "shred",
    "stylish-haskell",
    "stylua",
    "treefmt",
    "uncrustify",
    "objcopy",
];
/// Programs that run a task of the project by its name, on the whole project.
const TASK_RUNNERS: [&str; 32] = [
    "ant", "bun", "composer", "dart", "dune", "flutter", "gradle", "gradlew", "grunt", "gulp", "hatch", "invoke",
    "just", "lefthook", "make", "moon", "mvn", "mvnw", "nix", "nox", "npm", "nx", "pdm", "pnpm", "poe", "rake", "sbt",
    "task", "tox", "turbo", "uv", "yarn",
];
/// Options with which most linters change files.
const FIX_OPTIONS: [&str; 7] =
    ["--fix", "--write", "--in-place", "--inplace", "--autocorrect", "--fix-all", "--replace"];
/// Programs whose arguments may look like those of a formatter, but that format nothing.
const OTHERS: [&str; 33] = [
    "awk", "bash", "cat", "cd", "docker", "echo", "fd", "find", "fmt", "gawk", "gh", "git", "grep", "head", "jq",
    "kubectl", "ls", "mkdir", "node", "numfmt", "perl", "printf", "python", "python3", "rg", "rm", "rsync", "ruby",
    "sed", "sh", "tail", "test", "xargs",
];
/// Words before a command that runs another one: `npx prettier`, `python -m black`, `uv run ruff`.
const RUNNERS: [&str; 12] =
    ["npx", "bunx", "uvx", "pipx", "run", "exec", "dlx", "poetry", "uv", "pdm", "bundle", "pnpm"];

/// Reports whether a program that is in no table formats the whole project: a task such as `just fmt`.
pub(super) fn is_format_task(name: &str, arguments: &[Word]) -> bool {
    TASK_RUNNERS.contains(&name)
        && !has(arguments, &REPORTS_ONLY)
        && (has(arguments, &FIX_OPTIONS) || arguments.iter().filter_map(Word::literal).any(names_formatting))
}

/// Reports whether a program that is in no table rewrites the files it is given: by its name, by an option such as
/// `--fix`, or by a subcommand such as `fmt`.
pub(super) fn is_rewriter(name: &str, arguments: &[Word]) -> bool {
    let is_known = FORMATTERS.iter().any(|formatter| formatter.name == name);
    if is_known || OTHERS.contains(&name) || TASK_RUNNERS.contains(&name) || has(arguments, &REPORTS_ONLY) {
        return false;
    }
    let subcommand = operands(arguments, &[]).first().and_then(|word| word.literal()).unwrap_or_default();
    REWRITERS.contains(&name)
        || names_formatting(name)
        || has(arguments, &FIX_OPTIONS)
        || (names_formatting(subcommand) && !subcommand.contains(['/', '.']))
}

/// Reports whether the name of a program or of a task says that it formats: `lint:fix`, `shfmt`, `spotlessApply`.
pub(super) fn names_formatting(word: &str) -> bool {
    if word.starts_with('-') {
        return false;
    }
    let lower = word.to_ascii_lowercase();
    let parts = || lower.split([':', '-', '_', '/', '@']);
    let is_check = parts().any(|part| matches!(part, "check" | "ci" | "verify" | "diff" | "dry"));
    let is_format = |part: &str| {
        matches!(part, "fix" | "autofix" | "prettier" | "spotlessapply")
            || part.ends_with("fmt")
            || part.ends_with("format")
            || part.starts_with("scalafmt")
    };
    !is_check && parts().any(is_format)
}

/// Returns the formatter that a command runs, if it changes files.
pub(super) fn formatter(name: &str, arguments: &[Word]) -> Option<&'static Formatter> {
    let is_present = |need: &&str| need.split('|').any(|need| has(arguments, &[need]));
    FORMATTERS
        .iter()
        .find(|formatter| formatter.name == name && formatter.needs.iter().all(&is_present))
        .filter(|_| !has(arguments, &REPORTS_ONLY))
}

/// Returns the command that a runner such as `npx` runs.
pub(super) fn after_runner(words: &[Word]) -> &[Word] {
    let mut words = words;
    loop {
        let literal = |at: usize| words.get(at).and_then(Word::literal).unwrap_or_default();
        let is_script = matches!(literal(1), "run" | "format" | "fmt" | "lint:fix" | "fix");
        words = match literal(0) {
            "npx" | "bunx" | "uvx" if literal(1).starts_with('-') => &words[2..],
            "python" | "python3" if literal(1) == "-m" => &words[2..],
            "pnpm" | "yarn" if is_script => return words,
            "yarn" | "bun" if FORMATTERS.iter().any(|formatter| formatter.name == literal(1)) => &words[1..],
            "npm" | "hatch" | "pipenv" | "rye" if matches!(literal(1), "exec" | "x" | "run") && words.len() > 2 => {
                if literal(0) == "npm" && literal(1) == "run" {
                    return words;
                }
                &words[2..]
            }
            "--" => &words[1..],
            runner if RUNNERS.contains(&runner) && words.len() > 1 => &words[1..],
            _ => return words,
        };
    }
}

/// Reports whether any word is one of `wanted`.
pub(super) fn has(words: &[Word], wanted: &[&str]) -> bool {
    words.iter().filter_map(Word::literal).any(|word| wanted.contains(&word))
}

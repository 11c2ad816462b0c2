//! Every fixture of `fixtures/`: what must be found in it and with which role, and what must not be found, as its
//! README says.
//!
//! Words are searched as phrases, so that a word with a dash is not found by its halves. A test collects all
//! differences before it fails, so that one run shows the whole table.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde_json::Value;

use crate::support::env::Env;

/// Word, number of hits, beginning of the session id, role, kind, beginning of the id of another session that contains
/// it too.
type Row = (&'static str, usize, &'static str, &'static str, &'static str, &'static str);

/// Prompts, answers, thinking and summaries of the main files.
const MAIN: &[Row] = &[
    ("narwhal-offset", 1, "03000001", "assistant", "text", "03000002"),
    ("pangolin", 1, "03000002", "assistant", "text", ""),
    ("hoatzin-before", 1, "12000001", "assistant", "text", ""),
    ("hoatzin-after", 1, "12000001", "assistant", "text", ""),
    ("takinsummary", 1, "12000001", "assistant", "compaction", ""),
    ("secondroot ocelot", 1, "13000001", "human", "prompt", ""),
    ("deadbranchokapi reply", 1, "13000001", "assistant", "text", ""),
    ("danglingparent", 1, "13000001", "human", "prompt", ""),
    ("bgonlyserval", 1, "14000002", "assistant", "text", ""),
    ("forknewcolugo", 1, "15000002", "assistant", "text", ""),
    ("splitmessagebilby", 1, "16000001", "assistant", "text", ""),
    ("multiblocknutria", 1, "16000001", "assistant", "text", ""),
    ("streamprefixgibbon", 1, "16000001", "assistant", "text", ""),
    ("thinkingtextquoll", 1, "17000001", "assistant", "thinking", ""),
    ("tolerancefirst", 1, "24000001", "human", "prompt", ""),
    ("besideblocksable", 1, "24000001", "human", "prompt", ""),
    ("oddfieldsprairiedog", 1, "24000001", "human", "prompt", ""),
    ("tolerancelast", 1, "24000001", "assistant", "text", ""),
    ("awaysummarymeerkat", 1, "25000001", "assistant", "recap", ""),
    ("voicetalkmargay", 1, "25000001", "human", "prompt", ""),
    ("unarchivetapir", 1, "27000002", "human", "prompt", ""),
    ("quetzalsummary", 1, "11000003", "assistant", "title", ""),
    ("pull request #418", 1, "25000001", "assistant", "link", ""),
];

/// Messages from and to subagents.
const AGENTS: &[Row] = &[
    ("hourglass-lemur", 1, "02000001", "subagent", "text", ""),
    ("tapirwidth", 1, "04000001", "subagent", "text", ""),
    ("orphankakapo", 1, "04000098", "subagent", "text", ""),
    ("numbat-abort", 1, "05000001", "subagent", "text", ""),
    ("numbatretry", 1, "05000001", "subagent", "thinking", ""),
    ("cassowaryflow", 1, "05000001", "subagent", "text", ""),
    ("axolotlorphan", 1, "05000098", "subagent", "text", ""),
    // The first line of the agent is the prompt of its parent's call: one hit, which is the call.
    ("Survey every HTTP client", 1, "05000001", "tool", "tool_use", ""),
    ("ibexcompact", 1, "06000001", "subagent", "text", ""),
    ("gerenuk", 1, "06000001", "subagent", "prompt", ""),
    ("gerenukreply", 1, "06000001", "subagent", "text", ""),
    ("dikdiksuggestion", 1, "06000001", "subagent", "text", ""),
    ("bongoprogress", 1, "07000001", "subagent", "text", ""),
    ("zorillaprogress", 1, "07000001", "subagent", "text", ""),
    ("namedforksifaka", 1, "15000001", "subagent", "text", ""),
];

/// Tool calls and their results, each found once however many copies the line contains.
const TOOLS: &[Row] = &[
    ("serverquerylori", 1, "17000001", "tool", "tool_use", ""),
    ("serverresultcivet", 1, "17000001", "tool", "tool_result", ""),
    ("stringinputtenrec", 1, "18000001", "tool", "tool_use", ""),
    ("unparsedsolenodon", 1, "18000001", "tool", "tool_use", ""),
    ("brokentoolaardvark", 1, "18000001", "tool", "tool_use", ""),
    ("serenasymbolgenet", 1, "18000001", "tool", "tool_result", ""),
    ("planlemming", 1, "18000001", "tool", "tool_use", ""),
    ("stringresultfossa", 1, "19000001", "tool", "tool_result", ""),
    ("arrayresultlangur", 1, "19000001", "tool", "tool_result", ""),
    ("absentresultnilgai", 1, "19000001", "tool", "tool_result", ""),
    ("arrowlinepotto", 1, "19000001", "tool", "tool_result", ""),
    ("tablinegalago", 1, "19000001", "tool", "tool_result", ""),
    ("ansicoloured_kinkajou", 1, "19000001", "tool", "tool_result", ""),
    ("spilledonlysitatunga", 1, "19000001", "tool", "output", ""),
    ("answertuatara", 1, "19000001", "tool", "tool_result", ""),
    ("websearchmarkhor", 1, "19000001", "tool", "tool_result", ""),
    ("pdfpromptsuni", 1, "19000001", "human", "prompt", ""),
];

/// Prompts in the queue, in attachments or in the prompt history.
const QUEUED: &[Row] = &[
    ("quokkaqueue", 1, "08000001", "human", "queued", ""),
    ("fennecblocklist", 1, "08000001", "human", "queued", ""),
    ("bandicootdequeue", 1, "08000001", "human", "prompt", ""),
    ("binturongpopall second", 2, "08000001", "human", "queued", ""),
    ("tarsierqueued", 1, "09000001", "human", "queued", ""),
    ("mangabeyblock", 1, "09000001", "human", "queued", ""),
    ("historyonlywolverine", 1, "", "human", "history", ""),
    ("historyonlyhoneybadger", 1, "27000091", "human", "history", ""),
    ("historyonlypolecat", 1, "27000092", "human", "history", ""),
    ("historypastedermine", 1, "27000092", "human", "history", ""),
    ("history-only", 1, "27000093", "human", "history", ""),
    ("historyonlystoatling", 1, "27000094", "human", "history", ""),
    // Prompts that both the history and a session contain.
    ("sidebar of the blog overlaps", 1, "04000001", "human", "prompt", ""),
    ("fails with E0603", 1, "00000001", "human", "prompt", ""),
    ("Idempotency-Key arriving within 3 ms", 1, "08000001", "human", "prompt", ""),
];

/// Roles of messages: fixture 20.
const ROLES: &[Row] = &[
    ("humanpromptwallaby", 1, "20000001", "human", "prompt", ""),
    ("ideprompthyrax", 1, "20000001", "human", "prompt", ""),
    ("ideselectiongaur", 1, "20000001", "human", "prompt", ""),
    ("aroundpastekudu", 1, "20000001", "human", "prompt", ""),
    ("voicecallbanteng", 1, "20000001", "human", "prompt", ""),
    ("pastedcontentanoa", 1, "20000001", "human", "prompt", ""),
    ("commandargsdugong", 1, "20000001", "human", "command", ""),
    ("bashinputserow", 1, "20000001", "human", "command", ""),
    ("bashstdoutgoral", 1, "20000001", "tool", "output", ""),
    ("localstdoutmanatee", 1, "20000001", "tool", "output", ""),
    ("localcommandkob", 1, "20000004", "tool", "output", ""),
    ("rejectfeedbackbushbuck", 1, "20000001", "tool", "tool_result", ""),
    ("compactclassifyreedbuck", 1, "20000001", "assistant", "compaction", ""),
    ("apierrorlechwe", 1, "20000001", "assistant", "text", ""),
    ("programmaticpromptimpala", 1, "20000002", "programmatic", "prompt", ""),
    ("programmaticreplyimpala", 1, "20000002", "assistant", "text", ""),
    ("sendmessagesteenbok", 1, "20000003", "tool", "tool_use", ""),
    ("teamreplysteenbok", 1, "20000003", "assistant", "text", ""),
];

/// Text that Claude Code itself inserted; found only because nothing else contains the word.
const META: &[Row] = &[
    ("peccary", 1, "01000001", "meta", "notice", ""),
    ("attachedfilepika", 1, "09000001", "meta", "attachment", ""),
    ("editedfiledegu", 1, "09000001", "meta", "attachment", ""),
    ("nestedvole", 1, "09000001", "meta", "attachment", ""),
    ("planfilesaiga", 1, "09000001", "meta", "attachment", ""),
    ("informationalrhebok", 1, "25000001", "meta", "notice", ""),
    ("wip-puffin", 1, "10000007", "meta", "attachment", ""),
];

/// Words that occur only in data that is not indexed: files before an edit, signatures, side files, progress.
const NOT_INDEXED: &[&str] = &[
    "legacy_marmot_backoff",
    "journalonlymarker",
    "wombatsignature",
    "redactedwombat",
    "progressnoise",
    "reminderloris",
    "stophooknoise",
    "staleindexnoise",
    "memorynotenoise",
    "filehistorynoise",
];

/// Words that a search finds only when nothing else contains them, if at all.
const NOISE: &[&str] = &[
    "notificationnoise",
    "attnoise",
    "caveatnoise",
    "skillbodynoise",
    "peernoise",
    "tasknotenoise",
    "ideopenednoise",
    "ideselectionnoise",
    "hookoriginnoise",
    "Continue from where you left off",
    "unknowntypenoise",
    "unknownblocknoise",
    "untypednoise",
    "unknownsubtypenoise",
    "unknownattachmentnoise",
    "bridgestatusnoise",
];

#[test]
fn main_transcripts() {
    check(MAIN);
}

#[test]
fn subagents() {
    check(AGENTS);
}

#[test]
fn tools() {
    check(TOOLS);
}

#[test]
fn prompts_outside_user_lines() {
    check(QUEUED);
}

#[test]
fn roles_of_messages() {
    check(ROLES);
    let error = ask(&home(), "\"apierrorlechwe\"");
    assert_eq!(error.hits[0]["error"], true, "an API error must be marked");
}

#[test]
fn found_only_in_text_that_claude_code_inserted() {
    check(META);
}

#[test]
fn words_in_data_that_is_not_indexed_are_not_found() {
    let env = home();
    let found = NOT_INDEXED.iter().filter(|word| ask(&env, &quoted(word)).code != 1);
    assert_eq!(found.collect::<Vec<_>>(), [&""; 0]);
}

#[test]
fn noise_is_not_found_by_default() {
    let env = home();
    let found = NOISE.iter().filter(|word| !is_hidden(&env, word));
    assert_eq!(found.collect::<Vec<_>>(), [&""; 0]);
}

/// A warm-up message is the only content of an agent's file. (The one in `20000001` could also be from a person.)
#[test]
fn warmup_of_an_agent_is_noise() {
    let sessions: BTreeSet<String> = ask(&home(), "Warmup").hits.iter().map(session_of).collect();
    assert!(!sessions.iter().any(|session| session.starts_with("04")), "{sessions:?}");
}

/// acompact and aside_question repeat lines of their parent; the parent's line must be shown.
#[test]
fn copy_in_a_subagent_is_shown_in_the_parent() {
    check(&[("capybarapath", 1, "06000001", "assistant", "text", "")]);
    assert_eq!(ask(&home(), "capybarapath").hits[0]["agent_id"], Value::Null);
}

/// A background session repeats lines and times of the session it continues: the lower path is the original.
#[test]
fn the_first_of_equal_copies_is_shown() {
    check(&[("sharedforkmarmoset", 1, "14000001", "assistant", "text", "14000002")]);
}

/// A fork by the SDK has new ids and refers to the old ones.
#[test]
fn fork_by_the_sdk_is_one_hit() {
    check(&[("forkoriginjerboa", 1, "15000001", "assistant", "text", "15000002")]);
}

#[test]
fn resume_copy_has_the_earliest_time() {
    let time = ask(&home(), "\"narwhal-offset\"").hits[0]["timestamp"].clone();
    assert!(time.as_str().is_some_and(|time| time.starts_with("2025-06-30")), "{time}");
}

/// Queue, attachment and user line contain the same prompt.
#[test]
fn triple_prompt_is_one_hit() {
    check(&[("tripletcoati", 1, "09000001", "human", "prompt", "")]);
}

/// A shell command from the queue was typed by a person, like any other.
#[test]
fn queued_shell_command_is_a_command() {
    check(&[("potoobashmode", 1, "09000001", "human", "command", "")]);
}

/// A frame link is a known type: its title is found, and the line does not count as unknown.
#[test]
fn frame_link_is_known() {
    let asked = ask(&home(), "framelinkcaracal");
    let kinds: Vec<(String, &Value)> = asked.hits.iter().map(|hit| (session_of(hit), &hit["kind"])).collect();
    assert_eq!(kinds, [("25000001".to_string(), &Value::from("link"))]);
}

/// Queries as people type them, and the session that must come first.
#[test]
fn best_hits() {
    let rows = [
        ("E0603 PostingBatch private", "00000001"),
        ("priceBus PriceWatcher listeners", "00000002"),
        ("Symbol.dispose", "00000002"),
        ("cargo install zola", "00000003"),
        ("taiki-e/install-action@v2", "00000003"),
        ("sku_pattern fullmatch", "01000001"),
        ("fold_from_dst_flag", "03000002"),
        ("parseRetryAfter", "05000001"),
        ("parse retry after", "05000001"),
        ("HTTP 429", "05000001"),
        ("--dry-run", "05000001"),
        ("Survey Retry-After handling", "05000001"),
        ("v2.1.36", "16000001"),
        ("v2.1.38", "16000001"),
        ("v2.1.39", "16000001"),
        ("Apple Pay total counts shipping twice", "25000001"),
        ("dana/lantern-shop pull request 418", "25000001"),
    ];
    best(&rows);
}

/// Words in scripts without spaces, with accents, in titles and in paths.
#[test]
fn languages() {
    let rows = [
        ("查询", "26000001"),
        ("数据库查询", "26000001"),
        ("分词", "26000001"),
        ("借阅记录性能优化", "26000001"),
        ("並び順", "26000002"),
        ("五十音", "26000002"),
        ("부동소수점", "26000003"),
        ("합계", "26000003"),
        ("합계가", "26000003"),
        ("ветер", "26000004"),
        ("ветра", "26000004"),
        ("Größe", "26000004"),
        ("große", "26000004"),
        ("brulee", "26000004"),
        ("Hot reload & emoji paths", "26000005"),
        ("kasespatzle", "10000003"),
    ];
    best(&rows);
}

#[test]
fn emoji_is_found() {
    best(&[("🚀", "26000005")]);
}

/// The titles of sessions in JSON, found by a word of the session.
#[test]
fn titles() {
    let rows = [
        ("scaleIngredients", "Servings slider"),
        ("\"hides figure\"", "Print stylesheet head-only title"),
        ("\"fold diacritics\"", "Diacritic folding in search"),
        ("\"throttled in background tabs\"", "and now the last prompt about the proofing alarm"),
        ("\"describes the recipe schema\"", "Recipe schema walkthrough"),
        ("\"density table\"", "first prompt is the title here: convert cups to grams"),
        ("\"tag me\"", "tag me"),
        ("\"readers have no base url\"", "RSS feed: absolute image URLs"),
        (
            "humanpromptwallaby",
            "Human prompt of the classification session: round half to even in payout.rs please (humanpromptwallaby)",
        ),
        ("awaysummarymeerkat", "Apple Pay total counts shipping twice"),
        ("forknewcolugo", "Parquet export (fork)"),
        ("五十音", "買い物リストの並び順を固定"),
    ];
    let env = home();
    let wrong = rows
        .map(|(query, title)| (query, title, title_of(&env, query)))
        .into_iter()
        .filter(|(_, title, found)| title != found);
    assert_eq!(wrong.collect::<Vec<_>>(), []);
    // Two files have a summary for the last message of this session; either is fine.
    assert!(title_of(&env, "\"old orchard wiki\"").starts_with("Old http links in posts"));
}

/// A file that contains only summaries, none of them of its own messages.
#[test]
fn title_of_a_session_with_only_summaries() {
    assert_eq!(title_of(&home(), "quetzalsummary"), "Webmention endpoint setup quetzalsummary");
}

/// Claude Code's rule: without a prompt, a command is the title.
#[test]
fn title_of_a_session_with_only_a_command() {
    assert_eq!(title_of(&home(), "localcommandkob"), "/cost");
}

/// The project is the folder named in the lines, whatever the name of the directory.
#[test]
fn projects() {
    let rows = [
        ("dirwindows", r"C:\Users\dana\source\repos\Kassenbuch.Web"),
        ("dirhangul", "/home/dana/code/장부앱"),
        ("diremoji", "/home/dana/code/🚀launcher"),
        ("dirdot", "/home/dana/.config/nvim"),
        ("dirspace", "/home/dana/My Documents/tax tool (2025)"),
        ("dirdrivecase", r"D:\Lager\Kasse"),
        ("direnv", "/home/dana/code/nightly-ci"),
        ("dirworktree", "/home/dana/code/kettle"),
        ("worktreecwdeland", "/home/dana/code/kettle"),
        ("dirsubfolder", "/home/dana/code/kettle/firmware/boot"),
        ("hourglass-lemur", "/home/dana/code/lantern-shop"),
        ("historyonlystoatling", r"D:\Projekte\Frachtbrief"),
    ];
    let env = home();
    for (word, project) in rows {
        assert_eq!(ask(&env, &quoted(word)).hits[0]["project"], project, "{word}");
    }
    let moved = ask(&env, "worktreecwdeland").hits.remove(0);
    assert_eq!(moved["cwd"], "/home/dana/code/kettle/.claude/worktrees/timer-refactor");
    assert_eq!(moved["branch"], "worktree-timer-refactor");
}

/// One call for each key that names a file; all paths are normalized.
#[test]
fn files_of_calls() {
    let rows = [
        ("HsCode.Trim", "d:/Projekte/Frachtbrief/src/Export/ZollExporter.cs"),
        ("csproj", "d:/Projekte/Frachtbrief/src"),
        ("files_with_matches", "d:/projekte/frachtbrief/tests"),
        ("planlemming", "c:/Users/dana/.claude/plans/zoll.md"),
        ("findReferences", "d:/Projekte/Frachtbrief/src/Model/Ware.cs"),
        ("\"ZollExporter/Zeile\"", "d:/Projekte/Frachtbrief/src/Export/ZollExporter.cs"),
        ("zoll-maske.png", "d:/Projekte/Frachtbrief/zoll-maske.png"),
        ("\"Frachtbrief/docs\"", "d:/Projekte/Frachtbrief/docs"),
        ("export_2026-03.csv", "d:/Projekte/Frachtbrief/out/export_2026-03.csv"),
        ("gewichte.ipynb", "d:/Projekte/Frachtbrief/analyse/gewichte.ipynb"),
        ("workflows/release.js", "d:/Projekte/Frachtbrief/.claude/workflows/release.js"),
    ];
    let env = home();
    let wrong = rows.iter().filter(|(query, file)| !calls_with(&env, query).contains(*file));
    assert_eq!(wrong.collect::<Vec<_>>(), [&("", ""); 0]);
}

/// A file URI names the same file as its path.
#[test]
fn file_named_by_a_uri() {
    let files: Vec<Value> =
        ask(&home(), "ZollExporter").hits.into_iter().filter(|hit| hit["tool"] == "mcp__ide__getDiagnostics").collect();
    assert!(!files.is_empty());
    assert!(
        files.iter().all(|hit| hit["files"][0] == "d:/Projekte/Frachtbrief/src/Export/ZollExporter.cs"),
        "{files:?}"
    );
}

/// All lines of `home` are valid JSON, but an array, a string and `null` are not records.
#[test]
fn home_has_three_problems() {
    let problems = home().problems();
    let in_fixture_24: Vec<&String> = problems.iter().filter(|line| line.contains("24000001")).collect();
    assert_eq!((problems.len(), in_fixture_24.len()), (3, 3), "{problems:?}");
    home().verify();
}

const GOOD: &str = "tornheadbefore tornheadafter gluedbefore gluedfirst gluedsecond gluedafter titlehedgehog gluepairbefore \
    gluepairone gluepairtwo gluepairafter nullinebefore nullineafter nultailbefore nultailrecord nultailafter stubbefore \
    stubglued stubafter surrogatebefore surrogateline surrogateafter nulescapebefore nulescapeline nulescapeafter foreignbom \
    foreigncrlf foreignspaced foreigninvalidutf foreignlast torntailbefore allgoodone allgoodtwo allgoodthree allgoodfour \
    allgoodfive allgoodsix allgoodseven allgoodeight allgoodten allgoodeleven allgoodtwelve allgoodthirteen allgoodfourteen";

#[test]
fn malformed_lines_affect_only_themselves() {
    let env = indexed("malformed");
    let missing = GOOD.split_whitespace().filter(|word| ask(&env, word).hits.len() != 1);
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
    for lost in ["tornheadlost", "stubcutoff", "torntailcut", "allgoodnine"] {
        assert_eq!(ask(&env, &quoted(lost)).code, 1, "{lost}");
    }
    assert!(is_hidden(&env, "garbageonlyfile"));
    assert_eq!(title_of(&env, "gluedfirst"), "glued summary titlehedgehog");
    env.heal();
}

#[test]
fn malformed_lines_are_listed() {
    let places = [
        ("21000001", 2, "not a JSON record"),
        ("21000004", 2, "371 NUL bytes"),
        ("21000005", 2, "128 NUL bytes"),
        ("21000006", 2, "not a JSON record"),
        ("21000011", 1, "not a JSON record"),
        ("21000011", 2, "not a JSON record"),
        ("21000020", 3, "not a JSON record"),
        ("21000020", 6, "200 NUL bytes"),
        ("21000020", 8, "64 NUL bytes"),
        ("21000020", 10, "not a JSON record"),
        ("21000020", 13, "not a JSON record"),
    ];
    let problems = indexed("malformed").problems();
    for (file, line, reason) in places {
        let here = |problem: &&String| problem.contains(file) && problem.contains(&format!(".jsonl:{line}: {reason}"));
        assert_eq!(problems.iter().filter(here).count(), 1, "{file}:{line} in {problems:#?}");
    }
    assert_eq!(problems.len(), places.len(), "{problems:#?}");
}

/// Such a path cannot be checked out everywhere, so the test creates it.
#[test]
fn project_name_over_200_characters() {
    let env = Env::new();
    let staged = fixture("staged/over-200-characters");
    let name = std::fs::read_to_string(staged.join("directory-name.txt")).expect("read");
    let file = "23000007-5e55-4000-8000-002300000007.jsonl";
    env.write(Path::new(name.trim()).join(file), std::fs::read(staged.join(file)).expect("read"));
    env.heal();
    let hit = ask(&env, "dirlong").hits.remove(0);
    let project = hit["project"].as_str().expect("a project");
    assert!(project.len() > 200 && project.ends_with("/src/main"), "{project}");
}

const STATES: [&str; 8] = [
    "01-start",
    "02-appended",
    "03-half-record",
    "04-completed",
    "05-no-final-newline",
    "06-shrunk",
    "07-rewritten-same-size",
    "08-rewritten-and-grown",
];

const GROWING: [&str; 9] =
    ["growone", "growtwo", "growthree", "growfour", "growfive", "growsix", "growseven", "grownew", "growtwx"];

#[test]
fn growing_file_is_found_as_it_is() {
    let env = Env::new();
    let name = "-home-dana-code-grow/22000001-5e55-4000-8000-002200000001.jsonl";
    for state in STATES {
        let bytes = std::fs::read(fixture("growth").join(state).with_extension("jsonl")).expect("read");
        env.write(name, &bytes);
        env.index();
        for word in GROWING {
            assert_eq!(env.count(word), records_with(&bytes, word), "{word} in {state}");
        }
        env.verify();
    }
    let last = std::fs::read(env.file(name)).expect("read");
    let fresh = Env::new();
    fresh.write(name, last);
    fresh.index();
    assert_eq!(everything(&env), everything(&fresh));
}

#[test]
fn appended_title_renames_the_session() {
    let env = Env::new();
    let name = "-home-dana-sites-recipe-box/10000001-5e55-4000-8000-001000000001.jsonl";
    let states =
        [("titles-01-start", "Servings slider"), ("titles-02-custom-title-appended", "Servings slider, final name")];
    for (state, title) in states {
        env.write(name, std::fs::read(fixture("growth").join(state).with_extension("jsonl")).expect("read"));
        env.heal();
        assert_eq!(title_of(&env, "scaleIngredients"), title);
    }
    assert_eq!(env.count("\"Servings slider\""), 1, "the old title must be gone");
}

/// The answer of one search.
struct Answer {
    code: i32,
    hits: Vec<Value>,
    only_meta: bool,
}

fn ask(env: &Env, query: &str) -> Answer {
    let ran = env.run(&["search", "--no-refresh", "--json", "--messages", "-n", "1000", query]);
    assert!(matches!(ran.code, 0 | 1), "search for {query} failed: {} {}", ran.code, ran.stderr);
    let mut lines: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let summary = lines.pop().expect("a summary");
    Answer { code: ran.code, hits: lines, only_meta: summary["only_meta"] == true }
}

fn quoted(word: &str) -> String {
    format!("\"{word}\"")
}

/// Reports whether nothing is found, or only text that Claude Code inserted.
fn is_hidden(env: &Env, word: &str) -> bool {
    let asked = ask(env, &quoted(word));
    asked.hits.is_empty() || (asked.only_meta && asked.hits.iter().all(|hit| hit["role"] == "meta"))
}

fn check(rows: &[Row]) {
    let env = home();
    let wrong: Vec<String> = rows.iter().filter_map(|row| differs(&env, row)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Describes how the answer differs from the table.
fn differs(env: &Env, (word, count, session, role, kind, also): &Row) -> Option<String> {
    let asked = ask(env, &quoted(word));
    let also: Vec<&str> = also.split_whitespace().collect();
    let wanted = format!("{session} {role} {kind} {also:?}");
    let found: Vec<String> = asked.hits.iter().map(describe).collect();
    let is_right = found.len() == *count && found.iter().all(|found| *found == wanted);
    let is_meta = *role == "meta";
    (!is_right || asked.only_meta != is_meta).then(|| format!("{word}: want {count} × {wanted}, got {found:#?}"))
}

fn describe(hit: &Value) -> String {
    let also: Vec<String> = hit["also_in"].as_array().into_iter().flatten().map(short).collect();
    format!("{} {} {} {also:?}", session_of(hit), text(&hit["role"]), text(&hit["kind"]))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn short(id: &Value) -> String {
    text(id).chars().take(8).collect()
}

fn session_of(hit: &Value) -> String {
    short(&hit["session_id"])
}

fn title_of(env: &Env, query: &str) -> String {
    ask(env, query).hits.first().map(|hit| text(&hit["title"]).to_string()).unwrap_or_default()
}

/// The best hit of each query must be in the session named.
fn best(rows: &[(&str, &str)]) {
    let env = home();
    let first = |query: &str| ask(&env, query).hits.first().map(session_of).unwrap_or_default();
    let wrong = rows
        .iter()
        .map(|(query, session)| (query, session, first(query)))
        .filter(|(_, session, found)| *session != found);
    assert_eq!(wrong.collect::<Vec<_>>(), []);
}

/// The files of all tool calls that a query finds.
fn calls_with(env: &Env, query: &str) -> BTreeSet<String> {
    let calls = ask(env, query).hits.into_iter().filter(|hit| hit["kind"] == "tool_use");
    calls
        .flat_map(|hit| hit["files"].as_array().cloned().unwrap_or_default())
        .map(|file| text(&file).to_string())
        .collect()
}

/// The number of complete records of a file that contain a word.
fn records_with(bytes: &[u8], word: &str) -> usize {
    let records = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    records.filter(|record| record["message"].to_string().contains(word)).count()
}

/// All hits of all growing words, by what identifies them.
fn everything(env: &Env) -> BTreeSet<(String, u64, String)> {
    let hits = env.hits(&GROWING.join(" ")).into_iter();
    let all: BTreeSet<_> = hits
        .map(|hit| {
            (
                text(&hit["uuid"]).to_string(),
                hit["offset"].as_u64().expect("a number"),
                text(&hit["snippet"]["text"]).to_string(),
            )
        })
        .collect();
    assert_eq!(all.len(), 4, "{all:?}");
    all
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn indexed(name: &str) -> Env {
    let env = Env::with_fixtures(name);
    env.index();
    env
}

/// The home of the fixtures, indexed once and shared by the tests that run at the same time. Not a `LazyLock`: a static
/// is never dropped, and its folder would never be removed.
fn home() -> Arc<Env> {
    static HOME: Mutex<Weak<Env>> = Mutex::new(Weak::new());
    let mut shared = HOME.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let env = Arc::new(indexed("home"));
        *shared = Arc::downgrade(&env);
        env
    })
}

//! The library as another program uses it: through `Archive` alone.

use std::fs;
use std::sync::Arc;

use unspool::archive::conversation::Piece;
use unspool::archive::history::Writer;
use unspool::archive::request::{Context, ConversationRequest, FileQuestion, FileRequest, SearchRequest};
use unspool::archive::{Archive, FileAnswer, Local, Note, ThreadRunner};
use unspool::transcript::discover::Root;

use crate::support::env::Env;
use crate::support::transcript::{session, user_line};

fn archive(env: &Env) -> Archive {
    let root = Root { path: env.claude(), required: true };
    let local = Arc::new(Local::new(vec![root], &env.index_dir()));
    Archive::new(local.clone(), Box::new(ThreadRunner::new(local, || 1_794_787_200_000)))
}

fn ask(text: &str) -> SearchRequest {
    SearchRequest { text: Some(text.to_string()), ..SearchRequest::default() }
}

#[test]
fn a_second_program_searches_opens_the_hit_and_blames() {
    let env = Env::with_fixtures("home");
    let archive = archive(&env);
    let context = Context { folder: Some("/home/dana/code/paperplane".to_string()), ..Context::default() };
    let mut notes = Vec::new();
    archive.freshen(&mut |note| notes.push(note)).expect("fresh");
    assert_eq!(notes, [Note::FirstIndex]);

    let answer = archive.search(&ask("parseRetryAfter kind:prompt"), &context).expect("an answer");
    let hit = &answer.sessions[0].hits[0];
    let uuid = hit.uuid.as_ref().expect("an id").raw().to_string();
    let request = ConversationRequest { id: uuid.clone(), context: Some(1), ..ConversationRequest::default() };
    let conversation = archive.conversation(&request, &context).expect("a conversation");
    assert_eq!(conversation.target.uuid.as_deref(), Some(uuid.as_str()));
    let turns: Vec<_> = conversation.turns.map(|turn| turn.expect("a turn").piece).collect();
    assert!(turns.iter().any(|piece| matches!(piece, Piece::Message(message) if message.uuid.as_ref() == Some(&uuid))));

    let question = FileQuestion::Contents { at: Default::default() };
    let path = "src/auth/token.rs".to_string();
    let file = |question| {
        let request = FileRequest { path: path.clone(), question, ..FileRequest::default() };
        archive.file(&request, &context).expect("an answer")
    };
    let FileAnswer::Contents(recovered) = file(question) else { panic!("contents") };
    let FileAnswer::Blame(blame) = file(FileQuestion::Blame { contents: recovered.contents }) else { panic!("lines") };
    assert!(blame.lines.iter().any(|(_, writer)| matches!(writer, Writer::Action(_))));
}

/// A process keeps an archive for hours: answers change only when it asks for a newer commit, and files of old commits
/// are let go.
#[test]
fn a_kept_archive_follows_the_index_and_lets_go_of_old_files() {
    let env = Env::new();
    let id = session(1);
    let name = format!("-p/{id}.jsonl");
    env.write(&name, user_line(&id, 1, "tapir"));
    let archive = archive(&env);
    let context = Context::default();
    let count = || archive.search(&ask("tapir"), &context).expect("an answer").total_hits;
    archive.freshen(&mut |_| {}).expect("fresh");
    for number in 2..30 {
        env.append(&name, user_line(&id, number, "tapir"));
        assert_eq!(count(), number as usize - 1, "an answer comes from the commit that is open");
        archive.freshen(&mut |note| panic!("{note}")).expect("fresh");
        assert_eq!(count(), number as usize);
    }
    let maps = fs::read_to_string("/proc/self/maps").expect("maps");
    let folder = env.index_dir().to_string_lossy().into_owned();
    let gone: Vec<&str> = maps.lines().filter(|line| line.contains(&folder) && line.ends_with("(deleted)")).collect();
    assert_eq!(gone, [""; 0], "files of old commits are still mapped");
}

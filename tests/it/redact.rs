//! Masking of secrets: the share of invented secrets that are masked, and of clean lines that are changed.

use std::fmt::Write as _;
use std::path::Path;

use unspool::redact::{redact, secrets};

/// A small random number generator with a fixed seed.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[usize::try_from(self.next()).expect("small") % of.len()]
    }

    fn text(&mut self, of: &str, length: usize) -> String {
        let of: Vec<char> = of.chars().collect();
        (0..length).map(|_| of[usize::try_from(self.next()).expect("small") % of.len()]).collect()
    }
}

const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// An invented secret of each family, by name.
fn tokens(dice: &mut Dice) -> Vec<(&'static str, String)> {
    let mut token = |prefix: &str, of: &str, length: usize| format!("{prefix}{}", dice.text(of, length));
    let mut found = vec![
        ("AWS_ACCESS_KEY_ID", token("AKIA", UPPER, 16)),
        ("AWS_ACCESS_KEY_ID", token("ASIA", UPPER, 16)),
        ("AWS_SECRET_ACCESS_KEY", token("", BASE64, 40)),
        ("GITHUB_TOKEN", token("ghp_", WORD, 36)),
        ("GH_TOKEN", token("gho_", WORD, 36)),
        ("GITHUB_PAT", token("github_pat_11A", WORD, 21) + &token("_", WORD, 59)),
        ("ANTHROPIC_API_KEY", token("sk-ant-api03-", URL, 93) + "AA"),
        ("OPENAI_API_KEY", token("sk-proj-", URL, 74)),
        ("OPENAI_API_KEY", token("sk-", WORD, 20) + &token("T3BlbkFJ", WORD, 20)),
        ("SLACK_BOT_TOKEN", token("xoxb-", "0123456789", 12) + &token("-", "0123456789", 12) + &token("-", WORD, 24)),
        ("STRIPE_SECRET_KEY", token("sk_live_", WORD, 24)),
        ("STRIPE_KEY", token("rk_test_", WORD, 24)),
        ("WEBHOOK", token("whsec_", WORD, 32)),
        ("GOOGLE_API_KEY", token("AIza", URL, 35)),
        ("GOOGLE_OAUTH", token("ya29.", URL, 120)),
        ("GOOGLE_CLIENT_SECRET", token("GOCSPX-", URL, 28)),
        ("ID_JWT", token("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOi", WORD, 30) + &token(".", URL, 43)),
        ("NPM_TOKEN", token("npm_", WORD, 36)),
        ("GITLAB_TOKEN", token("glpat-", URL, 20)),
        ("HF_TOKEN", token("hf_", WORD, 34)),
        ("SENDGRID", token("SG.", URL, 22) + &token(".", URL, 43)),
        ("API_KEY", token("", HEX, 32)),
        ("CLIENT_SECRET", token("", WORD, 32)),
        ("SECRET_KEY_BASE", token("", HEX, 128)),
        ("ENCRYPTION_KEY", token("", BASE64, 43) + "="),
        ("AUTH_TOKEN", token("", WORD, 24)),
    ];
    for _ in 0..3 {
        let (word, number, sign) =
            (dice.pick(&["Falke", "river", "Zimt", "marble"]), dice.next() % 97, dice.pick(&["!", "#", "&", "_"]));
        let rest = dice.text(WORD, 5);
        found.push(("DB_PASSWORD", format!("{word}{number}{sign}{rest}")));
    }
    found
}

/// The ways in which people write a secret down.
fn written(name: &str, secret: &str) -> Vec<String> {
    let small = name.to_lowercase();
    let camel: String = small
        .split('_')
        .enumerate()
        .map(|(at, part)| if at == 0 { part.to_string() } else { part[..1].to_uppercase() + &part[1..] })
        .collect();
    vec![
        format!("PORT=8080\n{name}={secret}\nDEBUG=true"),
        format!("export {name}=\"{secret}\""),
        format!("{{\"{camel}\": \"{secret}\", \"retries\": 3}}"),
        format!("  {small}: {secret}\n  region: eu-west-1"),
        format!("const {camel} = '{secret}';"),
        format!("{{\\\"{small}\\\":\\\"{secret}\\\"}}"),
        format!("docker run -e {name}={secret} app"),
        format!("tool deploy --{} {secret} --yes", small.replace('_', "-")),
    ]
}

/// Secrets that need a certain context to be recognized.
fn odd_places(dice: &mut Dice) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut put = |secret: String, text: String| found.push((secret, text));
    let schemes = ["postgres", "postgresql+asyncpg", "mysql", "mongodb+srv", "redis", "amqp", "https", "smtp"];
    for scheme in schemes {
        for user in ["app", "", "svc-billing"] {
            let secret = dice.text(WORD, 14);
            put(secret.clone(), format!("DATABASE_URL={scheme}://{user}:{secret}@db.internal:5432/main?ssl=1"));
        }
    }
    for kind in ["RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED "] {
        let body: Vec<String> = (0..6).map(|_| dice.text(BASE64, 64)).collect();
        for newline in ["\n", "\\n"] {
            let lines = body.join(newline);
            let text = format!(
                "-----BEGIN {kind}PRIVATE KEY-----{newline}{lines}{newline}-----END {kind}PRIVATE KEY-----{newline}"
            );
            put(body[3].clone(), format!("key = \"{text}\""));
        }
        put(body[2].clone(), format!("$ head -4 id\n-----BEGIN {kind}PRIVATE KEY-----\n{}\n", body[..4].join("\n")));
    }
    for _ in 0..10 {
        let secret = dice.text(URL, 40);
        put(secret.clone(), format!("curl -H 'Authorization: Bearer {secret}' https://api.example.com/v1"));
        let secret = dice.text(BASE64, 28);
        put(secret.clone(), format!("> Authorization: Basic {secret}=="));
        let secret = dice.text(WORD, 12) + "7";
        put(secret.clone(), format!("curl -s -u deploy:{secret} https://ci.internal/job"));
        let secret = dice.text(HEX, 40);
        put(secret.clone(), format!("-H \"x-api-key: {secret}\""));
        let secret = dice.text(WORD, 24);
        put(
            secret.clone(),
            format!(
                "POST https://hooks.slack.com/services/T0{}/B0{}/{secret}",
                dice.text(UPPER, 9),
                dice.text(UPPER, 9)
            ),
        );
        let secret = dice.text(WORD, 10) + "9x";
        put(secret.clone(), format!("Server=db;User Id=sa;Password={secret};Encrypt=true"));
        let secret = dice.text(BASE64, 86);
        put(secret.clone(), format!("DefaultEndpointsProtocol=https;AccountName=x;AccountKey={secret}=="));
        let secret = dice.text(WORD, 11) + "3";
        put(secret.clone(), format!("mysqldump -u root -p{secret} shop > dump.sql"));
        let secret = dice.text(WORD, 9) + "4";
        put(secret.clone(), format!("machine git.internal login ci password {secret}"));
        let secret = dice.text(WORD, 13) + "1";
        put(secret.clone(), format!("<password>{secret}</password>"));
        let secret = format!("{}:AA{}", dice.text("123456789", 10), dice.text(URL, 33));
        put(secret.clone(), format!("https://api.telegram.org/bot{secret}/getMe").replace("/bot", "/bot "));
    }
    found
}

#[test]
fn planted_secrets_are_masked() {
    let mut dice = Dice(7);
    let mut cases: Vec<(String, String)> = odd_places(&mut dice);
    for _ in 0..3 {
        for (name, secret) in tokens(&mut dice) {
            cases.extend(written(name, &secret).into_iter().map(|text| (secret.clone(), text)));
        }
    }
    assert!(cases.len() >= 400, "{}", cases.len());
    let missed: Vec<&String> =
        cases.iter().filter(|(secret, text)| redact(text).contains(secret.as_str())).map(|(_, text)| text).collect();
    let share = 100.0 * (cases.len() - missed.len()) as f64 / cases.len() as f64;
    assert!(share >= 95.0, "{share:.1} % of {} masked; missed: {missed:#?}", cases.len());
}

/// Lines from code, logs and prose, with everything that only looks like a secret.
fn clean_lines(dice: &mut Dice) -> Vec<String> {
    let nouns = ["session", "index", "request", "pelican", "queue", "parser", "window", "batch", "router", "cursor"];
    let verbs = ["reads", "opens", "drops", "keeps", "renders", "merges", "retries", "signs"];
    let mut lines = Vec::new();
    for _ in 0..220 {
        let (noun, verb, other) = (dice.pick(&nouns), dice.pick(&verbs), dice.pick(&nouns));
        let number = dice.next() % 100_000;
        let sha = dice.text(HEX, 40);
        let uuid = format!("{}-{}-4{}-8{}-{}", &sha[..8], &sha[8..12], &sha[12..15], &sha[15..18], &sha[18..30]);
        let base64 = dice.text(BASE64, 86);
        lines.extend([
            format!("the {noun} {verb} the {other} {number} times"),
            format!("commit {sha}"),
            format!("{}  {noun}/{other}.rs", &sha[..7]),
            format!("    {noun}Token = get{other}Token(request{number});"),
            format!("  \"integrity\": \"sha512-{base64}==\","),
            format!("checksum = \"{}{}\"", &sha, &sha[..24]),
            format!("\"uuid\":\"{uuid}\",\"session_id\":\"{uuid}\""),
            format!("INFO request_id={uuid} user={number} status=200"),
            format!("const password = process.env.DB_PASSWORD_{number};"),
            format!("max_tokens: {number}, token_count={number}"),
            format!("password: String, // the {noun}'s password"),
            format!("if (!token) throw new Error('missing token for {noun} {number}');"),
            format!("export API_KEY=YOUR_API_KEY # {noun}"),
            format!("OPENAI_API_KEY=sk-... {noun} {number}"),
            format!("Authorization: Bearer <token> ({noun})"),
            format!("let secret = load_secret(&{noun}_{other});"),
            format!("SECRET_KEY=${{SECRET_KEY_{number}}}"),
            format!("postgres://user:password@localhost:5432/{noun}{number}"),
            format!("https://example.com:8080/{noun}/{sha}?page={number}"),
            format!("git clone git@github.com:{noun}/{other}.git # {}", &sha[..10]),
            format!("test {noun}::{verb}_{other}_{number} ... ok"),
            format!("<input type=\"password\" name=\"password{number}\" id=\"{noun}-password\">"),
            format!("cache-key: {noun}-{sha}"),
            format!("etag: W/\"{}\"", &sha[..32]),
        ]);
    }
    lines
}

/// Every string of the fixtures, line by line.
fn fixture_lines() -> Vec<String> {
    let mut text = String::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("listed").map(|entry| entry.expect("entry").path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                writeln!(text, "{}", String::from_utf8_lossy(&std::fs::read(entry).expect("read"))).expect("written");
            }
        }
    }
    text.split('\n').flat_map(|line| line.split("\\n")).map(str::to_string).collect()
}

#[test]
fn clean_lines_are_not_changed() {
    let mut lines = clean_lines(&mut Dice(11));
    assert!(lines.len() >= 5000);
    lines.extend(fixture_lines());
    let touched: Vec<&String> = lines.iter().filter(|line| !secrets(line).is_empty()).collect();
    let share = 100.0 * touched.len() as f64 / lines.len() as f64;
    assert!(share <= 0.1, "{share:.3} % of {} touched: {touched:#?}", lines.len());
}

#[test]
fn the_placeholder_names_the_kind_of_secret() {
    for (text, clean) in [
        ("no secret", "no secret"),
        ("postgres://app:f4lkeXimt@db/x", "postgres://app:[redacted: password]@db/x"),
        ("PGPASSWORD=f4lkeXimt psql", "PGPASSWORD=[redacted: password] psql"),
        ("a AKIA2E0A8F3B244C9986 b", "a [redacted: aws key] b"),
        ("API_KEY=9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c", "API_KEY=[redacted: secret]"),
    ] {
        assert_eq!(redact(text), clean);
        assert_eq!(redact(&redact(text)), clean, "masking twice changes nothing");
    }
}

/// A key that was put on one line and cut, as in a title by Claude Code.
#[test]
fn a_truncated_key_on_one_line_is_masked() {
    let mut dice = Dice(3);
    let [first, second] = [0; 2].map(|_| dice.text(BASE64, 64));
    let head = "-----BEGIN RSA PRIVATE KEY-----";
    let mask = "[redacted: private key]";
    for (text, clean) in [
        (format!("see {head} {first} {second}"), format!("see {mask}")),
        (format!("see {head} {first} {}", &second[..9]), format!("see {mask}")),
        (format!("see {head} {first} {}…", &second[..9]), format!("see {mask}…")),
        (format!("see {head} {first} and tell me"), format!("see {mask} and tell me")),
        (format!("see {head} what is it"), format!("see {head} what is it")),
    ] {
        assert_eq!(redact(&text), clean);
    }
}

/// Twilio ids are recognized only next to the name Twilio.
#[test]
fn twilio_keys_are_masked_next_to_the_name() {
    let digits = Dice(5).text(HEX, 32);
    for start in ["SK", "AC"] {
        let key = format!("{start}{digits}");
        for (text, clean) in [
            (format!("TWILIO_ACCOUNT_SID={key}"), "TWILIO_ACCOUNT_SID=[redacted: twilio key]".to_string()),
            (format!("the Twilio id is {key}."), "the Twilio id is [redacted: twilio key].".to_string()),
            (format!("checksum {key}"), format!("checksum {key}")),
            (format!("twilio build ac{digits} {digits}ab"), format!("twilio build ac{digits} {digits}ab")),
        ] {
            assert_eq!(redact(&text), clean);
        }
    }
}

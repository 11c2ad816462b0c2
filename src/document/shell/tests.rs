//! Tests of the effects found in shell commands.

use super::*;

/// Shows the effects of a command as `write path "text"; delete path` and the like.
fn show_effects(command: &str, cwd: &str) -> String {
    let show = |touch: Touch| match touch.effect {
        FileEffect::Write(Some(text)) => format!("write {} {text:?}", touch.path),
        FileEffect::Append(Some(text)) => format!("append {} {text:?}", touch.path),
        FileEffect::Write(None) => format!("write {}", touch.path),
        FileEffect::Append(None) => format!("append {}", touch.path),
        FileEffect::Change => format!("change {}", touch.path),
        FileEffect::Restore => format!("restore {}", touch.path),
        FileEffect::Delete => format!("delete {}", touch.path),
        FileEffect::Copy { from } => format!("copy {from} {}", touch.path),
        FileEffect::RenameTo { to } => format!("rename {} {}", touch.path, to.unwrap_or("?".into())),
        FileEffect::RenameFrom { .. } => String::new(),
    };
    let shown: Vec<String> =
        touched(command, Some(cwd)).into_iter().map(show).filter(|text| !text.is_empty()).collect();
    shown.join("; ")
}

#[test]
fn changed_files_are_found() {
    for (command, expected) in [
        ("ls -l; cat a.rs | grep x > /dev/null 2>&1", ""),
        ("cargo test 2>&1 | tail -5", ""),
        ("echo hi > a.txt", "write /w/a.txt \"hi\\n\""),
        ("echo \"a b\" 'c' >> log/a.txt", "append /w/log/a.txt \"a b c\\n\""),
        ("echo -n hi > a.txt", "write /w/a.txt"),
        ("printf x >|a.txt", "write /w/a.txt"),
        ("make > out.log 2> err.log", "write /w/out.log"),
        ("make &> all.log", "write /w/all.log"),
        ("> empty.txt", "write /w/empty.txt"),
        (
            "cat > 'my file.md' <<'EOF'\nit's $HOME\n\tx\nEOF\nrm b.md",
            "write /w/my file.md \"it's $HOME\\n\\tx\\n\"; delete /w/b.md",
        ),
        ("cat <<EOF > a\nplain\nEOF", "write /w/a \"plain\\n\""),
        ("cat <<EOF > a\nnot $plain\nEOF", "write /w/a"),
        ("cat > a <<-X && rm b\n\t\tone\n\tX\necho", "write /w/a \"one\\n\"; delete /w/b"),
        ("cat <<'A' | tee x.txt\nhey\nA", "write /w/x.txt"),
        ("tee -a x.txt y.txt <<'A'\nhey\nA", "append /w/x.txt \"hey\\n\"; append /w/y.txt \"hey\\n\""),
        ("mv a.rs b.rs", "rename /w/a.rs /w/b.rs"),
        ("mv -f a.rs src/", "rename /w/a.rs /w/src/a.rs"),
        ("mv a.rs b.rs lib", "rename /w/a.rs /w/lib/a.rs; rename /w/b.rs /w/lib/b.rs"),
        ("mv a.rs lib", "rename /w/a.rs ?"),
        ("mv ../x.rs .", "rename /x.rs /w/x.rs"),
        ("mv old new", "rename /w/old /w/new"),
        ("cp a.rs b.rs && cp -r x.md /tmp/", "copy /w/a.rs /w/b.rs; copy /w/x.md /tmp/x.md"),
        ("rm -rf build src/old.rs -- -x", "delete /w/build; delete /w/src/old.rs; delete /w/-x"),
        ("rm *.tmp \"$F\" $(ls) a[0].c keep.c", "delete /w/keep.c"),
        ("rm {a,b}.c", ""),
        ("sed -i 's/a/b/' x.rs y.rs", "change /w/x.rs; change /w/y.rs"),
        ("sed -i '' 's/a/b/' x.rs", "change /w/x.rs"),
        ("sed -i.bak -e 's/a/b/' -e 's/c/d/' x.rs", "change /w/x.rs"),
        ("sed -n '1,3p' x.rs", ""),
        ("sed -Ei \"s/a/b/\" x.rs", "change /w/x.rs"),
        ("perl -pi -e 's/a/b/' x.rs", "change /w/x.rs"),
        ("git mv a.rs b.rs", "rename /w/a.rs /w/b.rs"),
        ("git rm -q a.rs; git rm --cached b.rs", "delete /w/a.rs"),
        ("git checkout main", ""),
        ("git checkout fix/some-thing", ""),
        ("git checkout -b v1.rs", ""),
        ("git checkout HEAD~1 -- a.rs b", "restore /w/a.rs; restore /w/b"),
        ("git checkout src/a.rs", "restore /w/src/a.rs"),
        ("git restore --staged a.rs; git restore a.rs", "restore /w/a.rs"),
        ("git restore --source HEAD~2 a.rs", "restore /w/a.rs"),
        ("git -C /p checkout -- a.rs; rm b", "restore /p/a.rs; delete /w/b"),
        ("patch src/a.rs < fix.patch", "change /w/src/a.rs"),
        ("patch -p1 <<'E'\n--- a/src/x.rs\n+++ b/src/x.rs\t2026\n@@\nE", "change /w/src/x.rs"),
        ("cd sub && rm a; (cd /q && rm b); rm c", "delete /w/sub/a; delete /q/b; delete /w/sub/c"),
        ("cd \"$X\" && rm a /abs/b", "delete /abs/b"),
        ("cd ~ && rm a", "delete ~/a"),
        ("D=/tmp/s; rm \"$D/a\" ${D}/b $E/c", "delete /tmp/s/a; delete /tmp/s/b"),
        ("for f in a b; do rm $f; done", ""),
        ("f=1; for f in a b; do rm $f; done", ""),
        ("if true; then rm a; fi", "delete /w/a"),
        ("FOO=1 BAR=2 sudo rm a", "delete /w/a"),
        ("rm a # and > b", "delete /w/a"),
        ("echo 'rm a > b'", ""),
        ("echo \"a > b; rm c\"", ""),
        ("grep -rn \"x => y\" src && echo ok", ""),
        ("git commit -m \"$(cat <<'EOF'\ndon't > touch (this\nEOF\n)\" && rm a", "delete /w/a"),
        ("python - <<'EOF' > out.json\nopen('z','w') > 3\nEOF\n", "write /w/out.json"),
        ("diff <(sort a) <(sort b) > d.txt", "write /w/d.txt"),
        ("rm a\\ b.txt \\\n  c.txt", "delete /w/a b.txt; delete /w/c.txt"),
        ("test -f x && mv 'ä ö.txt' \"ü.txt\"", "rename /w/ä ö.txt /w/ü.txt"),
        ("mkdir -p a/b; touch c", ""),
        ("npx prettier --write a.ts", ""),
        ("dd if=/dev/zero of=a.bin bs=1", "write /w/a.bin"),
        ("sort a | sponge a; truncate -s 0 b.log", "write /w/a; change /w/b.log"),
        ("install -m 644 a.conf /etc/a.conf", "copy /w/a.conf /etc/a.conf"),
        ("rm 'unclosed", "delete /w/unclosed"),
        ("cat > a <<'EOF'\nno end", "write /w/a \"no end\\n\""),
    ] {
        assert_eq!(show_effects(command, "/w"), expected, "{command}");
    }
}

#[test]
fn windows_paths_are_normalized() {
    assert_eq!(
        show_effects("rm /d/omp/a.go D:\\\\omp\\\\b.go ../c.go", "D:\\omp"),
        "delete d:/omp/a.go; delete d:/omp/b.go; delete d:/c.go"
    );
}

#[test]
fn commands_that_may_change_a_file_are_found() {
    let file = "/w/src/a.rs";
    for (command, cwd, expected) in [
        ("cargo fmt", "/w", true),
        ("cargo fmt --all -- --check", "/w", false),
        ("cargo clippy --fix --allow-dirty", "/w", true),
        ("cargo test", "/w", false),
        ("cargo fmt", "/other", false),
        ("cd /w && cargo fmt", "/other", true),
        ("rustfmt src/a.rs", "/w", true),
        ("rustfmt --edition 2024 src/b.rs", "/w", false),
        ("gofmt -w .", "/w", false),
        ("npx prettier --write .", "/w", true),
        ("npx --yes prettier --write 'src/**/*.rs'", "/w", true),
        ("prettier --check .", "/w", false),
        ("pnpm exec eslint --fix src", "/w", true),
        ("eslint src", "/w", false),
        ("python -m black .", "/w", false),
        ("uv run ruff check --fix lib", "/w", false),
        ("npm run format", "/w", true),
        ("git stash", "/w", true),
        ("git stash list; git status; git diff HEAD", "/w", false),
        ("git stash pop", "/w/src/deep", false),
        ("git reset --hard HEAD~1", "/w", true),
        ("git reset HEAD src/a.rs", "/w", false),
        ("git pull --rebase", "/w", true),
        ("git -C /w merge topic", "/x", true),
        ("git -C /x merge topic", "/w", false),
        ("git checkout main", "/w", true),
        ("git checkout -b topic", "/w", false),
        ("git apply fix.patch", "/w", true),
        ("git apply --check fix.patch", "/w", false),
        ("git clean -fd", "/w", true),
        ("git clean -nd", "/w", false),
        ("git rebase main; git commit -m x", "/w", true),
        ("git cherry-pick abc && git revert abc", "/w", true),
        ("find . -name '*.rs' -exec sed -i 's/a/b/' {} +", "/w", true),
        ("find . -name '*.go' -exec sed -i 's/a/b/' {} +", "/w", false),
        ("find src -type f | head", "/w", false),
        ("grep -rl x src | xargs sed -i 's/a/b/'", "/w", true),
        ("grep -rl x src | xargs -0 wc -l", "/w", false),
        ("for f in src/*.rs; do sed -i 's/a/b/' \"$f\"; done", "/w", true),
        ("sed -i 's/a/b/' src/*.rs", "/w", true),
        ("sed -i 's/a/b/' src/*.go lib/*.rs", "/w", false),
        ("sed -n '1,5p' src/a.rs", "/w", false),
        ("python3 - <<'E'\nopen('src/a.rs', 'w').write('x')\nE", "/w", true),
        ("python3 - <<'E'\nopen('src/ba.rs', 'w').write('x')\nE", "/w", false),
        ("python3 - <<'E'\nopen('a.rs', 'w').write('x')\nE", "/other", false),
        ("python3 - <<'E'\nopen('/w/src/a.rs', 'w').write('x')\nE", "/other", true),
        ("python3 -c \"print(open('src/a.rs').read())\"", "/w", false),
        ("node -e \"require('fs').writeFileSync('src/a.rs', '')\"", "/w", true),
        ("bash -c 'cd /w && cargo fmt'", "/x", true),
        ("python3 fix.py src/a.rs", "/w", true),
        ("python3 src/a.rs", "/w", false),
        ("./tools/format src/a.rs", "/w", true),
        ("bash fix.sh --all src/b.rs", "/w", false),
        ("./check.exe --config src/a.rs", "/w", false),
        ("vim src/a.rs", "/w", true),
        ("ed src/a.rs < script", "/w", true),
        ("curl -o src/a.rs example.com", "/w", true),
        ("curl -d @src/a.rs example.com", "/w", false),
        ("awk -i inplace '{ print }' src/a.rs", "/w", true),
        ("awk '{ print }' src/a.rs", "/w", false),
        ("jq . src/a.rs; sort src/a.rs; wc -l src/a.rs", "/w", false),
        ("rsync -a other/ src/", "/w", true),
        ("cp -r other/src .", "/w", true),
        ("tar xzf a.tgz", "/w", true),
        ("patch -p1 < fix.patch", "/w", true),
        ("echo 'cargo fmt'", "/w", false),
    ] {
        let reaches = may_change(command, Some(cwd));
        assert_eq!(reaches.iter().any(|reach| reach.includes(file)), expected, "{command}: {reaches:?}");
    }
}

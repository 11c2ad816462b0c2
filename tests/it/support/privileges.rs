//! Mounts, other users and memory limits: what usually needs root. Each helper reports that the test is skipped, and
//! returns none, where it is not possible.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::env::{Env, Ran};
use crate::support::process::{finish, in_shell, skip, tool, under, works};

pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}

/// A mount that is undone on drop.
#[derive(Debug)]
pub(crate) struct Mount(PathBuf);

impl Mount {
    /// Mounts something at a folder.
    pub(crate) fn new(args: &[&str], at: &Path) -> Option<Self> {
        std::fs::create_dir_all(at).expect("made");
        let mounted = tool("mount").args(args).arg(at).output().is_ok_and(|output| output.status.success());
        if !mounted {
            skip("cannot mount");
        }
        mounted.then(|| Self(at.to_path_buf()))
    }

    pub(crate) fn tmpfs(size: &str, at: &Path) -> Option<Self> {
        Self::new(&["-t", "tmpfs", "-o", &format!("mode=0700,size={size}"), "tmpfs"], at)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let unmounted = tool("umount").arg(&self.0).output().is_ok_and(|output| output.status.success());
        if !unmounted {
            let _ = tool("umount").arg("-l").arg(&self.0).output();
        }
    }
}

/// The binary, run by a user who is not root. All files of the test then belong to that user; see [`give_to`].
pub(crate) fn as_nobody(env: &Env) -> Option<Command> {
    if !is_root() {
        return Some(env.command());
    }
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    std::fs::set_permissions(env.path(), PermissionsExt::from_mode(0o755)).expect("opened up");
    let reachable = works(nobody[0], &[&nobody[1..], &["test", "-x", env!("CARGO_BIN_EXE_unspool")]].concat());
    if !reachable {
        skip("cannot run the binary as nobody");
        return None;
    }
    give_to(env, "65534");
    Some(under(env, &nobody))
}

/// Makes a user the owner of all files of a test.
pub(crate) fn give_to(env: &Env, user: &str) {
    if is_root() {
        assert!(tool("chown").args(["-R", user]).arg(env.path()).status().expect("ran").success());
    }
}

/// A control group with a memory limit, removed on drop.
pub(crate) struct MemoryGroup(PathBuf);

impl MemoryGroup {
    pub(crate) fn new(name: &str, megabytes: u64) -> Option<Self> {
        let bytes = (megabytes << 20).to_string();
        for (parent, file) in [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")] {
            let group = Path::new(parent).join(format!("unspool-test-{}-{name}", std::process::id()));
            if Path::new(parent).join("cgroup.procs").is_file() && std::fs::create_dir(&group).is_ok() {
                let made = Self(group);
                // The file is missing where the group cannot limit memory.
                if made.0.join(file).is_file() && std::fs::write(made.0.join(file), &bytes).is_ok() {
                    return Some(made);
                }
            }
        }
        skip("cannot make a control group for memory");
        None
    }

    pub(crate) fn run(&self, env: &Env, args: &[&str]) -> Ran {
        finish(in_shell(env, &format!("echo $$ > {}/cgroup.procs", self.0.display())).args(args))
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

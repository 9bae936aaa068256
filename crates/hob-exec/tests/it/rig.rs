//! A workspace, a stand-in for hob's home, and a spawner at a chosen level.

use hob_exec::{
    Child, ChildExit, SandboxLevel, SandboxMode, SandboxPolicy, SandboxSupport, SpawnPlan, Spawner,
    SpawnerParts,
};
use hob_kit::host_environment::EnvVars;
use hob_kit::tasks::TaskGroup;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than anything takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Rig {
    pub(crate) level: SandboxLevel,
    pub(crate) spawner: Spawner,
    work: TempDir,
    home: TempDir,
}

pub(crate) fn shim() -> Vec<OsString> {
    vec![env!("CARGO_BIN_EXE_hob-exec-rig").into()]
}

/// A variable of the test's own environment.
fn outside(name: &str) -> Option<OsString> {
    EnvVars::capture().os(name).map(OsString::from)
}

/// Where bubblewrap is looked for, so that a level is the one that is wanted.
pub(crate) fn search(level: SandboxLevel) -> OsString {
    match level {
        SandboxLevel::Bubblewrap => outside("PATH").expect("a path"),
        _ => OsString::new(),
    }
}

pub(crate) async fn facts(level: SandboxLevel) -> SandboxSupport {
    let env = EnvVars::from_pairs([("PATH", search(level))]);
    let facts = hob_exec::spawner::probe(&shim(), &env).await;
    facts.expect("the shim answers")
}

/// One rig for each level this machine has; in CI it must have both.
pub(crate) async fn levels() -> Vec<Rig> {
    let mut rigs = Vec::new();
    for level in [SandboxLevel::Bubblewrap, SandboxLevel::Landlock] {
        let facts = facts(level).await;
        if facts.level() == level {
            rigs.push(Rig::with(facts));
        } else {
            eprintln!("NOT RUN at level {}: {}", level.name(), facts.remedy());
            assert!(outside("CI").is_none(), "{}", facts.remedy());
        }
    }
    rigs
}

/// A home of hob's where a run could see it were it not hidden: in the person's own, and not below
/// `/tmp`, which a run never sees anyway.
fn home_outside_tmp() -> TempDir {
    let person = outside("HOME").map(PathBuf::from);
    let others = [env!("CARGO_TARGET_TMPDIR"), "/root", "/srv", "/opt"].map(PathBuf::from);
    let places = person.into_iter().chain(others);
    let mut seen = places.filter(|place| !place.starts_with("/tmp"));
    seen.find_map(|place| TempDir::with_prefix_in(".hob-exec-home-", place).ok())
        .expect("a folder outside /tmp that may be written")
}

impl Rig {
    pub(crate) fn with(facts: SandboxSupport) -> Rig {
        let home = home_outside_tmp();
        std::fs::write(home.path().join("owner.token"), "canary-token").expect("written");
        let path = outside("PATH").expect("a path");
        Rig {
            level: facts.level(),
            spawner: Spawner::new(SpawnerParts {
                shim: shim(),
                env: EnvVars::from_pairs([("PATH", path), ("HOB_CANARY", "canary-env".into())]),
                tasks: TaskGroup::new(),
                sandbox_support: Some(facts),
            }),
            work: TempDir::with_prefix("hob-exec-work-").expect("a workspace"),
            home,
        }
    }

    pub(crate) fn work(&self) -> &Path {
        self.work.path()
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn policy(&self) -> SandboxPolicy {
        let hidden = vec![self.home().to_owned()];
        SandboxPolicy::workspace(&[self.work().to_owned()], None, hidden)
    }

    pub(crate) fn plan(&self, script: &str) -> SpawnPlan {
        let sandbox = SandboxMode::Policy(self.policy());
        self.plan_in(script, sandbox)
    }

    pub(crate) fn plan_in(&self, script: &str, sandbox: SandboxMode) -> SpawnPlan {
        let argv = vec!["bash".into(), "-c".into(), script.into()];
        let mut plan = SpawnPlan::new(argv, self.work().to_owned(), sandbox);
        plan.deadline = Some(PATIENCE);
        plan
    }

    pub(crate) async fn spawn(&self, plan: SpawnPlan) -> Child {
        let child = self.spawner.spawn(plan).await;
        child.unwrap_or_else(|error| panic!("{:?}: {error}", self.level))
    }

    pub(crate) async fn run(&self, plan: SpawnPlan) -> Arc<ChildExit> {
        let exit = self.spawn(plan).await.wait().await;
        exit.unwrap_or_else(|error| panic!("{:?}: {error}", self.level))
    }

    /// Runs a script in the usual sandbox.
    pub(crate) async fn sh(&self, script: &str) -> Arc<ChildExit> {
        self.run(self.plan(script)).await
    }

    /// Runs a script in a sandbox with something granted.
    pub(crate) async fn sh_with(
        &self,
        script: &str,
        grant: impl FnOnce(&mut SandboxPolicy),
    ) -> Arc<ChildExit> {
        let mut policy = self.policy();
        grant(&mut policy);
        self.run(self.plan_in(script, SandboxMode::Policy(policy)))
            .await
    }

    pub(crate) async fn sh_free(&self, script: &str) -> Arc<ChildExit> {
        let sandbox = SandboxMode::Unsandboxed { reason: "a test" };
        self.run(self.plan_in(script, sandbox)).await
    }
}

/// Whether a script said that it got what it wanted.
pub(crate) fn got(exit: &Arc<ChildExit>) -> bool {
    exit.stdout.text().contains("GOT")
}

/// A word that no other process has.
pub(crate) fn mark(name: &str) -> String {
    let nanos = std::time::UNIX_EPOCH.elapsed().expect("after 1970");
    format!("hobmark-{name}-{}-{}", std::process::id(), nanos.as_nanos())
}

/// Living processes of this machine that carry the word among their arguments.
pub(crate) fn alive(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").expect("readable");
    entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let is_process = name
                .to_str()
                .is_some_and(|name| name.parse::<u32>().is_ok());
            is_process
                && std::fs::read(entry.path().join("cmdline"))
                    .is_ok_and(|line| String::from_utf8_lossy(&line).contains(mark))
        })
        .count()
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A process beside the sandbox, with a secret in its environment; ended when dropped.
pub(crate) struct Stranger(pub(crate) std::process::Child);

impl Stranger {
    #[expect(
        clippy::disallowed_methods,
        reason = "it must not be a child of the shim"
    )]
    pub(crate) fn start() -> Stranger {
        let started = std::process::Command::new("sleep")
            .arg("1000")
            .env("HOB_CANARY_OUTSIDE", "canary-outside")
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn();
        let stranger = Stranger(started.expect("started"));
        // A spawn returns while the kernel is still laying out the new program: until then its
        // environment reads as empty.
        let environ = format!("/proc/{}/environ", stranger.0.id());
        while std::fs::read(&environ).expect("ours to read").is_empty() {
            std::thread::yield_now();
        }
        stranger
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

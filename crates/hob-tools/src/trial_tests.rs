//! A workspace to try tools in, as a person's own act or for a run.

use crate::{ToolEntry, ToolEnv, entries};
use hob_core::permission::{Approved, PreparedCall};
use hob_kit::clock::Clock;
use hob_kit::mask::SecretMask;
use hob_kit::randomness::Randomness;
use hob_store::{Store, StoreOptions};
use hob_wire::RunId;
use hob_wire::content::ContentPart;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::ToolContext;
use serde_json::Value;
use std::path::PathBuf;

pub(crate) struct TestWorkspace {
    /// Holds the workspace, hob's home, and what lies outside of both.
    pub(crate) around: tempfile::TempDir,
    pub(crate) env: ToolEnv,
}

impl TestWorkspace {
    pub(crate) fn new() -> TestWorkspace {
        let around = tempfile::tempdir().expect("a folder");
        for name in ["work", "home", "outside"] {
            std::fs::create_dir(around.path().join(name)).expect("makes it");
        }
        let home = around.path().join("home");
        let env = ToolEnv::new(Clock::manual(0), [home.as_path()]);
        TestWorkspace { around, env }
    }

    /// One that knows a secret.
    pub(crate) fn with_secret(secret: &str) -> TestWorkspace {
        let trial = TestWorkspace::new();
        let mask = SecretMask::new();
        mask.add(secret);
        let env = trial.env.clone().with_mask(mask);
        TestWorkspace { env, ..trial }
    }

    /// One whose runs can be undone.
    pub(crate) fn with_store() -> (TestWorkspace, Store) {
        let trial = TestWorkspace::new();
        let (publisher, _) = hob_bus::publisher();
        let store = Store::open(StoreOptions {
            database: trial.around.path().join("home/hob.db"),
            clock: Clock::manual(1_000),
            randomness: Randomness::seeded(1),
            publisher,
            had_database: false,
        });
        let store = store.expect("opens");
        let env = trial.env.clone().with_store(store.clone());
        (TestWorkspace { env, ..trial }, store)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.around.path().join("work").join(name)
    }

    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.around.path().join("outside").join(name)
    }

    pub(crate) fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        let folder = path.parent().expect("has one");
        std::fs::create_dir_all(folder).expect("makes it");
        std::fs::write(path, text).expect("writes");
    }

    pub(crate) fn get(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path(name)).ok()
    }

    pub(crate) fn work(&self, tool: &str, args: Value) -> PreparedCall {
        PreparedCall {
            tool: tool.to_owned(),
            fingerprint: String::new(),
            args,
            context: ToolContext {
                workspace: self.path("").to_str().map(str::to_owned),
                ..ToolContext::default()
            },
            state: None,
        }
    }

    /// The same for a run.
    pub(crate) fn work_of_run(&self, tool: &str, call: &str, args: Value) -> PreparedCall {
        let mut work = self.work(tool, args);
        work.context.run_id = Some(run());
        work.context.call_id = Some(call.to_owned());
        work
    }

    pub(crate) async fn execute(&self, work: PreparedCall) -> ToolExecuteResult {
        let digest = work.digest();
        let run = entry(&work.tool).run;
        let approved = Approved::from_ticket(work, &digest).expect("is the same");
        run(approved, self.env.clone()).await
    }

    /// What it says, and whether it failed.
    pub(crate) async fn say(&self, tool: &str, args: Value) -> (String, bool) {
        let answer = self.execute(self.work(tool, args)).await;
        (words(&answer), answer.is_error)
    }

    /// Everything below a folder, by name and content.
    pub(crate) fn snapshot(&self, folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
        let mut all = Vec::new();
        let mut open = vec![self.around.path().join(folder)];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).expect("lists") {
                let path = entry.expect("is one").path();
                if path.is_symlink() {
                    all.push((path, b"link".to_vec()));
                } else if path.is_dir() {
                    all.push((path.clone(), b"folder".to_vec()));
                    open.push(path);
                } else {
                    let bytes = std::fs::read(&path).unwrap_or_default();
                    all.push((path, bytes));
                }
            }
        }
        all.sort();
        all
    }
}

pub(crate) fn run() -> RunId {
    let id = "00000000-0000-7000-8000-000000000001".parse();
    id.expect("is an id")
}

pub(crate) fn entry(name: &str) -> &'static ToolEntry {
    let mut all = entries().iter();
    all.find(|entry| (entry.spec)().name == name)
        .expect("is there")
}

pub(crate) fn words(answer: &ToolExecuteResult) -> String {
    match &answer.content[..] {
        [ContentPart::Text { text }] => text.clone(),
        other => panic!("one text: {other:?}"),
    }
}

//! A daemon, a workspace, and tools called by the person's own hand.

use crate::faults::peer::Peer;
use crate::faults::rig::Rig;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// What lies outside and must never be seen or changed.
pub(super) const CANARY: &str = "canary-4f1d the outside";

/// The workspace, a folder beside it, and the daemon between them.
pub(super) struct Tools {
    pub(super) rig: Rig,
    pub(super) workspace: PathBuf,
    pub(super) outside: PathBuf,
    peer: Peer,
}

impl Tools {
    pub(super) fn lay_out() -> Tools {
        let mut rig = Rig::new();
        rig.start();
        let workspace = rig.scratch().join("work");
        let outside = rig.scratch().join("outside");
        for folder in [&workspace, &outside] {
            fs::create_dir_all(folder).expect("a folder");
        }
        fs::write(outside.join("secret.txt"), CANARY).expect("a secret");
        fs::write(workspace.join("inside.txt"), "inside words").expect("a file");
        let peer = rig.peer();
        Tools {
            rig,
            workspace,
            outside,
            peer,
        }
    }

    /// Calls a tool in the workspace; what it answers, as text, and whether it says it failed.
    pub(super) fn call(&mut self, name: &str, args: &Value) -> Said {
        let workspace = self.workspace.clone();
        call(&mut self.peer, &workspace, name, args)
    }
}

/// What a tool answered.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) failed: bool,
}

/// Calls a tool over a connection of one's own.
pub(super) fn call(peer: &mut Peer, workspace: &Path, name: &str, args: &Value) -> Said {
    let context = json!({ "workspace": workspace });
    let params = json!({ "name": name, "args": args, "context": context });
    let answer = peer.must("tool.execute", &params);
    let parts = answer["content"].as_array().expect("a list of parts");
    let texts = parts.iter().filter_map(|part| part["text"].as_str());
    Said {
        text: texts.collect::<Vec<_>>().join("\n"),
        failed: answer["isError"] == true,
    }
}

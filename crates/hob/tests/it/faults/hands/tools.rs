//! A daemon, a workspace, and tools called by the person's own hand.

use crate::faults::peer::Peer;
use crate::faults::rig::Rig;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
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

/// The sandboxes, by the names results have.
pub(super) const LEVELS: [&str; 2] = ["bubblewrap", "landlock"];

impl Tools {
    pub(super) fn lay_out() -> Tools {
        Tools::in_rig(Rig::new())
    }

    /// The same where commands run behind these walls, with these settings.
    pub(super) fn behind(level: &str, settings: &str, env: &[(&str, &str)]) -> Tools {
        // Not in /tmp, of which every command has its own: what is hidden must be so by its rule.
        let mut rig = Rig::below(Path::new("/var/tmp"));
        for (name, value) in env {
            rig.env(name, value);
        }
        fs::create_dir_all(rig.home()).expect("a home");
        fs::write(rig.home().join("config.toml"), settings).expect("a config");
        if level == "landlock" {
            let path = without_bubblewrap(&rig.scratch().join("work"));
            rig.env("PATH", &path);
        }
        let mut tools = Tools::in_rig(rig);
        let said = tools.exec("true");
        assert_eq!(said.metadata["sandbox"], level, "{said:?}");
        tools
    }

    fn in_rig(mut rig: Rig) -> Tools {
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

    /// Runs a command line.
    pub(super) fn exec(&mut self, command: &str) -> Said {
        self.call("exec", &json!({ "command": command }))
    }
}

/// What a tool answered.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) failed: bool,
    pub(super) metadata: Value,
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
        metadata: answer["metadata"].clone(),
    }
}

/// A search path to every program but bubblewrap; it lies where commands can see it.
pub(super) fn without_bubblewrap(workspace: &Path) -> String {
    let folder = workspace.join("bin");
    fs::create_dir_all(&folder).expect("a folder");
    for program in fs::read_dir("/usr/bin").expect("programs").flatten() {
        if program.file_name() != "bwrap" {
            symlink(program.path(), folder.join(program.file_name())).expect("a link");
        }
    }
    folder.display().to_string()
}

/// Processes on this machine whose command line holds `mark`.
pub(crate) fn processes_with(mark: &str) -> usize {
    let numbers = fs::read_dir("/proc").expect("processes").flatten();
    let lines = numbers.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .filter(|line| String::from_utf8_lossy(line).contains(mark))
        .count()
}

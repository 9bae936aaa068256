//! Paths that a shell, a session, an editor or a build server runs by itself: one table for the
//! file tools and for sandboxed commands. Pure, except for [`PersonHome`], which reads folders.
//!
//! Invariants: a path is classified by its canonical location, which the caller resolves; names are
//! compared without case, because some file systems do so.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The protection of a path against changes by tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathProtection {
    /// No tool may change it. The text is the reason.
    Refused(&'static str),
    /// The user is asked each time, even if a rule allows writing. The text is the reason.
    Asked(&'static str),
}

const GIT_OR_KEYS: &str = "it belongs to git or to the keys of this machine";
const AT_START: &str = "a shell or a session runs it at its start";
const BY_ITSELF: &str = "what lies there runs by itself or belongs to hob";
const IN_HOME: &str = "your programs read or run it by themselves";
const PROJECT: &str =
    "an editor, a shell, git or a build server may run what it says without asking";

/// Names that are protected with everything below them, in every folder.
const TREES: &[&str] = &[".git", ".ssh", ".gnupg"];

/// Files that run when a shell, a session or Python starts. They count in every folder: a home
/// folder can lie in a workspace, be a copy, or belong to another user.
const FILES: &[&str] = &[
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".cshrc",
    ".inputrc",
    ".kshrc",
    ".login",
    ".logout",
    ".mkshrc",
    ".pam_environment",
    ".profile",
    ".tcshrc",
    ".xinitrc",
    ".xprofile",
    ".xserverrc",
    ".xsession",
    ".xsessionrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "sitecustomize.py",
    "usercustomize.py",
];

/// Folders that are protected with everything below them, by their last steps, in every folder.
const FOLDERS: &[&str] = &[
    ".config/autostart",
    ".config/environment.d",
    ".config/fish",
    ".config/hob",
    ".config/plasma-workspace",
    ".config/systemd",
    ".local/share/hob",
    ".local/share/systemd",
    ".local/state/hob",
    "library/launchagents",
];

/// Files and folders that count only below the user's home folder; elsewhere they are ordinary
/// project files. `python*` stands for any name with that prefix.
const HOME: &[&str] = &[
    ".aws",
    ".cargo/bin",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".condarc",
    ".config/alacritty",
    ".config/containers",
    ".config/emacs",
    ".config/gh",
    ".config/ghostty",
    ".config/git",
    ".config/helix",
    ".config/hypr",
    ".config/i3",
    ".config/kitty",
    ".config/mise",
    ".config/nvim",
    ".config/pip",
    ".config/powershell",
    ".config/sway",
    ".config/tmux",
    ".config/vim",
    ".config/wezterm",
    ".config/xprofile",
    ".config/zsh",
    ".curlrc",
    ".docker",
    ".emacs",
    ".emacs.d",
    ".gdbinit",
    ".gitconfig",
    ".irbrc",
    ".kube",
    ".lldbinit",
    ".local/bin",
    ".local/lib/python*",
    ".local/share/applications",
    ".local/share/dbus-1",
    ".local/share/kservices5",
    ".local/share/nautilus",
    ".local/share/nvim",
    ".mailcap",
    ".netrc",
    ".npmrc",
    ".nvm",
    ".oh-my-zsh",
    ".pip",
    ".profile.d",
    ".psqlrc",
    ".pyenv",
    ".pypirc",
    ".pythonrc",
    ".pythonrc.py",
    ".pythonstartup",
    ".rustup",
    ".screenrc",
    ".subversion",
    ".tmux.conf",
    ".vim",
    ".vimrc",
    ".vscode/extensions",
    ".vscode-server",
    ".wgetrc",
    ".xbindkeysrc",
    ".yarnrc",
    ".yarnrc.yml",
    "bin",
    "go/bin",
];

/// Project files and folders that start something, in every folder. Changing them is ordinary work,
/// so the user is asked instead of the call being refused.
const ASKED: &[&str] = &[
    ".circleci",
    ".devcontainer",
    ".devcontainer.json",
    ".envrc",
    ".forgejo/workflows",
    ".gitea/workflows",
    ".github/workflows",
    ".gitlab-ci.yml",
    ".husky",
    ".idea/runconfigurations",
    ".idea/workspace.xml",
    ".pre-commit-config.yaml",
    ".vscode/launch.json",
    ".vscode/settings.json",
    ".vscode/tasks.json",
];

/// Folders of dependencies: nobody opens an editor or runs git there, and they contain thousands of
/// files of [`ASKED`].
const DEPENDENCIES: &[&str] = &["node_modules", "site-packages", "vendor"];

/// Returns the protection of the canonical path `real`, if any.
pub fn protection(real: &Path, home: Option<&PersonHome>) -> Option<PathProtection> {
    let below_home = home.and_then(|home| home.below(real));
    protection_of(real, below_home.as_deref())
}

/// Returns the protection of `real`, whose part below the home folder is known.
pub(crate) fn protection_of(real: &Path, below_home: Option<&Path>) -> Option<PathProtection> {
    let steps = steps(real);
    let refused = |why| Some(PathProtection::Refused(why));
    if steps.iter().any(|step| TREES.contains(&step.as_str())) {
        return refused(GIT_OR_KEYS);
    }
    let last = steps.last();
    if last.is_some_and(|last| FILES.contains(&last.as_str())) {
        return refused(AT_START);
    }
    let anywhere = |entry: &&str| {
        let count = entry.split('/').count();
        steps
            .windows(count)
            .any(|window| matches_entry(entry, window))
    };
    if FOLDERS.iter().any(anywhere) {
        return refused(BY_ITSELF);
    }
    if let Some(below) = below_home {
        let below = self::steps(below);
        let in_home = |entry: &&str| matches_entry(entry, &below);
        if HOME.iter().any(in_home) {
            return refused(IN_HOME);
        }
    }
    ASKED
        .iter()
        .any(anywhere)
        .then_some(PathProtection::Asked(PROJECT))
}

/// Returns true if an entry of this name can be protected at all. Cheap, for scans of many names.
pub(crate) fn may_be_protected(name: &[u8]) -> bool {
    const PLAIN: &[&str] = &[
        "bin",
        "launchagents",
        "sitecustomize.py",
        "usercustomize.py",
    ];
    if name.starts_with(b".") {
        return true;
    }
    // The last step of an entry below a dot folder may be any name, so each table is searched.
    let last_steps = FOLDERS.iter().chain(HOME).chain(ASKED);
    let last_steps = last_steps.filter_map(|entry| entry.rsplit_once('/'));
    let ends = |(_, last): (&str, &str)| match last.strip_suffix('*') {
        Some(beginning) => starts_with_ignoring_case(name, beginning),
        None => name.eq_ignore_ascii_case(last.as_bytes()),
    };
    PLAIN
        .iter()
        .any(|plain| name.eq_ignore_ascii_case(plain.as_bytes()))
        || last_steps.into_iter().any(ends)
}

/// Returns true if a folder of this name contains dependencies.
pub(crate) fn is_dependency_folder(name: &[u8]) -> bool {
    let same = |known: &&str| name.eq_ignore_ascii_case(known.as_bytes());
    DEPENDENCIES.iter().any(same)
}

/// The protected paths below a home folder and inside `root`, whether they exist or not. A
/// workspace such as `~/.config` needs them, because a command could create them. Names with `*`
/// are left out.
pub(crate) fn home_entries_inside(home: &Path, root: &Path) -> Vec<PathBuf> {
    let plain_files = FILES.iter().filter(|name| name.starts_with('.'));
    let all = HOME.iter().chain(FOLDERS).chain(TREES).chain(plain_files);
    all.filter(|entry| !entry.contains('*'))
        .map(|entry| home.join(entry))
        .filter(|path| path.starts_with(root) && path != root)
        .collect()
}

/// Returns true if a path is the entry or lies below it.
fn matches_entry(entry: &str, steps: &[String]) -> bool {
    let mut have = steps.iter();
    entry.split('/').all(|wanted| {
        have.next()
            .is_some_and(|step| match wanted.strip_suffix('*') {
                Some(beginning) => step.starts_with(beginning),
                None => step == wanted,
            })
    })
}

fn starts_with_ignoring_case(name: &[u8], beginning: &str) -> bool {
    name.get(..beginning.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(beginning.as_bytes()))
}

fn steps(path: &Path) -> Vec<String> {
    let step = |step: std::path::Component<'_>| step.as_os_str().to_string_lossy().to_lowercase();
    path.components().map(step).collect()
}

/// The user's home folder, identified by device and inode, so that a link to it or another mount of
/// it is the same folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonHome {
    path: PathBuf,
    id: Option<(u64, u64)>,
}

impl PersonHome {
    /// Follows links. Blocks on the disk.
    pub fn new(path: &Path) -> PersonHome {
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        PersonHome {
            id: folder_id(&path),
            path,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The part of a path below the home folder; empty for the folder itself.
    pub fn below(&self, path: &Path) -> Option<PathBuf> {
        // The usual case needs no look at the disk.
        if let Ok(below) = path.strip_prefix(&self.path) {
            return Some(below.to_owned());
        }
        let id = self.id?;
        let same = |folder: &&Path| folder_id(folder) == Some(id);
        let folder = path.ancestors().find(same)?;
        path.strip_prefix(folder).ok().map(Path::to_owned)
    }

    /// The path of the home folder in the spelling of `root`, if it is `root` or inside it.
    pub fn inside(&self, root: &Path) -> Option<PathBuf> {
        if self.path.starts_with(root) {
            return Some(self.path.clone());
        }
        let id = folder_id(root)?;
        let same = |folder: &&Path| folder_id(folder) == Some(id);
        let folder = self.path.ancestors().find(same)?;
        let below = self.path.strip_prefix(folder).ok()?;
        // Joining an empty path would add a slash.
        Some(if below == Path::new("") {
            root.to_owned()
        } else {
            root.join(below)
        })
    }
}

fn folder_id(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// Returns true if an entry at the top of the home folder stays read-only for commands.
pub(crate) fn is_read_only_in_home(name: &OsStr) -> bool {
    let below = PathBuf::from(name);
    let is_dot = name.as_encoded_bytes().starts_with(b".");
    is_dot
        || HOME
            .iter()
            .any(|entry| matches_entry(entry, &steps(&below)))
}

#[cfg(test)]
#[path = "protected_paths_tests.rs"]
mod tests;

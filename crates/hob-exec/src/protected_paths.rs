//! Paths that a shell, a session, an editor or a build server runs by itself: one table for the
//! file tools and for sandboxed commands. Pure, apart from [`PersonHome`], which looks at folders.
//!
//! Invariant: a path is judged by its real location, every link resolved by the caller; letters
//! are compared without case, because some file systems do.

use hob_kit::failpoint;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What happens when a tool is to change a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// No tool changes it; the sentence says why.
    Refused(&'static str),
    /// A person is asked each time, whatever rule allows writing; the sentence says why.
    Asked(&'static str),
}

const GIT_OR_KEYS: &str = "it belongs to git or to the keys of this machine";
const AT_START: &str = "a shell or a session runs it at its start";
const BY_ITSELF: &str = "what lies there runs by itself or belongs to hob";
const IN_HOME: &str = "programs of yours read or run it by themselves";
const PROJECT: &str =
    "an editor, a shell, git or a build server may run what it says without asking";

/// Names that are protected with everything below them, in any folder.
const TREES: &[&str] = &[".git", ".ssh", ".gnupg"];

/// Files that are run when a shell, a session or Python starts, in any folder: a home folder can
/// lie in a workspace, be a copy, or belong to somebody else.
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

/// Folders that are protected with everything below them, by their last steps, in any folder.
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

/// Files and folders that count only below the person's own home folder: elsewhere they are
/// ordinary files of a project. `python*` stands for any name that begins so.
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

/// Files and folders of a project that start something, in any folder. Changing them is ordinary
/// work, so a person is asked instead of the call being refused.
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

/// Folders of other people's packages: nobody opens an editor or runs git there, and they hold
/// thousands of files of [`ASKED`].
const DEPENDENCIES: &[&str] = &["node_modules", "site-packages", "vendor"];

/// How `real` is protected, if it is.
pub fn protection(real: &Path, home: Option<&PersonHome>) -> Option<Protection> {
    let below_home = home.and_then(|home| home.below(real));
    protection_of(real, below_home.as_deref())
}

/// The same, where it is known which part of the path lies below the person's home.
pub(crate) fn protection_of(real: &Path, below_home: Option<&Path>) -> Option<Protection> {
    if failpoint::broken(67) {
        return None;
    }
    let steps = steps(real);
    let refused = |why| Some(Protection::Refused(why));
    if steps.iter().any(|step| TREES.contains(&step.as_str())) {
        return refused(GIT_OR_KEYS);
    }
    let last = steps.last();
    if last.is_some_and(|last| FILES.contains(&last.as_str())) {
        return refused(AT_START);
    }
    let anywhere = |entry: &&str| {
        let count = entry.split('/').count();
        steps.windows(count).any(|window| fits(entry, window))
    };
    if FOLDERS.iter().any(anywhere) {
        return refused(BY_ITSELF);
    }
    if let Some(below) = below_home {
        let below = self::steps(below);
        let in_home = |entry: &&str| fits(entry, &below);
        if HOME.iter().any(in_home) {
            return refused(IN_HOME);
        }
    }
    ASKED
        .iter()
        .any(anywhere)
        .then_some(Protection::Asked(PROJECT))
}

/// Whether something of this name can be protected at all; cheap, for walks over many names.
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
    // What lies in a dot folder has any name, and so does a Python's folder.
    let last_steps = FOLDERS.iter().chain(HOME).chain(ASKED);
    let last_steps = last_steps.filter_map(|entry| entry.rsplit_once('/'));
    let ends = |(_, last): (&str, &str)| match last.strip_suffix('*') {
        Some(beginning) => begins_with(name, beginning),
        None => name.eq_ignore_ascii_case(last.as_bytes()),
    };
    PLAIN
        .iter()
        .any(|plain| name.eq_ignore_ascii_case(plain.as_bytes()))
        || last_steps.into_iter().any(ends)
}

/// Whether a folder of this name holds other people's packages.
pub(crate) fn is_dependency_folder(name: &[u8]) -> bool {
    let same = |known: &&str| name.eq_ignore_ascii_case(known.as_bytes());
    DEPENDENCIES.iter().any(same)
}

/// What is protected below a home folder and inside `root`, whether it exists or not: for a
/// workspace such as `~/.config`, where a command could create it. Names with a `*` are left out.
pub(crate) fn of_home_inside(home: &Path, root: &Path) -> Vec<PathBuf> {
    let plain_files = FILES.iter().filter(|name| name.starts_with('.'));
    let all = HOME.iter().chain(FOLDERS).chain(TREES).chain(plain_files);
    all.filter(|entry| !entry.contains('*'))
        .map(|entry| home.join(entry))
        .filter(|path| path.starts_with(root) && path != root)
        .collect()
}

/// Whether the beginning of a path fits an entry: the entry itself or anything below it.
fn fits(entry: &str, steps: &[String]) -> bool {
    let mut have = steps.iter();
    entry.split('/').all(|wanted| {
        have.next()
            .is_some_and(|step| match wanted.strip_suffix('*') {
                Some(beginning) => step.starts_with(beginning),
                None => step == wanted,
            })
    })
}

fn begins_with(name: &[u8], beginning: &str) -> bool {
    name.get(..beginning.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(beginning.as_bytes()))
}

fn steps(path: &Path) -> Vec<String> {
    let step = |step: std::path::Component<'_>| step.as_os_str().to_string_lossy().to_lowercase();
    path.components().map(step).collect()
}

/// The person's home folder, known by device and inode: a link to it or another mount of it is
/// the same folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonHome {
    path: PathBuf,
    id: Option<(u64, u64)>,
}

impl PersonHome {
    /// Follows links. Blocks for the disk.
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
        if let Ok(below) = path.strip_prefix(&self.path) {
            return Some(below.to_owned());
        }
        let id = self.id?;
        let same = |folder: &&Path| folder_id(folder) == Some(id);
        let folder = path.ancestors().find(same)?;
        path.strip_prefix(folder).ok().map(Path::to_owned)
    }

    /// Where the home folder lies as seen from `root`, if it is `root` or inside it.
    pub fn inside(&self, root: &Path) -> Option<PathBuf> {
        if self.path.starts_with(root) {
            return Some(self.path.clone());
        }
        let id = folder_id(root)?;
        let same = |folder: &&Path| folder_id(folder) == Some(id);
        let folder = self.path.ancestors().find(same)?;
        let below = self.path.strip_prefix(folder).ok()?;
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

/// Whether an entry at the top of the home folder stays read-only for commands.
pub(crate) fn is_fixed_in_home(name: &OsStr) -> bool {
    let below = PathBuf::from(name);
    let is_dot = name.as_encoded_bytes().starts_with(b".");
    is_dot || HOME.iter().any(|entry| fits(entry, &steps(&below)))
}

#[cfg(test)]
#[path = "protected_paths_tests.rs"]
mod tests;

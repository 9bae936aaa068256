//! How shells are started so that they tell hob where a command begins and ends, and how a command
//! is handed to them.
//!
//! A mark is `ESC ] 7717 ; KEY ; KIND [; fields]` and BEL, or `ESC \` where nobody waits for it: the
//! recorder does not hurry for that. The key is the terminal's own: the same sequence without it is
//! data. Kinds:
//!
//! | Kind | Fields | Means |
//! |---|---|---|
//! | `B` | hexadecimal bytes of the folder | the shell is at its prompt and takes keys. Told each time the prompt is drawn, also between `T` and `C` |
//! | `T` | id | a command that hob handed over has been taken; not told where `C` or `D` says it at once |
//! | `C` | id, seconds.micros | a command begins to run. One that the shell cannot parse never begins. Ends with `ESC \` |
//! | `D` | id, status, seconds.micros, hexadecimal bytes of the line | a command has ended; the line only where the person typed it and their history took it. An id of hob's always has its `D` |
//! | `I` | | the shell asks for the rest of a line |
//! | `X` | status | the shell is left |
//!
//! Handing over (`next`): a [`Hand`] writes the command to a file, then a private key ([`KEY_TAKE`])
//! is typed which the hooks have bound: they empty the file, show the line as if it had been typed
//! and run it. A shell without hooks is typed the line [`LINE_TAKE`] instead.
//!
//! Invariants: a command is taken at most once however often the key comes; the key comes neither
//! from the environment nor on a command line; the person's own start-up files are read first.

mod next;

pub use next::{Hand, discard};

use super::words::quoted;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// What is typed to have the hooks take the command.
pub const KEY_TAKE: &[u8] = b"\x1b[7717~";
/// What is typed where there are no hooks. The space keeps it out of most histories.
pub const LINE_TAKE: &[u8] = b" . \"$HOB_TAKE\"\r";
/// Digits of a key.
pub const KEY_DIGITS: usize = 32;

/// The shells that differ in how they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
    /// Any other: `sh`, dash, ksh, busybox. What the person types there is not told by marks.
    Posix,
}

impl Shell {
    /// The shell of a program, by its name.
    pub fn of(program: &Path) -> Shell {
        let name = program.file_name().and_then(OsStr::to_str);
        match name.unwrap_or_default().trim_start_matches('-') {
            "bash" | "rbash" => Shell::Bash,
            "zsh" => Shell::Zsh,
            "fish" => Shell::Fish,
            _ => Shell::Posix,
        }
    }

    /// Whether the private key is bound there; else [`LINE_TAKE`] is typed.
    pub fn has_hooks(self) -> bool {
        self != Shell::Posix
    }
}

/// Writes what the shell reads at its start, and says how it is started.
pub(super) fn prepare(program: &Path, folder: &Path, key: &str) -> io::Result<Vec<OsString>> {
    if key.len() != KEY_DIGITS || !key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the key of a terminal is 32 hexadecimal digits",
        ));
    }
    next::make(folder)?;
    let head = head(folder, key);
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let mut argv = vec![OsString::from(program)];
    match Shell::of(program) {
        Shell::Bash => {
            let file = folder.join("hooks.bash");
            let person = b"[ -r ~/.bashrc ] && . ~/.bashrc\n";
            private(&file, &[person, &head[..], BASH].concat())?;
            argv.extend(["--rcfile".into(), file.into(), "-i".into()]);
        }
        Shell::Zsh => {
            // zsh reads its files in the order .zshenv, .zshrc from the folder of this variable.
            let place = folder.join("zsh");
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&place)?;
            let here = [b"__hob_zsh=", &*quoted(place.as_os_str()).into_vec(), b"\n"].concat();
            private(&place.join(".zshenv"), &[&here[..], ZSHENV].concat())?;
            private(&place.join(".zshrc"), &[ZSHRC, &head[..], ZSH].concat())?;
            let mut variable = OsString::from("ZDOTDIR=");
            variable.push(place);
            argv.splice(..0, ["env".into(), variable]);
            argv.push("-i".into());
        }
        Shell::Fish => {
            let file = folder.join("hooks.fish");
            let folder = fish_word(folder.as_os_str());
            let head = [
                b"set -g __hob_k ",
                key.as_bytes(),
                b"\nset -g __hob_dir ",
                &*folder,
                b"\n",
            ];
            private(&file, &[&head.concat()[..], FISH].concat())?;
            let source = [b"source ", &*fish_word(file.as_os_str())].concat();
            argv.extend(words(&["-i", "-C"]));
            argv.push(OsString::from_vec(source));
        }
        Shell::Posix => {
            let file = folder.join("hooks.sh");
            private(&file, &[&head[..], POSIX].concat())?;
            private(&folder.join("take"), TAKE)?;
            let mut variable = OsString::from("ENV=");
            variable.push(file);
            argv.splice(..0, ["env".into(), variable]);
            argv.push("-i".into());
        }
    }
    Ok(argv)
}

const BASH: &[u8] = include_bytes!("hooks.bash");
const ZSH: &[u8] = include_bytes!("hooks.zsh");
const FISH: &[u8] = include_bytes!("hooks.fish");
const POSIX: &[u8] = include_bytes!("hooks.sh");
const TAKE: &[u8] = include_bytes!("take.sh");
/// Reads the person's own file, which may name another folder for the next one.
const ZSHENV: &[u8] = b"unset ZDOTDIR
[[ -r ~/.zshenv ]] && . ~/.zshenv
__hob_zdotdir=${ZDOTDIR-}
ZDOTDIR=$__hob_zsh
unset __hob_zsh
";
const ZSHRC: &[u8] = b"ZDOTDIR=$__hob_zdotdir
unset __hob_zdotdir
[[ -n $ZDOTDIR ]] || unset ZDOTDIR
[[ -r ${ZDOTDIR:-$HOME}/.zshrc ]] && . ${ZDOTDIR:-$HOME}/.zshrc
";

/// The two variables that every hook needs, in words that all but fish read.
fn head(folder: &Path, key: &str) -> Vec<u8> {
    let mut text = format!("__hob_k={key} __hob_dir=").into_bytes();
    text.extend(quoted(folder.as_os_str()).into_vec());
    text.push(b'\n');
    text
}

/// One word for fish, whose quotes know the backslash.
fn fish_word(word: &OsStr) -> Vec<u8> {
    let mut text = b"'".to_vec();
    for byte in word.as_bytes() {
        if matches!(byte, b'\\' | b'\'') {
            text.push(b'\\');
        }
        text.push(*byte);
    }
    text.push(b'\'');
    text
}

fn private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)?.write_all(bytes)
}

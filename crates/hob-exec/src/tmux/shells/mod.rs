//! Shell integration: hooks that mark where a command begins and ends, and the handover of commands
//! to a shell.
//!
//! A mark is `ESC ] 7717 ; KEY ; KIND [; fields]` and BEL. It ends with `ESC \` instead if nobody
//! waits for it; the recorder writes such a mark without hurry. The key belongs to the terminal:
//! the same sequence without it is data. Kinds:
//!
//! | Kind | Fields | Meaning |
//! |---|---|---|
//! | `B` | hexadecimal bytes of the folder | the shell is at its prompt and reads keys. Sent each time the prompt is drawn, also between `T` and `C` |
//! | `T` | id | the shell took a command from hob; not sent if `C` or `D` follows at once |
//! | `C` | id, seconds.micros | a command starts to run. A command that the shell cannot parse never starts. Ends with `ESC \` |
//! | `D` | id, status, seconds.micros, hexadecimal bytes of the line | a command has ended; with the line only if the user typed it and the history kept it. An id of hob always gets a `D` |
//! | `I` | | the shell asks for the rest of a line |
//! | `X` | status | the shell exits |
//!
//! Handover (`command_handoff`): a [`CommandHandoff`] writes the command to a file, then a private
//! key ([`KEY_TAKE`]) is typed, to which the hooks are bound. They empty the file, show the line as
//! if it was typed, and run it. In a shell without hooks the line [`LINE_TAKE`] is typed instead.
//!
//! Invariants: a command is taken at most once, however often the key is typed; the terminal's key
//! is neither in the environment nor on a command line; the user's own start-up files are read
//! first.

mod command_handoff;

pub use command_handoff::{CommandHandoff, discard};

use super::quoting::quote_for_shell;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// The private key on which the hooks take the command.
pub const KEY_TAKE: &[u8] = b"\x1b[7717~";
/// The line that takes the command in a shell without hooks. The space keeps it out of most
/// histories.
pub const LINE_TAKE: &[u8] = b" . \"$HOB_TAKE\"\r";
/// The number of digits of a terminal's key.
pub const KEY_DIGITS: usize = 32;

/// The kinds of shells with different hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellKind {
    Bash,
    Zsh,
    Fish,
    /// Any other: `sh`, dash, ksh, busybox. Commands that the user types there get no marks.
    Posix,
}

impl ShellKind {
    /// The kind of a shell program, by its name.
    pub fn of(program: &Path) -> ShellKind {
        let name = program.file_name().and_then(OsStr::to_str);
        match name.unwrap_or_default().trim_start_matches('-') {
            "bash" | "rbash" => ShellKind::Bash,
            "zsh" => ShellKind::Zsh,
            "fish" => ShellKind::Fish,
            _ => ShellKind::Posix,
        }
    }

    /// Returns true if the private key is bound; else [`LINE_TAKE`] is typed.
    pub fn has_hooks(self) -> bool {
        self != ShellKind::Posix
    }
}

/// Writes the shell's start-up files and returns its command line.
pub(super) fn prepare(program: &Path, folder: &Path, key: &str) -> io::Result<Vec<OsString>> {
    if key.len() != KEY_DIGITS || !key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the key of a terminal is 32 hexadecimal digits",
        ));
    }
    command_handoff::create(folder)?;
    let head = hook_variables(folder, key);
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let mut argv = vec![OsString::from(program)];
    match ShellKind::of(program) {
        ShellKind::Bash => {
            let file = folder.join("hooks.bash");
            // Bash reads the file of `--rcfile` in place of the person's own.
            let person = b"[ -r ~/.bashrc ] && . ~/.bashrc\n";
            write_private(&file, &[person, &head[..], BASH].concat())?;
            argv.extend(["--rcfile".into(), file.into(), "-i".into()]);
        }
        ShellKind::Zsh => {
            // zsh reads .zshenv and .zshrc, in this order, from the folder in `ZDOTDIR`.
            let place = folder.join("zsh");
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&place)?;
            let here = [
                b"__hob_zsh=",
                &*quote_for_shell(place.as_os_str()).into_vec(),
                b"\n",
            ]
            .concat();
            write_private(&place.join(".zshenv"), &[&here[..], ZSHENV].concat())?;
            write_private(&place.join(".zshrc"), &[ZSHRC, &head[..], ZSH].concat())?;
            let mut variable = OsString::from("ZDOTDIR=");
            variable.push(place);
            argv.splice(..0, ["env".into(), variable]);
            argv.push("-i".into());
        }
        ShellKind::Fish => {
            let file = folder.join("hooks.fish");
            let folder = quote_for_fish(folder.as_os_str());
            let head = [
                b"set -g __hob_k ",
                key.as_bytes(),
                b"\nset -g __hob_dir ",
                &*folder,
                b"\n",
            ];
            write_private(&file, &[&head.concat()[..], FISH].concat())?;
            let source = [b"source ", &*quote_for_fish(file.as_os_str())].concat();
            argv.extend(words(&["-i", "-C"]));
            argv.push(OsString::from_vec(source));
        }
        ShellKind::Posix => {
            let file = folder.join("hooks.sh");
            write_private(&file, &[&head[..], POSIX].concat())?;
            write_private(&folder.join("take"), TAKE)?;
            // An interactive POSIX shell reads the file that this variable names.
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
/// Reads the user's own `.zshenv`, which may set another folder for `.zshrc`.
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

/// Returns the two variables that every hook needs, in a syntax for all shells except fish.
fn hook_variables(folder: &Path, key: &str) -> Vec<u8> {
    let mut text = format!("__hob_k={key} __hob_dir=").into_bytes();
    text.extend(quote_for_shell(folder.as_os_str()).into_vec());
    text.push(b'\n');
    text
}

/// Quotes one word for fish, where a backslash escapes inside quotes.
fn quote_for_fish(word: &OsStr) -> Vec<u8> {
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

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    // Private, because the hook files contain the terminal's key.
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)?.write_all(bytes)
}

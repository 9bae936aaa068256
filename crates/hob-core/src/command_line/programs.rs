//! Programs and builtins that run what their arguments or input name. Pure.
//!
//! The tables list the usual ones and are not complete. A program that is not listed and runs
//! others (`make`, a script, an editor) is not visible to rules.

use super::word::ShellWord;

/// Programs that run other programs in ways that are not parsed.
const RUN_OTHERS: &[&str] = &[
    // Builtins that evaluate text, or change what a name means.
    ".",
    "source",
    "eval",
    "alias",
    "unalias",
    "trap",
    "hash",
    "enable",
    "bind",
    "complete",
    "compgen",
    "fc",
    "let",
    "declare",
    "typeset",
    "local",
    "mapfile",
    "readarray",
    "coproc",
    // Keywords of other shells that a terminal may run.
    "and",
    "begin",
    "foreach",
    "nocorrect",
    "noglob",
    "not",
    "or",
    "repeat",
    "-",
    // Programs whose arguments name a program or a command line.
    "at",
    "awk",
    "batch",
    "bwrap",
    "capsh",
    "crontab",
    "dbus-run-session",
    "docker",
    "entr",
    "expect",
    "fakeroot",
    "firejail",
    "flatpak-spawn",
    "flock",
    "gawk",
    "gdb",
    "ltrace",
    "mawk",
    "nawk",
    "nsenter",
    "numactl",
    "osascript",
    "parallel",
    "pkexec",
    "podman",
    "prlimit",
    "proot",
    "rsh",
    "run-parts",
    "runuser",
    "screen",
    "script",
    "setarch",
    "setpriv",
    "ssh",
    "start-stop-daemon",
    "strace",
    "su",
    "sudoedit",
    "systemd-run",
    "tmux",
    "unbuffer",
    "unshare",
    "watch",
    "xvfb-run",
];
/// Shells, which run a named or typed script.
const SHELLS: &[&str] = &[
    "ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "rbash", "sh", "tcsh", "zsh",
];
/// Interpreters of languages that can start programs.
const INTERPRETERS: &[&str] = &[
    "bun", "deno", "lua", "node", "perl", "php", "python", "ruby", "tclsh",
];
/// Programs that search files and start programs on the results.
const FINDERS: &[&str] = &["fd", "fdfind", "find", "gfind"];
/// Builtins that evaluate the name of a variable, which can hold a substitution.
const EVALUATE_NAMES: &[&str] = &[
    "[", "export", "getopts", "printf", "read", "readonly", "test", "unset", "wait",
];

/// Returns true if a program of this name may start others than those on its line.
pub(super) fn may_run_others(name: &str, arguments: &[ShellWord]) -> bool {
    let is_known = |word: &ShellWord| word.unknown_at.is_none();
    if RUN_OTHERS.contains(&name) {
        return true;
    }
    if EVALUATE_NAMES.contains(&name) {
        return arguments.iter().any(ShellWord::names_substitution);
    }
    if FINDERS.contains(&name) {
        let options: &[&str] = match name {
            "fd" | "fdfind" => &["-x", "-X", "--exec"],
            _ => &["-exec", "-ok"],
        };
        // Some shells pass globs on, and a variable can be any option.
        let may_start = |word: &ShellWord| {
            let is_variable = !is_known(word) && word.text.contains('$');
            is_variable || options.iter().any(|it| word.text.starts_with(it))
        };
        return arguments.iter().any(may_start);
    }
    if SHELLS.contains(&name) {
        return !runs_named_script(arguments, "efnuvx", &[]);
    }
    // Interpreters are installed under names with a version, such as `python3.12`.
    let plain = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    if INTERPRETERS.contains(&plain) {
        let python: &[&str] = if plain == "python" { &["-m"] } else { &[] };
        let flags = if plain == "python" { "BIOqsu" } else { "" };
        return !runs_named_script(arguments, flags, python);
    }
    false
}

/// Returns true if the first argument after harmless options names a script, or is one of `enough`.
fn runs_named_script(arguments: &[ShellWord], flags: &str, enough: &[&str]) -> bool {
    for word in arguments {
        let text = word.text.as_str();
        if word.unknown_at.is_some() {
            return false;
        }
        if enough.contains(&text) || text == "--version" {
            return true;
        }
        match text.strip_prefix(['-', '+']) {
            None => return true,
            // With a single dash the script comes from the input.
            Some("") => return false,
            Some(letters) if letters.chars().all(|it| flags.contains(it)) => {}
            Some(_) => return false,
        }
    }
    false
}

//! Lines taken apart.

use super::*;
use crate::command_line::{FolderVariable, ShellWord};

/// A word as the table below writes it: a known folder by its variable, and a `?` after a word that
/// is decided when the line runs, without its variables and substitutions.
fn shown_word(word: &ShellWord) -> String {
    let Some((folder, rest)) = word.path() else {
        let text = word.text();
        let known = text.find(['$', '`']).map_or(text, |at| &text[..at]);
        return format!("{known}?");
    };
    let folder = match folder {
        None => "",
        Some(FolderVariable::Current) => "$PWD",
        Some(FolderVariable::Home) => "$HOME",
    };
    format!("{folder}{rest}")
}

fn shown(line: &str) -> Vec<String> {
    let command = |command: &ShellCommand| {
        let mut text: Vec<String> = command.words.iter().map(shown_word).collect();
        let input = command.input();
        text.extend(input.map(|input| format!("<{}", shown_word(input))));
        if command.is_piped {
            text.insert(0, "|".to_owned());
        }
        text.join(" ")
    };
    let commands = ShellCommands::parse(line, 0).commands;
    commands.iter().map(command).collect()
}

#[test]
fn words_are_read_as_bash_reads_them() {
    for (line, expected) in [
        ("bash  x.sh", vec!["bash x.sh"]),
        ("\"./x y.sh\" a'b'c", vec!["./x y.sh abc"]),
        ("./x\\ y.sh", vec!["./x y.sh"]),
        ("a; b && c || d & e\nf", vec!["a", "b", "c", "d", "e", "f"]),
        ("a | b |& c", vec!["a", "| b", "| c"]),
        ("(./x.sh)", vec!["./x.sh"]),
        ("bash <x.sh 2>&1 >out", vec!["bash <x.sh"]),
        ("bash 2>/dev/null x.sh &>y", vec!["bash x.sh"]),
        ("$PWD/x \"${PWD}/y\" ~/z", vec!["$PWD/x $PWD/y $HOME/z"]),
        ("$A x*", vec!["? x*?"]),
        (
            "echo $(./x.sh a) `./y`",
            vec!["./x.sh a", "./y", "echo ? ?"],
        ),
        ("echo \"$(./x.sh)\"", vec!["./x.sh", "echo ?"]),
        ("a # ./x.sh\nb", vec!["a", "b"]),
        ("cat <<E", vec!["cat"]),
    ] {
        assert_eq!(shown(line), expected, "{line}");
    }
}

#[test]
fn variables_are_read_whole_and_pipes_reach_into_groups() {
    assert_eq!(shown("$P\"WD\"/x"), ["?"]);
    assert_eq!(shown("$PWDX/x $PWD/*"), ["? ?"]);
    assert_eq!(shown("~bob/x \"~\"/x ~\"/x\""), ["~bob/x? ~/x ~/x?"]);
    assert_eq!(shown("a | (b; c) | d"), ["a", "| b", "c", "| d"]);
    assert_eq!(shown("a |\nb"), ["a", "| b"]);
    assert_eq!(shown("for x in $(./x.sh); do ./y; done"), ["./x.sh", "./y"]);
    assert_eq!(shown("cat <<E\n$(./x.sh)\nE\nb"), ["./x.sh", "cat", "b"]);
    assert_eq!(shown("cat <<'E'\n$(./x.sh)\nE\nb"), ["cat", "b"]);
    let fed = ShellCommands::parse("bash <<-E\n\t./x.sh\n\tE", 0);
    assert_eq!(fed.commands[0].document(), Some("./x.sh\n"));
}

#[test]
fn what_never_ends_is_bounded() {
    let count = |line: &str| ShellCommands::parse(line, 0).commands.len();
    assert_eq!(count(&"a;".repeat(1_000)), COMMANDS_MAX);
    let nested = "$(".repeat(1_000);
    assert!(count(&nested) <= COMMANDS_MAX);
}

//! Lines taken apart.

use super::*;

fn shown(line: &str) -> Vec<String> {
    let word = |word: &CommandWord| {
        let mark = if word.is_known { "" } else { "?" };
        format!("{}{mark}", word.text.replace('\0', "$"))
    };
    let command = |command: &SimpleCommand| {
        let mut text: Vec<String> = command.words.iter().map(word).collect();
        text.extend(
            command
                .input
                .iter()
                .map(|input| format!("<{}", word(input))),
        );
        if command.is_piped {
            text.insert(0, "|".to_owned());
        }
        text.join(" ")
    };
    simple_commands(line).iter().map(command).collect()
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
fn what_never_ends_is_bounded() {
    assert_eq!(simple_commands(&"a;".repeat(1_000)).len(), COMMANDS_MAX);
    let nested = "$(".repeat(1_000);
    assert!(simple_commands(&nested).len() <= COMMANDS_MAX);
}

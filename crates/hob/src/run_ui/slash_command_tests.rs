//! What is a command and what is for the model.

use super::*;

#[test]
fn commands_are_read_with_their_values() {
    assert_eq!(parse(" /help "), ChatInput::Help);
    assert_eq!(parse("/new"), ChatInput::New(None));
    assert_eq!(
        parse("/model  sim/small "),
        ChatInput::Model(Some("sim/small".to_owned()))
    );
    assert_eq!(
        [parse("/quit"), parse("/exit")],
        [ChatInput::Quit, ChatInput::Quit]
    );
    assert_eq!(
        [parse("/stop"), parse("/cost")],
        [ChatInput::Stop, ChatInput::Cost]
    );
    assert_eq!(
        parse("/hepl"),
        ChatInput::Unknown("hepl".to_owned(), Some("help"))
    );
    assert_eq!(parse("/zzz"), ChatInput::Unknown("zzz".to_owned(), None));
}

#[test]
fn words_stay_words() {
    assert_eq!(parse("  "), ChatInput::Nothing);
    for words in [
        "hello",
        "/etc/passwd is what?",
        "/* a comment */",
        "/model\nis a word here",
        "a /help",
    ] {
        assert_eq!(parse(words), ChatInput::Words(words.to_owned()), "{words}");
    }
}

#[test]
fn the_help_names_every_command_and_fits() {
    let page = help();
    assert!(
        page.iter().all(|line| line.chars().count() <= 80),
        "{page:?}"
    );
    for (word, _, _) in COMMANDS {
        assert!(page.iter().any(|line| line.contains(&format!("/{word}"))));
        assert!(!matches!(
            parse(&format!("/{word}")),
            ChatInput::Unknown(..) | ChatInput::Words(_)
        ));
    }
}

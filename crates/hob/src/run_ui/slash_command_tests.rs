//! What is a command and what is for the model.

use super::*;

#[test]
fn commands_are_read_with_their_values() {
    assert_eq!(read(" /help "), Typed::Help);
    assert_eq!(read("/new"), Typed::New(None));
    assert_eq!(
        read("/model  sim/small "),
        Typed::Model(Some("sim/small".to_owned()))
    );
    assert_eq!([read("/quit"), read("/exit")], [Typed::Quit, Typed::Quit]);
    assert_eq!([read("/stop"), read("/cost")], [Typed::Stop, Typed::Cost]);
    assert_eq!(
        read("/hepl"),
        Typed::Unknown("hepl".to_owned(), Some("help"))
    );
    assert_eq!(read("/zzz"), Typed::Unknown("zzz".to_owned(), None));
}

#[test]
fn words_stay_words() {
    assert_eq!(read("  "), Typed::Nothing);
    for words in [
        "hello",
        "/etc/passwd is what?",
        "/* a comment */",
        "/model\nis a word here",
        "a /help",
    ] {
        assert_eq!(read(words), Typed::Words(words.to_owned()), "{words}");
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
            read(&format!("/{word}")),
            Typed::Unknown(..) | Typed::Words(_)
        ));
    }
}

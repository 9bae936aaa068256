//! The tree as a whole: every page in one voice, within 80 columns.

use super::*;
use crate::render::text::width;

/// Every command with its path, rooms' verbs included.
fn pages() -> Vec<(String, String)> {
    let mut command = command().term_width(help_text::COLUMNS);
    command.build();
    let mut pages = Vec::new();
    gather(&mut command, "hob", &mut pages);
    pages
}

fn gather(command: &mut Command, path: &str, into: &mut Vec<(String, String)>) {
    into.push((path.to_owned(), command.render_help().to_string()));
    for sub in command.get_subcommands_mut() {
        let path = format!("{path} {}", sub.get_name());
        gather(sub, &path, into);
    }
}

#[test]
fn the_tree_is_sound() {
    command().debug_assert();
}

#[test]
fn every_page_has_a_description_and_examples_within_80_columns() {
    for (path, page) in pages() {
        let wide = page.lines().find(|line| width(line) > help_text::COLUMNS);
        assert_eq!(wide, None, "{path}");
        assert!(page.contains("\nEXAMPLES\n  "), "{path} has no examples");
        let about = page.lines().next().unwrap_or_default();
        assert!(
            about.len() > 10 && !about.starts_with("Usage"),
            "{path}: {about}"
        );
        let first = about.split([' ', ',']).next().unwrap_or_default();
        let speaks = first.ends_with('s') || path == "hob" || about.contains("room:");
        assert!(speaks, "{path} speaks in another voice: {about}");
    }
}

#[test]
fn short_and_long_help_are_the_same_page() {
    let page = |flag: &str| {
        let line = ["hob", "session", "send", flag];
        let asked = command()
            .term_width(help_text::COLUMNS)
            .try_get_matches_from(line);
        asked.expect_err("help is no match").to_string()
    };
    assert_eq!(page("-h"), page("--help"));
}

#[test]
fn topics_fit_too() {
    for page in [help_text::exit_codes(), help_text::ENVIRONMENT.to_owned()] {
        let wide = page.lines().find(|line| width(line) > help_text::COLUMNS);
        assert_eq!(wide, None);
    }
}

#[test]
fn a_slip_is_answered_with_the_nearest_command() {
    let usage_text = |line: &[&str]| {
        let error = command().try_get_matches_from(line).expect_err("a mistake");
        usage_error::failure(&error).text()
    };
    let text = usage_text(&["hob", "sesion", "list"]);
    assert!(
        text.starts_with("error: Unrecognized subcommand 'sesion'."),
        "{text}"
    );
    assert!(text.contains("Did you mean 'session'?"), "{text}");
    let text = usage_text(&["hob", "session", "histroy"]);
    assert!(text.contains("Did you mean 'history'?"), "{text}");
    assert!(text.contains("See hob session --help"), "{text}");
    let text = usage_text(&["hob", "session", "send", "k", "x", "--rol", "user"]);
    assert!(text.contains("--role"), "{text}");
    let text = usage_text(&["hob", "session", "label"]);
    assert!(text.contains("<SESSION_KEY>"), "{text}");
    let text = usage_text(&["hob", "token", "create", "--name", "x"]);
    assert!(text.contains("not provided: --scope <SCOPE>"), "{text}");
    let text = usage_text(&["hob", "session", "list", "--limit", "many"]);
    assert!(text.contains("expected a whole number."), "{text}");
    assert!(text.contains("--help"), "{text}");
}

#[test]
fn words_without_quotes_are_answered_with_quotes() {
    let usage_text = |line: &[&str]| {
        let error = command().try_get_matches_from(line).expect_err("a mistake");
        let line: Vec<OsString> = line.iter().map(OsString::from).collect();
        usage_error::failure_of(&error, &line).text()
    };
    let text = usage_text(&["hob", "what", "is", "my", "uptime"]);
    assert!(text.contains("hob \"what is my uptime\""), "{text}");
    // A command's name may begin a question too.
    let text = usage_text(&["hob", "run", "the", "tests", "please"]);
    assert!(text.contains("hob \"run the tests please\""), "{text}");
    let text = usage_text(&["hob", "what", "costs", "$5?"]);
    assert!(text.contains("hob 'what costs $5?'"), "{text}");
    let slip = usage_text(&["hob", "sesion", "list"]);
    assert!(!slip.contains("quote"), "{slip}");
    let flag = usage_text(&["hob", "whatever", "x", "--flag"]);
    assert!(!flag.contains("quote"), "{flag}");
}

#[test]
fn old_names_are_hidden_aliases() {
    for line in [
        &["hob", "session", "get", "chat:main"][..],
        &["hob", "session", "show"],
        &["hob", "tool", "describe", "read"],
        &["hob", "tool", "show", "read"],
        &["hob", "terminal", "capture", "build"],
        &["hob", "terminal", "capture", "-t", "build"],
        &["hob", "terminal", "history", "--terminal", "build"],
        &["hob", "config", "set", "log.level", "--default"],
        &["hob", "config", "unset", "log.level"],
    ] {
        let understood = command().try_get_matches_from(line);
        assert!(understood.is_ok(), "{line:?}: {}", understood.unwrap_err());
    }
    for (path, page) in pages() {
        assert!(!page.contains("session get"), "{path} names the old verb");
    }
}

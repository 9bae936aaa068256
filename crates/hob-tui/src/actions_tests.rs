//! The table, keymap files, presets and slash commands.

use super::*;
use crate::presets;
use std::collections::BTreeSet;

#[test]
fn every_row_can_be_reached_and_is_named_once() {
    let names: BTreeSet<&str> = ACTIONS.iter().map(|spec| spec.name).collect();
    assert_eq!(names.len(), ACTIONS.len());
    for spec in ACTIONS {
        for key in spec.keys {
            let parsed = Key::parse(key).unwrap_or_else(|| panic!("{key}"));
            assert_eq!(parsed.to_string(), *key);
        }
        assert_eq!(Action::named(spec.name), Some(spec.action));
        assert_eq!(spec.action.spec().name, spec.name);
    }
}

#[test]
fn every_preset_is_free_of_conflicts() {
    for name in presets::names() {
        Keymap::parse(&format!("preset {name}")).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn a_conflict_is_refused_and_names_both() {
    let error = Keymap::parse("palette = ctrl-r").unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("`palette`") && said.contains("`history-search`"),
        "{said}"
    );
    // The same key may do different things where only one of them can act.
    Keymap::parse("list-up = y").unwrap();
    let within = Keymap::parse("send = ctrl-s").unwrap_err();
    assert!(within.to_string().contains("`search`"), "{within}");
}

#[test]
fn a_file_changes_what_it_names() {
    let keymap = Keymap::parse("# mine\npreset hob\npalette = ctrl-g f5\nyank-nothing =\n");
    assert_eq!(
        keymap.unwrap_err().to_string(),
        "Line 4: there is no action `yank-nothing`."
    );
    let keymap = Keymap::parse("palette = ctrl-g f5\nredraw =").unwrap();
    let at = |key: Key| keymap.action(key, &[Context::Composer, Context::Everywhere]);
    assert_eq!(at(Key::ctrl('g')), Some(Action::Palette));
    assert_eq!(at(Key::ctrl('p')), None);
    assert_eq!(at(Key::ctrl('l')), None);
    assert_eq!(keymap.shown(Action::Palette), "ctrl-g");
    for (text, said) in [
        ("palette = ctrl-", "Line 1: `ctrl-` is no key"),
        ("preset none", "there are hob"),
        ("nonsense", "expected"),
    ] {
        let error = Keymap::parse(text).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn keys_are_the_same_however_they_are_reported() {
    let shouted = Key {
        shift: true,
        ..Key::ctrl('P')
    };
    assert_eq!(shouted.normal(), Key::ctrl('p'));
    assert_eq!(Key::parse("ctrl--"), Some(Key::ctrl('-')));
    assert_eq!(
        Key::parse("shift-enter").unwrap().to_string(),
        "shift-enter"
    );
    assert_eq!(Key::parse("f30"), None);
}

#[test]
fn a_path_is_no_slash_command() {
    assert_eq!(parse_slash("/model smart"), Some(("model", "smart")));
    assert_eq!(parse_slash("/help"), Some(("help", "")));
    for text in [
        "/etc/passwd is odd",
        "/",
        "say /help",
        "/Users",
        "/ x",
        "/tmp/x",
    ] {
        assert_eq!(parse_slash(text), None, "{text}");
    }
    assert_eq!(
        slash_action("cost").map(|it| it.action),
        Some(Action::ShowCosts)
    );
    assert!(slash_action("nothing").is_none());
}

#[test]
fn the_manual_lists_every_action() {
    let page = include_str!("../../../docs/tui.md");
    for line in manual(&Keymap::default()).lines() {
        assert!(page.contains(line), "docs/tui.md lacks: {line}");
    }
}

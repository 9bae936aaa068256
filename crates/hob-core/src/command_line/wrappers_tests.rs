//! Options of wrappers are passed over as the wrapper itself would.

use super::super::lexer::{ShellToken, lex};
use super::*;

fn of(line: &str) -> WrappedProgram {
    let tokens = lex(line).tokens.into_iter();
    let words = tokens.filter_map(|token| match token {
        ShellToken::Word(word) => Some(word),
        _ => None,
    });
    let words: Vec<ShellWord> = words.collect();
    find_wrapped(&words[0].text, &words[1..])
}

#[test]
fn every_wrapper_ends_its_options_at_two_dashes() {
    for wrapper in WRAPPERS {
        let name = wrapper.names[0];
        let operands = "1 ".repeat(wrapper.operands);
        let found = of(&format!("{name} -- {operands}rm x"));
        assert_eq!(found.at, Some(1 + wrapper.operands), "{name}");
        assert!(found.is_clear, "{name}");
        let unknown = of(&format!("{name} --no-such-option {operands}rm x"));
        assert!(!unknown.is_clear, "{name}");
    }
}

#[test]
fn options_with_values_take_them() {
    for wrapper in WRAPPERS {
        let name = wrapper.names[0];
        let operands = "1 ".repeat(wrapper.operands);
        for letter in wrapper.valued.chars().filter(|letter| *letter != 'I') {
            let apart = of(&format!("{name} -{letter} value {operands}rm"));
            assert_eq!(apart.at, Some(2 + wrapper.operands), "{name} -{letter}");
            let together = of(&format!("{name} -{letter}value {operands}rm"));
            assert_eq!(together.at, Some(1 + wrapper.operands), "{name} -{letter}");
            assert!(apart.is_clear && together.is_clear, "{name} -{letter}");
        }
        for option in wrapper.long_valued {
            let apart = of(&format!("{name} --{option} value {operands}rm"));
            assert_eq!(apart.at, Some(2 + wrapper.operands), "{name} --{option}");
            let together = of(&format!("{name} --{option}=value {operands}rm"));
            assert_eq!(together.at, Some(1 + wrapper.operands), "{name} --{option}");
        }
    }
}

#[test]
fn no_wrapper_starts_nothing() {
    for line in [
        "ls rm",
        "env",
        "env A=1",
        "sudo -n",
        "timeout 5",
        "command -v rm",
    ] {
        assert_eq!(of(line).at, None, "{line}");
    }
    assert!(of("xargs rm").more_arguments && !of("xargs").more_arguments);
}

//! From a command line to params.

use super::*;
use hob_wire::Method;
use hob_wire::rooms::session::{Create, Label, Send};

fn params_of(spec: &'static MethodSpec, line: &[&str], stdin: &str) -> Result<Value, String> {
    let command = with_params(verb_command(spec), spec).no_binary_name(true);
    let matches = command
        .try_get_matches_from(line)
        .map_err(|error| error.to_string())?;
    params(spec, &matches, &mut stdin.as_bytes()).map_err(|failure| failure.sentence)
}

const CREATE: &MethodSpec = &Create::SPEC;
const SEND: &MethodSpec = &Send::SPEC;
const LABEL: &MethodSpec = &Label::SPEC;

#[test]
fn positionals_and_flags_become_params() {
    let line = ["chat:main", "--kind", "cron", "--metadata", r#"{"a":[1]}"#];
    let params = params_of(CREATE, &line, "").expect("a good line");
    assert_eq!(
        params,
        json!({ "sessionKey": "chat:main", "kind": "cron", "metadata": { "a": [1] } })
    );
    assert_eq!(params_of(CREATE, &[], "").expect("all optional"), json!({}));
}

#[test]
fn content_is_text_whatever_it_looks_like() {
    for text in ["hello", "[1]", "--not-a-flag", "42", ""] {
        let params = params_of(SEND, &["k", text], "").expect("a good line");
        assert_eq!(params, json!({ "sessionKey": "k", "content": text }));
    }
}

#[test]
fn a_dash_reads_stdin_without_its_last_line_break() {
    let params = params_of(SEND, &["k", "-"], "two\nlines\n").expect("a good line");
    assert_eq!(params["content"], "two\nlines");
}

#[test]
fn an_optional_positional_may_be_missing() {
    let params = params_of(LABEL, &["k"], "").expect("a good line");
    assert_eq!(params, json!({ "sessionKey": "k" }));
}

#[test]
fn a_wrong_value_says_what_fits() {
    let role = params_of(SEND, &["k", "x", "--role", "boss"], "").expect_err("refused");
    assert!(role.contains("assistant"), "{role}");
    let json = params_of(CREATE, &["k", "--metadata", "{"], "").expect_err("refused");
    assert!(json.contains("expected JSON"), "{json}");
    assert!(params_of(SEND, &["k"], "").is_err(), "content is required");
}

#[test]
fn a_room_nobody_here_knows_gets_its_command() {
    const SPEC: &MethodSpec = &MethodSpec {
        name: "garden.waterPlants",
        service: "gardens",
        summary: "Waters plants.\n\nTwice in\nsummer.",
        scope: hob_wire::Scope::Control,
        effect: hob_wire::Idempotency::Opaque,
        cli: CliExposure::Verb(&["bed"]),
        params: || {
            let schema = json!({
                "type": "object",
                "required": ["bed", "litres", "mode", "plan"],
                "properties": {
                    "bed": { "type": "string", "description": "Which bed." },
                    "litres": { "type": "integer" },
                    "mode": { "type": "string", "enum": ["gentle", "flood"] },
                    "plan": { "type": "object" },
                    "atNight": { "type": "boolean" },
                },
            });
            schemars::Schema::try_from(schema).expect("an object is a schema")
        },
        result: || schemars::Schema::default(),
    };
    let line = example(SPEC, &fields(SPEC));
    assert_eq!(
        line,
        "hob garden water-plants BED --litres 1 --mode gentle --plan '{}'"
    );
    let words = unquoted(&line).split_off(3);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let params = params_of(SPEC, &[&words[..], &["--at-night"]].concat(), "");
    let expected = json!({
        "bed": "BED", "litres": 1, "mode": "gentle", "plan": {}, "atNight": true,
    });
    assert_eq!(params, Ok(expected));
    let off = params_of(SPEC, &[&words[..], &["--at-night", "false"]].concat(), "");
    assert_eq!(off.expect("a good line")["atNight"], false);
    let about = help_text::room_about("garden", &[SPEC]);
    assert_eq!(about, "Commands of the garden room: water-plants");
}

#[test]
fn every_verb_of_the_catalog_is_a_command_with_a_working_example() {
    for spec in rooms().into_iter().flat_map(|(_, specs)| specs) {
        let line = example(spec, &fields(spec));
        let words = unquoted(&line);
        let parsed = crate::tree::command().try_get_matches_from(&words);
        assert!(parsed.is_ok(), "{line}: {:?}", parsed.err());
        let (room, verb) = (&words[1], &words[2]);
        assert_eq!(method(room, verb).map(|found| found.name), Some(spec.name));
    }
}

/// A line's words as a shell would split them.
fn unquoted(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' | '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            letter => words.last_mut().expect("never empty").push(letter),
        }
    }
    words
}

//! Rules for every declared method and event.

use hob_wire::limits::{self, NAME_BYTES_MAX};
use hob_wire::scope::is_service_name;
use hob_wire::{CliExposure, ErrorCode, MethodSpec, Scope, Scopes, catalog};
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn names_are_two_lower_case_words_or_three() {
    let names = catalog::methods().map(|spec| spec.name);
    for name in names.chain(catalog::events().map(|spec| spec.topic)) {
        let words: Vec<&str> = name.split('.').collect();
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        let is_word = |word: &&str| !word.is_empty() && word.bytes().all(is_letter);
        assert!(
            (2..=3).contains(&words.len()) && words.iter().all(is_word),
            "{name}"
        );
        assert!(name.len() <= NAME_BYTES_MAX, "{name}");
    }
}

#[test]
fn names_are_unique() {
    let mut seen = BTreeSet::new();
    for spec in catalog::methods() {
        assert!(seen.insert(spec.name), "{} is declared twice", spec.name);
    }
    let mut seen = BTreeSet::new();
    for spec in catalog::events() {
        assert!(seen.insert(spec.topic), "{} is declared twice", spec.topic);
    }
}

#[test]
fn a_name_is_found_by_itself() {
    for spec in catalog::methods() {
        assert_eq!(
            catalog::method(spec.name).map(|found| found.name),
            Some(spec.name)
        );
    }
    for spec in catalog::events() {
        assert_eq!(
            catalog::event(spec.topic).map(|found| found.topic),
            Some(spec.topic)
        );
    }
    assert!(catalog::method("session.vanish").is_none());
}

#[test]
fn services_have_names_a_token_can_hold() {
    let services = catalog::methods().map(|spec| spec.service);
    for service in services.chain(catalog::events().map(|spec| spec.service)) {
        assert!(is_service_name(service), "{service}");
    }
}

#[test]
fn summaries_are_sentences() {
    let methods = catalog::methods().map(|spec| (spec.name, spec.summary));
    let events = catalog::events().map(|spec| (spec.topic, spec.summary));
    for (name, summary) in methods.chain(events) {
        let first = summary.lines().next().unwrap_or_default();
        assert!(
            first.ends_with('.') && first.len() > 10,
            "{name}: {summary:?}"
        );
        assert!(
            first.len() <= 100,
            "{name}: the first line stands in lists: {first:?}"
        );
    }
}

#[test]
fn params_are_objects_that_refuse_unknown_fields() {
    for spec in catalog::methods() {
        let params = params(spec);
        assert_eq!(params["type"], "object", "{}", spec.name);
        assert_eq!(params["additionalProperties"], false, "{}", spec.name);
    }
}

#[test]
fn results_and_payloads_tolerate_fields_of_a_newer_daemon() {
    let results = catalog::methods().map(|spec| (spec.name, (spec.result)().to_value()));
    let payloads = catalog::events().map(|spec| (spec.topic, (spec.payload)().to_value()));
    for (name, schema) in results.chain(payloads) {
        assert_ne!(schema["additionalProperties"], false, "{name}");
        for (part, definition) in schema["$defs"].as_object().into_iter().flatten() {
            assert_ne!(definition["additionalProperties"], false, "{name}: {part}");
        }
    }
}

#[test]
fn fields_are_camel_case() {
    let methods = catalog::methods().flat_map(|spec| {
        [
            (spec.name, params(spec)),
            (spec.name, (spec.result)().to_value()),
        ]
    });
    let events = catalog::events().map(|spec| (spec.topic, (spec.payload)().to_value()));
    for (name, schema) in methods.chain(events) {
        for field in fields(&schema) {
            let starts_lower = field.starts_with(|c: char| c.is_ascii_lowercase());
            let is_plain = field.bytes().all(|byte| byte.is_ascii_alphanumeric());
            assert!(starts_lower && is_plain, "{name}: {field}");
        }
    }
}

#[test]
fn positional_words_are_params_and_none_follows_one_that_may_be_missing() {
    for spec in catalog::methods() {
        let CliExposure::Verb(positionals) = spec.cli else {
            continue;
        };
        let params = params(spec);
        let mut one_may_be_missing = false;
        for name in positionals {
            let field = &params["properties"][*name];
            assert!(!field.is_null(), "{}: no param {name}", spec.name);
            let required = params["required"].as_array();
            let is_required = required.is_some_and(|names| names.iter().any(|n| n == name));
            assert!(
                !(is_required && one_may_be_missing),
                "{}: {name}",
                spec.name
            );
            one_may_be_missing |= !is_required;
        }
    }
}

#[test]
fn error_codes_are_distinct_and_have_an_http_status() {
    let mut seen = BTreeSet::new();
    for code in ErrorCode::ALL {
        assert!(seen.insert(code.as_str()), "{code}");
        assert!((400..600).contains(&code.http_status()), "{code}");
        assert!(code.summary().ends_with('.'), "{code}");
        let text = serde_json::to_value(code).unwrap();
        assert_eq!(text, code.as_str());
    }
}

#[test]
fn scopes_read_what_they_write() {
    for scope in Scope::ALL {
        let scopes = Scopes::rank(scope).with_service("weather");
        assert_eq!(scopes.to_string().parse(), Ok(scopes));
    }
    assert!("read,write".parse::<Scopes>().is_err());
    assert!("service:".parse::<Scopes>().is_err());
    assert!("service:a.b".parse::<Scopes>().is_err());
}

#[test]
fn limits_have_names_of_their_own() {
    let names: BTreeSet<String> = limits::ALL.iter().map(limits::WireLimit::name).collect();
    assert_eq!(names.len(), limits::ALL.len());
    assert!(names.contains("frameBytesMax"), "{names:?}");
    for limit in limits::ALL {
        assert!(limit.value > 0 && limit.summary.ends_with('.'), "{limit:?}");
    }
}

fn params(spec: &MethodSpec) -> Value {
    (spec.params)().to_value()
}

/// Every property name anywhere in a schema.
fn fields(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                if let ("properties", Some(properties)) = (key.as_str(), value.as_object()) {
                    found.extend(properties.keys().cloned());
                }
                found.extend(fields(value));
            }
        }
        Value::Array(items) => found.extend(items.iter().flat_map(fields)),
        _ => {}
    }
    found
}

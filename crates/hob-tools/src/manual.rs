//! The page about the tools, generated from their declarations. Pure.

use crate::entries;
use hob_wire::work::{NeedKind, ResourceNeed, ToolSpec};
use serde_json::Value;
use std::fmt::Write;

const HEAD: &str = "# Tools

Generated from what the tools declare; do not edit. Which tools there are in a running house, those of outside services included, is in `hob tool list` and in the OpenAPI document at `GET /api/tools/openapi.json`; `POST /api/tools/NAME` runs one as your own act (scope `control`).

The tier says how far a tool reaches: `read` looks, `write` changes files or stored things, `exec` runs programs, `external` reaches other machines. The effect says what happens to a call that a crash cut off: `pure` is repeated, `keyed` is repeated with its key and happens once, `probeable` is looked up, `opaque` is asked about.
";

/// The whole page.
pub fn text() -> String {
    let mut specs: Vec<ToolSpec> = entries().iter().map(|entry| (entry.spec)()).collect();
    specs.sort_by(|one, other| one.name.cmp(&other.name));
    let mut page = HEAD.to_owned();
    for spec in &specs {
        section(&mut page, spec);
    }
    page
}

fn section(page: &mut String, spec: &ToolSpec) {
    // Writing to a string cannot fail.
    let _ = write!(page, "\n## `{}`\n\n{}\n\n", spec.name, spec.description);
    let _ = writeln!(
        page,
        "- Tier `{}`, effect `{}`",
        word(&spec.tier),
        word(&spec.effect)
    );
    if !spec.aliases.is_empty() {
        let _ = writeln!(page, "- Also known as `{}`", spec.aliases.join("`, `"));
    }
    if !spec.needs.is_empty() {
        let needs: Vec<String> = spec.needs.iter().map(need).collect();
        let _ = writeln!(page, "- Rules see {}", needs.join(", "));
    }
    let _ = writeln!(page, "- Asked as: {}", spec.approval);
    let Some(properties) = spec.parameters["properties"].as_object() else {
        return;
    };
    if properties.is_empty() {
        return;
    }
    page.push_str("\n| Argument | Takes | |\n|---|---|---|\n");
    let required = spec.parameters["required"].as_array();
    for (name, schema) in properties {
        let is_required = required.is_some_and(|all| all.iter().any(|one| one == name));
        let must = if is_required { ", required" } else { "" };
        let about = schema["description"].as_str().unwrap_or_default();
        let about = about.replace('|', "\\|");
        let _ = writeln!(page, "| `{name}` | {}{must} | {about} |", takes(schema));
    }
}

/// The values that an argument takes.
fn takes(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return format!("`{}`", words.join("`, `"));
    }
    if let Some(forms) = schema["anyOf"].as_array() {
        let forms: Vec<String> = forms.iter().map(takes).collect();
        return forms.join(" or ");
    }
    match &schema["type"] {
        Value::String(kind) => kind.clone(),
        _ => "any".to_owned(),
    }
}

fn need(need: &ResourceNeed) -> String {
    let what = match need.kind {
        NeedKind::Path => "a path",
        NeedKind::Host => "a host",
        NeedKind::Command => "a command",
        NeedKind::Network => "the network",
        NeedKind::Hosts => "the hosts of the network",
        NeedKind::Session => "a session",
        NeedKind::House => "the house",
    };
    format!("{what} in `{}`", need.arg)
}

/// The wire name of a value.
fn word(value: &impl serde::Serialize) -> String {
    let word = serde_json::to_value(value).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}

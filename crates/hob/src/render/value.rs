//! Formats any JSON result by its shape, so that a new room needs no renderer.
//!
//! A list of objects is a table; an object is aligned pairs; nested values are indented below their
//! name. The field's name gives the unit of a number (`createdAt`, `bytes`, `micros`, `uptime`).

use super::table::TextTable;
use super::text::{self, heading, label, one_line, pad, truncate, width};
use super::{ScreenStyle, TextTone, time};
use serde_json::{Map, Value};

/// The most columns of a table of objects.
const TABLE_COLUMNS_MAX: usize = 8;
/// The indentation of nested values.
const INDENT: &str = "  ";

/// Formats a result.
pub fn lines(value: &Value, screen: &ScreenStyle) -> Vec<String> {
    match value {
        Value::Object(object) => object_lines(object, screen),
        Value::Array(items) => list_lines(items, screen),
        Value::Null => vec!["Done.".to_owned()],
        scalar => vec![cell("", scalar, screen)],
    }
}

fn object_lines(object: &Map<String, Value>, screen: &ScreenStyle) -> Vec<String> {
    if object.is_empty() {
        return vec!["Done.".to_owned()];
    }
    let lists: Vec<&String> = object
        .iter()
        .filter(|(_, value)| value.is_array())
        .map(|(name, _)| name)
        .collect();
    // A page has one list, and perhaps the cursor of the next page.
    if let [name] = lists[..]
        && object.keys().all(|key| key == name || key == "next")
    {
        let mut lines = named_list(name, &object[name], screen);
        if let Some(next) = object.get("next").filter(|next| !next.is_null()) {
            let more = format!(
                "More follow; the next page begins at {}.",
                cell("", next, screen)
            );
            lines.push(screen.paint(TextTone::Quiet, &more));
        }
        return lines;
    }
    pairs(object, screen)
}

fn named_list(name: &str, list: &Value, screen: &ScreenStyle) -> Vec<String> {
    let items = list.as_array().map_or(&[][..], Vec::as_slice);
    if items.is_empty() {
        return vec![format!("No {}.", label(name).to_lowercase())];
    }
    list_lines(items, screen)
}

fn list_lines(items: &[Value], screen: &ScreenStyle) -> Vec<String> {
    let objects: Option<Vec<&Map<String, Value>>> = items.iter().map(Value::as_object).collect();
    match objects {
        Some(objects) if !objects.is_empty() => table(&objects, screen),
        _ => items.iter().map(|item| cell("", item, screen)).collect(),
    }
}

/// A table of objects. Its columns are the flat fields that are not blank in at least one row.
fn table(objects: &[&Map<String, Value>], screen: &ScreenStyle) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for object in objects {
        for (name, value) in *object {
            if !names.contains(&name.as_str()) && !is_blank(value) && !value.is_object() {
                names.push(name);
            }
        }
    }
    names.truncate(TABLE_COLUMNS_MAX);
    columns(objects, &names, screen)
}

/// A table of objects with exactly these fields.
pub fn columns(
    objects: &[&Map<String, Value>],
    names: &[&str],
    screen: &ScreenStyle,
) -> Vec<String> {
    let numeric = |name: &str| {
        let mut values = objects.iter().filter_map(|object| object.get(name));
        values.all(Value::is_number)
    };
    let start = TextTable::new();
    let mut table = names.iter().fold(start, |table, name| {
        if numeric(name) {
            table.number(&heading(name))
        } else {
            table.column(&heading(name))
        }
    });
    for object in objects {
        let cells = names.iter().map(|name| {
            let value = object.get(*name).unwrap_or(&Value::Null);
            cell(name, value, screen)
        });
        table.row(cells.collect());
    }
    table.lines(screen)
}

fn pairs(object: &Map<String, Value>, screen: &ScreenStyle) -> Vec<String> {
    let shown = object.iter().filter(|(_, value)| !is_blank(value));
    let flat: Vec<(&String, &Value)> = shown.clone().filter(|(_, value)| is_flat(value)).collect();
    let widest = flat.iter().map(|(name, _)| width(&label(name))).max();
    let widest = widest.unwrap_or(0);
    let mut lines = Vec::new();
    for (name, value) in flat {
        let name_text = screen.paint(TextTone::Quiet, &pad(&label(name), widest));
        let room = screen
            .width
            .map(|columns| columns.saturating_sub(widest + 2).max(10));
        let text = cell(name, value, screen);
        let mut wrapped = match room {
            Some(room) => text::wrap(&text, room),
            None => vec![text],
        };
        let rest = wrapped.split_off(1.min(wrapped.len()));
        lines.push(format!("{name_text}  {}", wrapped.concat()));
        lines.extend(
            rest.iter()
                .map(|line| format!("{}  {line}", " ".repeat(widest))),
        );
    }
    for (name, value) in shown.filter(|(_, value)| !is_flat(value)) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(screen.paint(TextTone::Heading, &label(name)));
        let narrower = ScreenStyle {
            width: screen
                .width
                .map(|columns| columns.saturating_sub(INDENT.len())),
            ..screen.clone()
        };
        let nested = self::lines(value, &narrower);
        lines.extend(nested.into_iter().map(|line| format!("{INDENT}{line}")));
    }
    lines
}

/// A value in one cell.
pub fn cell(name: &str, value: &Value, screen: &ScreenStyle) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => match number.as_u64() {
            Some(number) => number_text(name, number, screen),
            None => number.to_string(),
        },
        Value::String(text) => one_line(text),
        Value::Array(items)
            if items
                .iter()
                .all(|item| !item.is_object() && !item.is_array()) =>
        {
            let texts = items.iter().map(|item| cell("", item, screen));
            texts.collect::<Vec<_>>().join(", ")
        }
        nested => truncate(&one_line(&nested.to_string()), 200),
    }
}

fn number_text(name: &str, number: u64, screen: &ScreenStyle) -> String {
    let ends = |ending: &str| name.ends_with(ending);
    if name == "at" || ends("At") {
        time::local(number, screen)
    } else if name == "bytes" || ends("Bytes") {
        text::bytes(number)
    } else if name == "micros" || ends("Micros") {
        time::micros(number)
    } else if name == "uptime" || ends("Ms") {
        time::span(number)
    } else {
        number.to_string()
    }
}

/// Returns true when a value fits into one cell.
fn is_flat(value: &Value) -> bool {
    match value {
        Value::Object(_) => false,
        Value::Array(items) => items
            .iter()
            .all(|item| !item.is_object() && !item.is_array()),
        _ => true,
    }
}

/// Returns true when a value is empty.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

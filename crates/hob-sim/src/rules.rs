//! Checks shared by the dialects: fields, names, numbers. Each dialect has its own messages.

use crate::refusal::{ReadResult, SimRefusal};
use serde_json::{Map, Value};

/// The fields of a value; of what is no object, none.
pub(crate) fn fields(value: &Value) -> Option<&Map<String, Value>> {
    value.as_object()
}

/// The first field that is not one of these.
pub(crate) fn unknown<'a>(value: &'a Value, known: &[&str]) -> Option<&'a str> {
    let mut names = fields(value)?.keys();
    names
        .find(|name| !known.contains(&name.as_str()))
        .map(String::as_str)
}

/// True for a valid tool name.
pub(crate) fn is_name(name: &str, most: usize) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.len() <= most && name.bytes().all(fits)
}

/// A field that has to be text.
pub(crate) fn text<'a>(
    value: &'a Value,
    field: &str,
    refusal: impl FnOnce() -> SimRefusal,
) -> ReadResult<&'a str> {
    value[field].as_str().ok_or_else(refusal)
}

/// A field that is a list; missing or null is an empty one.
pub(crate) fn list<'a>(
    value: &'a Value,
    field: &str,
    refusal: impl FnOnce() -> SimRefusal,
) -> ReadResult<&'a [Value]> {
    match &value[field] {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        _ => Err(refusal()),
    }
}

/// True if a field is missing or a number in this range.
pub(crate) fn in_range(value: &Value, low: f64, high: f64) -> bool {
    match value {
        Value::Null => true,
        Value::Number(number) => number
            .as_f64()
            .is_some_and(|number| number >= low && number <= high),
        _ => false,
    }
}

/// True if a field is missing or a whole number of at least one.
pub(crate) fn is_count(value: &Value) -> bool {
    value.is_null() || value.as_u64().is_some_and(|count| count >= 1)
}

/// Adds a paragraph.
pub(crate) fn add_text(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

/// The media type and data of a `data:` URL; `None` if it is not a sound one.
pub(crate) fn data_url(url: &str) -> Option<(&str, &str)> {
    let (mime, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    (mime.starts_with("image/") && crate::base64::is_sound(data)).then_some((mime, data))
}

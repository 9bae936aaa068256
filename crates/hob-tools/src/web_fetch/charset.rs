//! Decodes the bytes of a page in its character encoding. Pure.

use encoding_rs::{Encoding, UTF_8};

/// Bytes at the beginning of a page that are searched for a `charset`.
const PRESCAN_BYTES: usize = 2_048;

/// Decodes by byte order mark, content type, `meta` tag, else as UTF-8, in this order.
pub(super) fn text(bytes: &[u8], content_type: &str, is_html: bool) -> String {
    let labelled = parameter(content_type).and_then(|label| Encoding::for_label(label.as_bytes()));
    let in_page = || is_html.then(|| declared(bytes)).flatten();
    let encoding = labelled.or_else(in_page).unwrap_or(UTF_8);
    let (text, _, _) = encoding.decode(bytes);
    text.into_owned()
}

/// The `charset` of a content type.
fn parameter(content_type: &str) -> Option<&str> {
    let parameters = content_type.split(';').skip(1);
    let mut named = parameters.filter_map(|parameter| parameter.split_once('='));
    let (_, value) = named.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Some(value.trim().trim_matches('"'))
}

/// The encoding that the `meta` tag of the page declares.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(PRESCAN_BYTES)];
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let metas = head.split("<meta").skip(1);
    metas.into_iter().find_map(|meta| {
        let tag = meta.split('>').next()?;
        let (_, value) = tag.split_once("charset")?;
        let value = value.trim_start().strip_prefix('=')?;
        let value = value.trim_start().trim_start_matches(['"', '\'']);
        let end =
            value.find(|letter: char| !letter.is_ascii_alphanumeric() && !"-_:.".contains(letter));
        let label = &value[..end.unwrap_or(value.len())];
        let encoding = Encoding::for_label(label.as_bytes())?;
        // The tag was readable as ASCII, so a declared UTF-16 must be wrong.
        Some(if encoding.is_ascii_compatible() {
            encoding
        } else {
            UTF_8
        })
    })
}

#[cfg(test)]
#[path = "charset_tests.rs"]
mod tests;

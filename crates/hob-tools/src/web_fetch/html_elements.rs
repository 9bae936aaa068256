//! Classes of HTML elements: invisible, void, block. Pure.

use html5gum::StartTag;

pub(super) fn attribute(tag: &StartTag<()>, name: &str) -> String {
    let value = tag.attributes.get(name.as_bytes());
    value.map_or_else(String::new, |value| {
        String::from_utf8_lossy(value).into_owned()
    })
}

/// Returns true if the content of the element is invisible.
pub(super) fn is_unseen(name: &str, tag: &StartTag<()>) -> bool {
    let never = matches!(
        name,
        "script"
            | "style"
            | "noscript"
            | "template"
            | "iframe"
            | "noframes"
            | "noembed"
            | "object"
            | "embed"
            | "svg"
            | "math"
            | "canvas"
            | "audio"
            | "video"
            | "select"
            | "datalist"
            | "dialog"
    );
    if never || tag.attributes.contains_key(b"hidden".as_slice()) {
        return true;
    }
    if attribute(tag, "aria-hidden").eq_ignore_ascii_case("true") {
        return true;
    }
    let style: String = attribute(tag, "style").to_ascii_lowercase();
    let style: String = style
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .collect();
    let mut rules = style.split(';');
    rules.any(|rule| {
        let rule = rule.trim_end_matches("!important");
        let hides = [
            "display:none",
            "visibility:hidden",
            "opacity:0",
            "font-size:0",
            "font-size:0px",
        ];
        hides.contains(&rule)
    })
}

/// Returns true if the next start tag of the same name closes the element.
pub(super) fn ends_itself(name: &str) -> bool {
    matches!(
        name,
        "p" | "li" | "td" | "th" | "tr" | "dt" | "dd" | "option"
    )
}

pub(super) fn is_foreign(name: &str) -> bool {
    matches!(name, "svg" | "math")
}

pub(super) fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "source"
            | "track"
            | "wbr"
    )
}

pub(super) fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "aside"
            | "body"
            | "br"
            | "caption"
            | "center"
            | "dd"
            | "details"
            | "div"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "footer"
            | "form"
            | "header"
            | "hgroup"
            | "li"
            | "main"
            | "nav"
            | "option"
            | "search"
            | "summary"
            | "tbody"
            | "tfoot"
            | "thead"
    )
}

//! The beginnings of Markdown lines: what a line starts, according to `CommonMark`. Pure functions of
//! the rest of a line after its indentation.

/// A position in a line, in bytes and in columns; a tab reaches to the next multiple of four.
#[derive(Clone, Debug)]
pub(super) struct LineCursor<'a> {
    rest: &'a str,
    column: usize,
    /// Columns left of a tab that was consumed in part.
    tab_columns: usize,
}

const TAB: usize = 4;

impl<'a> LineCursor<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        LineCursor {
            rest: line,
            column: 0,
            tab_columns: 0,
        }
    }

    /// The rest of the line without its indentation.
    pub(super) fn text(&self) -> &'a str {
        self.rest.trim_start_matches([' ', '\t'])
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text().is_empty()
    }

    /// The columns of white space before the text.
    pub(super) fn indent(&self) -> usize {
        let mut column = self.column + self.tab_columns;
        for letter in self.rest.chars() {
            match letter {
                ' ' => column += 1,
                '\t' => column += TAB - column % TAB,
                _ => break,
            }
        }
        column - self.column
    }

    /// Consumes up to this many columns of white space.
    pub(super) fn skip_columns(&mut self, count: usize) {
        let mut left = count;
        while left > 0 {
            if self.tab_columns == 0 {
                match self.rest.as_bytes().first() {
                    Some(b' ') => self.tab_columns = 1,
                    Some(b'\t') => self.tab_columns = TAB - self.column % TAB,
                    _ => return,
                }
                self.rest = self.rest.get(1..).unwrap_or_default();
            }
            let taken = left.min(self.tab_columns);
            self.tab_columns -= taken;
            self.column += taken;
            left -= taken;
        }
    }

    /// Consumes this many bytes of a marker, which has one column for each.
    pub(super) fn skip_marker(&mut self, bytes: usize) {
        self.skip_columns(self.indent());
        self.rest = self.rest.get(bytes..).unwrap_or_default();
        self.column += bytes;
    }
}

/// A kind of list. Items of different kinds are different lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListKind {
    /// With this sign.
    Bullet(u8),
    /// With this sign after the number.
    Ordered(u8),
}

/// The marker of a list item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListMarker {
    pub(super) kind: ListKind,
    pub(super) bytes: usize,
    /// Nothing follows on the line.
    pub(super) is_empty: bool,
    /// It may interrupt a paragraph: it has content, and a number is 1.
    pub(super) may_interrupt: bool,
}

/// The most digits of a list number.
const LIST_DIGITS_MAX: usize = 9;

pub(super) fn list_marker(text: &str) -> Option<ListMarker> {
    let bytes = text.as_bytes();
    let first = *bytes.first()?;
    let (kind, width, is_one) = if matches!(first, b'-' | b'+' | b'*') {
        (ListKind::Bullet(first), 1, true)
    } else {
        let digits = bytes
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let sign = *bytes.get(digits)?;
        if digits == 0 || digits > LIST_DIGITS_MAX || !matches!(sign, b'.' | b')') {
            return None;
        }
        let number = text.get(..digits)?.parse::<u32>().ok()?;
        (ListKind::Ordered(sign), digits + 1, number == 1)
    };
    let rest = text.get(width..)?;
    let is_empty = is_space(rest);
    if !is_empty && !rest.starts_with([' ', '\t']) {
        return None;
    }
    Some(ListMarker {
        kind,
        bytes: width,
        is_empty,
        may_interrupt: is_one && !is_empty,
    })
}

/// A fence of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    sign: u8,
    count: usize,
}

const FENCE_SIGNS_MIN: usize = 3;

pub(super) fn fence(text: &str) -> Option<Fence> {
    let sign = *text.as_bytes().first()?;
    let count = run_of(text, sign);
    if !matches!(sign, b'`' | b'~') || count < FENCE_SIGNS_MIN {
        return None;
    }
    // Otherwise it is code within a paragraph.
    let is_fence = sign == b'~' || !text.get(count..)?.contains('`');
    is_fence.then_some(Fence { sign, count })
}

impl Fence {
    pub(super) fn is_closed_by(self, text: &str) -> bool {
        let count = run_of(text, self.sign);
        count >= self.count && text.get(count..).is_some_and(is_space)
    }
}

pub(super) fn is_heading(text: &str) -> bool {
    let count = run_of(text, b'#');
    let rest = text.get(count..).unwrap_or_default();
    (1..=6).contains(&count) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

pub(super) fn is_thematic_break(text: &str) -> bool {
    let Some(sign @ (b'-' | b'_' | b'*')) = text.as_bytes().first().copied() else {
        return false;
    };
    let is_part = |byte: &u8| matches!(*byte, b' ' | b'\t') || *byte == sign;
    let count = text.bytes().filter(|byte| *byte == sign).count();
    count >= FENCE_SIGNS_MIN && text.as_bytes().iter().all(is_part)
}

/// Returns true for the line below a heading.
pub(super) fn is_setext_underline(text: &str) -> bool {
    let Some(sign @ (b'=' | b'-')) = text.as_bytes().first().copied() else {
        return false;
    };
    text.get(run_of(text, sign)..).is_some_and(is_space)
}

/// The end of an HTML block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HtmlEnd {
    /// The line with one of these texts, in lower case.
    Texts(&'static [&'static str]),
    BlankLine,
}

impl HtmlEnd {
    /// Returns true if a line of the block is its last one. A blank line is none of it.
    pub(super) fn is_in(self, text: &str) -> bool {
        let HtmlEnd::Texts(ends) = self else {
            return false;
        };
        let text = text.to_ascii_lowercase();
        ends.iter().any(|end| text.contains(end))
    }
}

const RAW_TAGS: &[&str] = &["script", "pre", "style", "textarea"];
const RAW_ENDS: &[&str] = &["</script>", "</pre>", "</style>", "</textarea>"];
/// The tags that begin a block even within a paragraph, as `CommonMark` lists them.
const BLOCK_TAGS: &[&str] = &[
    "address",
    "article",
    "aside",
    "base",
    "basefont",
    "blockquote",
    "body",
    "caption",
    "center",
    "col",
    "colgroup",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "frame",
    "frameset",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "iframe",
    "legend",
    "li",
    "link",
    "main",
    "menu",
    "menuitem",
    "nav",
    "noframes",
    "ol",
    "optgroup",
    "option",
    "p",
    "param",
    "search",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "track",
    "ul",
];

/// Returns the end of the HTML block that this line begins. `in_paragraph`: only tags that may
/// interrupt a paragraph count.
pub(super) fn html_block(text: &str, in_paragraph: bool) -> Option<HtmlEnd> {
    let inner = text.strip_prefix('<')?;
    if inner.starts_with("!--") {
        return Some(HtmlEnd::Texts(&["-->"]));
    }
    if inner.starts_with('?') {
        return Some(HtmlEnd::Texts(&["?>"]));
    }
    if inner.starts_with("![CDATA[") {
        return Some(HtmlEnd::Texts(&["]]>"]));
    }
    if let Some(name) = inner.strip_prefix('!') {
        return name
            .starts_with(|letter: char| letter.is_ascii_alphabetic())
            .then_some(HtmlEnd::Texts(&[">"]));
    }
    let (is_end, name_on) = match inner.strip_prefix('/') {
        Some(rest) => (true, rest),
        None => (false, inner),
    };
    let after = name_on.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric());
    let name = name_on
        .strip_suffix(after)
        .unwrap_or_default()
        .to_ascii_lowercase();
    let ends = after.is_empty() || after.starts_with([' ', '\t', '>']);
    if !is_end && ends && RAW_TAGS.contains(&name.as_str()) {
        return Some(HtmlEnd::Texts(RAW_ENDS));
    }
    if (ends || after.starts_with("/>")) && BLOCK_TAGS.contains(&name.as_str()) {
        return Some(HtmlEnd::BlankLine);
    }
    let whole = if is_end {
        closing_tag(name_on)
    } else {
        opening_tag(name_on)
    };
    (!in_paragraph && whole.is_some_and(is_space)).then_some(HtmlEnd::BlankLine)
}

/// Consumes the name of a tag.
fn tag_name(text: &str) -> Option<&str> {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        .then(|| {
            text.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '-')
        })
}

/// Consumes a closing tag after `</`; returns what follows it.
fn closing_tag(text: &str) -> Option<&str> {
    tag_name(text)?
        .trim_start_matches([' ', '\t'])
        .strip_prefix('>')
}

/// Consumes an opening tag after `<`; returns what follows it.
fn opening_tag(text: &str) -> Option<&str> {
    let mut rest = tag_name(text)?;
    loop {
        let next = rest.trim_start_matches([' ', '\t']);
        if let Some(after) = next.strip_prefix("/>").or_else(|| next.strip_prefix('>')) {
            return Some(after);
        }
        // An attribute needs white space before it.
        if next.len() == rest.len() {
            return None;
        }
        rest = attribute(next)?;
    }
}

/// Consumes an attribute.
fn attribute(text: &str) -> Option<&str> {
    let is_first = |letter: char| letter.is_ascii_alphabetic() || matches!(letter, '_' | ':');
    let is_next =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | ':' | '.' | '-');
    if !text.starts_with(is_first) {
        return None;
    }
    let rest = text.trim_start_matches(is_next);
    let Some(value) = rest.trim_start_matches([' ', '\t']).strip_prefix('=') else {
        return Some(rest);
    };
    let value = value.trim_start_matches([' ', '\t']);
    for quote in ['"', '\''] {
        if let Some(quoted) = value.strip_prefix(quote) {
            return quoted.split_once(quote).map(|(_, after)| after);
        }
    }
    let after = value.trim_start_matches(|letter: char| {
        !matches!(letter, ' ' | '\t' | '"' | '\'' | '=' | '<' | '>' | '`')
    });
    (after.len() < value.len()).then_some(after)
}

/// Returns true if nothing that may follow on the line changes what its text starts.
pub(super) fn is_start_decided(text: &str) -> bool {
    let Some(first) = text.bytes().next() else {
        return false;
    };
    let rest = text.get(run_of(text, first)..).unwrap_or_default();
    match first {
        // A whole line decides about tags.
        b'<' => false,
        b'#' => !rest.is_empty(),
        // Code within a paragraph, unless the line has no more of them: only its end tells.
        b'`' => !rest.is_empty() && text.len() - rest.len() < FENCE_SIGNS_MIN,
        b'~' => !rest.is_empty() || text.len() >= FENCE_SIGNS_MIN,
        b'-' | b'*' | b'_' => {
            let is_part = |byte: u8| matches!(byte, b' ' | b'\t') || byte == first;
            !text.bytes().all(is_part)
        }
        b'+' => !is_space(text.get(1..).unwrap_or_default()),
        b'0'..=b'9' => {
            let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
            match rest.as_bytes().first() {
                None => false,
                Some(b'.' | b')') => !is_space(rest.get(1..).unwrap_or_default()),
                Some(_) => true,
            }
        }
        _ => true,
    }
}

/// The length of the run of `sign` at the start of the text.
fn run_of(text: &str, sign: u8) -> usize {
    text.bytes().take_while(|byte| *byte == sign).count()
}

fn is_space(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}

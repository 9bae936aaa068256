//! The block structure of a Markdown text, line by line, as `CommonMark` parses it: which containers
//! and which leaf are open. It keeps what decides whether a line begins another top-level block.

use super::line_start::{
    Fence, HtmlEnd, LineCursor, ListKind, fence, html_block, is_heading, is_setext_underline,
    is_start_decided, is_thematic_break, list_marker,
};

/// The most nested lists and quotes; deeper ones are taken for text.
const DEPTH_MAX: usize = 64;
/// The columns of indentation that make a line code.
const CODE_INDENT: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    Quote,
    Item {
        /// The columns before its content, from the content of its parent.
        content: usize,
        /// It has no content so far.
        is_empty: bool,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Leaf {
    #[default]
    None,
    Paragraph {
        /// It may be a link reference definition, which no underline makes a heading.
        may_define: bool,
    },
    IndentedCode,
    Fence(Fence),
    Html(HtmlEnd),
}

/// The open blocks after the lines so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockStructure {
    containers: Vec<Container>,
    leaf: Leaf,
    /// The open top-level list. It stays open across blank lines, also without an open item.
    list: Option<ListKind>,
}

/// What a line starts.
#[derive(Debug, PartialEq, Eq)]
enum Start {
    Nothing,
    Container(Container, Option<ListKind>),
    Leaf(Leaf),
    /// The line below a heading: the paragraph above is complete.
    Underline,
}

impl BlockStructure {
    /// Applies a whole line without its end; returns true if it begins a top-level block.
    pub(super) fn push_line(&mut self, line: &str) -> bool {
        let mut cursor = LineCursor::new(line);
        let matched = self.match_containers(&mut cursor);
        let is_all = matched == self.containers.len();
        if is_all && self.continue_leaf(&cursor) {
            return false;
        }
        self.start_blocks(cursor, matched, is_all)
    }

    /// Returns whether a line that so far is `start` begins a top-level block; `None` if that is
    /// not known yet.
    pub(super) fn begins_block(&self, start: &str) -> Option<bool> {
        let cursor = LineCursor::new(start);
        let outer = self.containers.first();
        match (outer, self.leaf) {
            (None, Leaf::Fence(_) | Leaf::Html(HtmlEnd::Texts(_))) => return Some(false),
            (Some(Container::Item { content, .. }), _) if cursor.indent() >= *content => {
                return (!cursor.is_blank()).then_some(false);
            }
            _ if cursor.is_blank() => return None,
            (None, Leaf::None) if self.list.is_none() => return Some(true),
            (None, Leaf::Html(HtmlEnd::BlankLine)) => return Some(false),
            _ => {}
        }
        let is_known = cursor.indent() >= CODE_INDENT || is_start_decided(cursor.text());
        is_known.then(|| self.clone().push_line(start))
    }

    /// Enters the open containers that the line continues; returns their number.
    fn match_containers(&self, cursor: &mut LineCursor<'_>) -> usize {
        let mut matched = 0;
        for container in &self.containers {
            match *container {
                Container::Quote if is_quote(cursor) => enter_quote(cursor),
                Container::Item { is_empty, .. } if cursor.is_blank() && !is_empty => {}
                Container::Item { content, .. }
                    if cursor.indent() >= content && !cursor.is_blank() =>
                {
                    cursor.skip_columns(content);
                }
                _ => break,
            }
            matched += 1;
        }
        matched
    }

    /// Gives the line to the open leaf; returns false if it is none of it.
    fn continue_leaf(&mut self, cursor: &LineCursor<'_>) -> bool {
        let text = cursor.text();
        let (is_in, is_end) = match self.leaf {
            Leaf::None | Leaf::Paragraph { .. } => return false,
            Leaf::IndentedCode => {
                let is_in = cursor.is_blank() || cursor.indent() >= CODE_INDENT;
                (is_in, !is_in)
            }
            Leaf::Fence(fence) => {
                let is_end = cursor.indent() < CODE_INDENT && fence.is_closed_by(text);
                (true, is_end)
            }
            Leaf::Html(HtmlEnd::BlankLine) => (!cursor.is_blank(), cursor.is_blank()),
            Leaf::Html(end) => (true, end.is_in(text)),
        };
        if is_end {
            self.leaf = Leaf::None;
        }
        is_in
    }

    /// Starts what the line starts behind the matched containers, and adds the rest of the line.
    fn start_blocks(&mut self, mut cursor: LineCursor<'_>, matched: usize, is_all: bool) -> bool {
        let mut begins = false;
        let mut has_started = false;
        loop {
            let is_paragraph = !has_started && matches!(self.leaf, Leaf::Paragraph { .. });
            let start = self.start_of(&cursor, is_paragraph, is_all);
            if start == Start::Nothing {
                break;
            }
            if start == Start::Underline {
                self.leaf = Leaf::None;
                return false;
            }
            if !has_started {
                self.containers.truncate(matched);
                self.leaf = Leaf::None;
                has_started = true;
            }
            let is_top = self.containers.is_empty();
            match start {
                Start::Container(container, kind) => {
                    begins |= is_top && (kind.is_none() || kind != self.list);
                    if is_top {
                        self.list = kind;
                    }
                    enter(&mut cursor, container);
                    self.fill_item();
                    self.containers.push(container);
                }
                Start::Leaf(leaf) => {
                    begins |= is_top;
                    if is_top {
                        self.list = None;
                    }
                    self.fill_item();
                    self.leaf = leaf;
                    return begins;
                }
                Start::Nothing | Start::Underline => {}
            }
        }
        self.add_text(&cursor, matched, has_started) || begins
    }

    /// Adds the rest of a line that starts nothing more; returns true if it begins a top-level
    /// paragraph.
    fn add_text(&mut self, cursor: &LineCursor<'_>, matched: usize, has_started: bool) -> bool {
        if cursor.is_blank() {
            if !has_started {
                self.containers.truncate(matched);
            }
            self.leaf = Leaf::None;
            return false;
        }
        // Also a line that continues no container continues a paragraph in it.
        if !has_started && matches!(self.leaf, Leaf::Paragraph { .. }) {
            return false;
        }
        if !has_started {
            self.containers.truncate(matched);
        }
        self.fill_item();
        self.leaf = Leaf::Paragraph {
            may_define: cursor.text().starts_with('['),
        };
        let is_top = self.containers.is_empty();
        if is_top {
            self.list = None;
        }
        is_top
    }

    /// Returns what the rest of a line starts. `is_paragraph`: the innermost open block is a
    /// paragraph; `is_all`: all containers are continued, so the line can be part of it.
    fn start_of(&self, cursor: &LineCursor<'_>, is_paragraph: bool, is_all: bool) -> Start {
        let text = cursor.text();
        if cursor.is_blank() {
            return Start::Nothing;
        }
        if cursor.indent() >= CODE_INDENT {
            return if is_paragraph {
                Start::Nothing
            } else {
                Start::Leaf(Leaf::IndentedCode)
            };
        }
        let is_deep = self.containers.len() >= DEPTH_MAX;
        if is_quote(cursor) && !is_deep {
            return Start::Container(Container::Quote, None);
        }
        if is_heading(text) {
            return Start::Leaf(Leaf::None);
        }
        if let Some(fence) = fence(text) {
            return Start::Leaf(Leaf::Fence(fence));
        }
        if let Some(end) = html_block(text, is_paragraph) {
            let leaf = if end.is_in(text) {
                Leaf::None
            } else {
                Leaf::Html(end)
            };
            return Start::Leaf(leaf);
        }
        if is_paragraph && is_all && is_setext_underline(text) {
            let defines = self.leaf == Leaf::Paragraph { may_define: true };
            return if defines {
                Start::Nothing
            } else {
                Start::Underline
            };
        }
        if is_thematic_break(text) {
            return Start::Leaf(Leaf::None);
        }
        let marker = list_marker(text).filter(|_| !is_deep);
        match marker.filter(|marker| marker.may_interrupt || !(is_paragraph && is_all)) {
            Some(marker) => {
                let item = item_of(cursor, marker.bytes, marker.is_empty);
                Start::Container(item, Some(marker.kind))
            }
            None => Start::Nothing,
        }
    }

    /// Notes that the innermost open item has content.
    fn fill_item(&mut self) {
        if let Some(Container::Item { is_empty, .. }) = self.containers.last_mut() {
            *is_empty = false;
        }
    }
}

fn is_quote(cursor: &LineCursor<'_>) -> bool {
    cursor.indent() < CODE_INDENT && cursor.text().starts_with('>')
}

fn enter_quote(cursor: &mut LineCursor<'_>) {
    cursor.skip_marker(1);
    if cursor.indent() > 0 {
        cursor.skip_columns(1);
    }
}

/// Consumes the marker of a container.
fn enter(cursor: &mut LineCursor<'_>, container: Container) {
    match container {
        Container::Quote => enter_quote(cursor),
        Container::Item { content, .. } => {
            let indent = cursor.indent();
            let marker = list_marker(cursor.text()).map_or(0, |marker| marker.bytes);
            cursor.skip_marker(marker);
            cursor.skip_columns(content.saturating_sub(indent + marker));
        }
    }
}

/// The item that a marker begins.
fn item_of(cursor: &LineCursor<'_>, marker: usize, is_empty: bool) -> Container {
    let indent = cursor.indent();
    let mut inner = cursor.clone();
    inner.skip_marker(marker);
    // More than four columns are indented code in the item.
    let gap = match inner.indent() {
        gap @ 1..=CODE_INDENT if !is_empty => gap,
        _ => 1,
    };
    Container::Item {
        content: indent + marker + gap,
        is_empty,
    }
}

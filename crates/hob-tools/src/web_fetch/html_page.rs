//! Converts HTML to Markdown in one pass over its tags. Pure.
//!
//! No tree is built, so a deeply nested page takes no more stack than a flat one. Content that a
//! person would not see is left out: scripts, styles, comments, hidden elements. Links become
//! absolute; links with other schemes than http, https and mailto become plain text.
//!
//! Invariant: the time is linear in the size of the page, and the text is bounded.

use super::html_elements::{attribute, ends_itself, is_block, is_foreign, is_unseen, is_void};
use super::markdown_writer::MarkdownWriter;
use hob_net::Url;
use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

/// Bytes of a shown link; a longer one is embedded data.
const LINK_BYTES_MAX: usize = 2_000;
/// Characters of a title.
const TITLE_CHARS_MAX: usize = 300;

/// The title and text of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ExtractedPage {
    pub(super) title: Option<String>,
    pub(super) text: String,
    /// True if text is missing at the end.
    pub(super) is_cut: bool,
}

/// Converts a page that was fetched from `base`.
pub(super) fn extract(html: &str, base: &Url, is_plain: bool, bytes_max: usize) -> ExtractedPage {
    let mut page = PageExtractor {
        writer: MarkdownWriter::new(is_plain, bytes_max),
        base: base.clone(),
        title: String::new(),
        inside: OpenElement::Body,
        link: None,
        table: TableState::default(),
    };
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let tokens = Tokenizer::new_with_emitter(html, emitter);
    let mut is_cut = false;
    for Ok(token) in tokens {
        match token {
            Token::StartTag(tag) => page.open_tag(&tag),
            Token::EndTag(tag) => page.close_tag(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => page.push_text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        if page.writer.is_full() {
            is_cut = true;
            break;
        }
    }
    page.leave_link();
    let words: Vec<&str> = page.title.split_whitespace().collect();
    let title: String = words.join(" ").chars().take(TITLE_CHARS_MAX).collect();
    ExtractedPage {
        title: Some(title).filter(|title| !title.is_empty()),
        text: page.writer.finish(),
        is_cut,
    }
}

struct PageExtractor {
    writer: MarkdownWriter,
    base: Url,
    title: String,
    inside: OpenElement,
    /// The target of the open link.
    link: Option<String>,
    table: TableState,
}

/// The element that the current text belongs to.
enum OpenElement {
    Body,
    Title,
    /// Preformatted text.
    Lines(String),
    /// A hidden element, and the number of open elements of its name.
    Hidden {
        name: String,
        depth: usize,
    },
}

#[derive(Default)]
struct TableState {
    depth: usize,
    rows: usize,
    cells: usize,
}

impl PageExtractor {
    fn push_text(&mut self, text: &str) {
        match &mut self.inside {
            OpenElement::Hidden { .. } => {}
            OpenElement::Title if self.title.len() > 4 * TITLE_CHARS_MAX => {}
            OpenElement::Title => self.title.push_str(text),
            OpenElement::Lines(lines) => lines.push_str(text),
            OpenElement::Body => self.writer.words(text),
        }
    }

    fn open_tag(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        if let OpenElement::Hidden {
            name: hidden,
            depth,
        } = &mut self.inside
        {
            if *hidden == name && ends_itself(&name) {
                self.inside = OpenElement::Body;
            } else {
                *depth += usize::from(*hidden == name && !tag.self_closing);
                return;
            }
        }
        if is_unseen(&name, tag) {
            // `/>` closes svg and math elements; HTML ignores it on its own elements.
            let is_closed = is_void(&name) || (tag.self_closing && is_foreign(&name));
            if !is_closed {
                self.inside = OpenElement::Hidden { name, depth: 1 };
            }
            return;
        }
        if let OpenElement::Lines(lines) = &mut self.inside {
            if name == "br" {
                lines.push('\n');
            }
            return;
        }
        match name.as_str() {
            "title" => self.inside = OpenElement::Title,
            "base" => self.base = self.resolve_url(tag, "href").unwrap_or(self.base.clone()),
            "pre" | "textarea" | "xmp" | "listing" => {
                self.inside = OpenElement::Lines(String::new());
            }
            "a" => self.enter_link(tag),
            "img" => self.picture(tag),
            "table" | "tr" | "td" | "th" => self.enter_table(&name),
            _ => self.markup(&name, true),
        }
    }

    fn close_tag(&mut self, name: &str) {
        match &mut self.inside {
            OpenElement::Hidden {
                name: hidden,
                depth,
            } => {
                if hidden == name {
                    *depth -= 1;
                    if *depth == 0 {
                        self.inside = OpenElement::Body;
                    }
                }
                return;
            }
            OpenElement::Title => {
                self.inside = OpenElement::Body;
                return;
            }
            OpenElement::Lines(lines) => {
                if matches!(name, "pre" | "textarea" | "xmp" | "listing") {
                    let lines = std::mem::take(lines);
                    self.inside = OpenElement::Body;
                    self.lines(&lines);
                }
                return;
            }
            OpenElement::Body => {}
        }
        match name {
            "a" => self.leave_link(),
            "table" | "tr" | "td" | "th" => self.leave_table(name),
            _ => self.markup(name, false),
        }
    }

    fn lines(&mut self, lines: &str) {
        if lines.trim().is_empty() {
            return;
        }
        if self.writer.in_cell {
            self.writer.words(lines);
        } else {
            self.writer.block(lines);
        }
    }

    /// Handles elements that need only their name.
    fn markup(&mut self, name: &str, opens: bool) {
        let writer = &mut self.writer;
        let inline = match name {
            "b" | "strong" => Some("**"),
            "i" | "em" | "cite" | "dfn" | "var" => Some("*"),
            "code" | "kbd" | "samp" | "tt" => Some("`"),
            "del" | "s" | "strike" => Some("~~"),
            _ => None,
        };
        if let Some(mark) = inline {
            if opens {
                writer.open(mark);
            } else {
                writer.close(mark, mark);
            }
            return;
        }
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = name[1..].parse().unwrap_or(1);
                let sign = format!("{} ", "#".repeat(level));
                writer.line_break(2);
                if opens && !writer.in_cell {
                    writer.open(&sign);
                } else {
                    writer.close(&sign, "");
                }
            }
            "p" | "dl" | "figure" | "article" | "section" => writer.line_break(2),
            "blockquote" => writer.quote(opens),
            "ul" | "menu" | "ol" if opens => writer.open_list((name == "ol").then_some(1)),
            "ul" | "menu" | "ol" => writer.close_list(),
            "li" if opens => writer.item(),
            "hr" if opens && !writer.in_cell => {
                writer.line_break(2);
                writer.put(if writer.is_plain() { "" } else { "---" });
                writer.line_break(2);
            }
            name if is_block(name) => writer.line_break(1),
            _ => {}
        }
    }

    fn enter_link(&mut self, tag: &StartTag<()>) {
        self.leave_link();
        self.link = self.resolve_url(tag, "href").map(String::from);
        if self.link.is_some() {
            self.writer.open("[");
        }
    }

    fn leave_link(&mut self) {
        if let Some(link) = self.link.take() {
            self.writer.close("[", &format!("]({link})"));
        }
    }

    fn picture(&mut self, tag: &StartTag<()>) {
        let words = attribute(tag, "alt");
        let words: Vec<&str> = words.split_whitespace().collect();
        if words.is_empty() {
            return;
        }
        let words = words.join(" ");
        match self.resolve_url(tag, "src") {
            Some(place) if !self.writer.is_plain() => {
                self.writer.put(&format!("![{words}]({place})"));
            }
            _ => self.writer.words(&words),
        }
    }

    /// Only the outermost table is drawn; nested tables become text.
    fn enter_table(&mut self, name: &str) {
        let table = &mut self.table;
        if name == "table" {
            table.depth += 1;
        }
        if table.depth != 1 {
            self.writer.line_break(1);
            return;
        }
        match name {
            "table" => {
                (table.rows, table.cells) = (0, 0);
                self.writer.line_break(2);
            }
            "tr" => self.end_row(),
            _ => {
                self.writer.in_cell = false;
                let edge = match (self.writer.is_plain(), table.cells) {
                    (true, 0) => "",
                    (true, _) => "\t",
                    (false, 0) => "| ",
                    (false, _) => " | ",
                };
                if table.cells == 0 {
                    self.writer.line_break(1);
                }
                self.writer.edge(edge);
                table.cells += 1;
                self.writer.in_cell = true;
            }
        }
    }

    fn leave_table(&mut self, name: &str) {
        if self.table.depth == 1 {
            match name {
                "tr" => self.end_row(),
                "table" => {
                    self.end_row();
                    self.writer.line_break(2);
                }
                _ => {}
            }
        }
        if name == "table" {
            self.table.depth = self.table.depth.saturating_sub(1);
        }
    }

    fn end_row(&mut self) {
        self.writer.in_cell = false;
        let cells = std::mem::take(&mut self.table.cells);
        if cells > 0 {
            self.table.rows += 1;
            if !self.writer.is_plain() {
                self.writer.edge(" |");
                if self.table.rows == 1 {
                    self.writer.line_break(1);
                    self.writer.put(&format!("|{}", " --- |".repeat(cells)));
                }
            }
        }
        self.writer.line_break(1);
    }

    /// The absolute URL in an attribute.
    fn resolve_url(&self, tag: &StartTag<()>, name: &str) -> Option<Url> {
        let written = attribute(tag, name);
        if written.trim().is_empty() || written.len() > LINK_BYTES_MAX {
            return None;
        }
        let place = self.base.join(written.trim()).ok()?;
        let is_web = matches!(place.scheme(), "http" | "https" | "mailto");
        Some(place).filter(|place| is_web && place.as_str().len() <= LINK_BYTES_MAX)
    }
}

#[cfg(test)]
#[path = "html_page_tests.rs"]
mod tests;

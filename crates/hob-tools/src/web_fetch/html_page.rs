//! A page of HTML to Markdown, in one pass over its tags. Pure.
//!
//! There is no tree: a page nested a million deep takes no more stack than a flat one. What a
//! person would not see is left out: scripts, styles, comments, elements that are hidden. Links are
//! made absolute; those that are not of the web stay words.
//!
//! Invariant: time is linear in the page, and the answer is bounded.

use super::writer::Writer;
use hob_net::Url;
use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

/// Bytes of a link that is shown; a longer one is data, not a place.
const LINK_BYTES_MAX: usize = 2_000;
/// Letters of a title.
const TITLE_CHARS_MAX: usize = 300;

/// What a page says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) title: Option<String>,
    pub(super) text: String,
    /// Whether there was more.
    pub(super) is_cut: bool,
}

/// Reads a page that came from `base`.
pub(super) fn tell(html: &str, base: &Url, is_plain: bool, bytes_max: usize) -> Told {
    let mut page = Page {
        writer: Writer::new(is_plain, bytes_max),
        base: base.clone(),
        title: String::new(),
        inside: Inside::Body,
        link: None,
        table: Table::default(),
    };
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let tokens = Tokenizer::new_with_emitter(html, emitter);
    let mut is_cut = false;
    for Ok(token) in tokens {
        match token {
            Token::StartTag(tag) => page.opened(&tag),
            Token::EndTag(tag) => page.closed(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => page.said(&String::from_utf8_lossy(&text)),
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
    Told {
        title: Some(title).filter(|title| !title.is_empty()),
        text: page.writer.finish(),
        is_cut,
    }
}

struct Page {
    writer: Writer,
    base: Url,
    title: String,
    inside: Inside,
    /// Where the open link leads.
    link: Option<String>,
    table: Table,
}

/// What the present words are part of.
enum Inside {
    Body,
    Title,
    /// Lines that stand as they are.
    Lines(String),
    /// Something nobody sees, and how often its name is open.
    Hidden {
        name: String,
        depth: usize,
    },
}

#[derive(Default)]
struct Table {
    depth: usize,
    rows: usize,
    cells: usize,
}

impl Page {
    fn said(&mut self, text: &str) {
        match &mut self.inside {
            Inside::Hidden { .. } => {}
            Inside::Title if self.title.len() > 4 * TITLE_CHARS_MAX => {}
            Inside::Title => self.title.push_str(text),
            Inside::Lines(lines) => lines.push_str(text),
            Inside::Body => self.writer.words(text),
        }
    }

    fn opened(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        if let Inside::Hidden {
            name: hidden,
            depth,
        } = &mut self.inside
        {
            if *hidden == name && ends_itself(&name) {
                self.inside = Inside::Body;
            } else {
                *depth += usize::from(*hidden == name && !tag.self_closing);
                return;
            }
        }
        if is_unseen(&name, tag) {
            // A picture drawn in the page may be closed at once, unlike what is HTML's own.
            let is_closed = is_void(&name) || (tag.self_closing && is_foreign(&name));
            if !is_closed {
                self.inside = Inside::Hidden { name, depth: 1 };
            }
            return;
        }
        if let Inside::Lines(lines) = &mut self.inside {
            if name == "br" {
                lines.push('\n');
            }
            return;
        }
        match name.as_str() {
            "title" => self.inside = Inside::Title,
            "base" => self.base = self.place(tag, "href").unwrap_or(self.base.clone()),
            "pre" | "textarea" | "xmp" | "listing" => self.inside = Inside::Lines(String::new()),
            "a" => self.enter_link(tag),
            "img" => self.picture(tag),
            "table" | "tr" | "td" | "th" => self.enter_table(&name),
            _ => self.mark(&name, true),
        }
    }

    fn closed(&mut self, name: &str) {
        match &mut self.inside {
            Inside::Hidden {
                name: hidden,
                depth,
            } => {
                if hidden == name {
                    *depth -= 1;
                    if *depth == 0 {
                        self.inside = Inside::Body;
                    }
                }
                return;
            }
            Inside::Title => {
                self.inside = Inside::Body;
                return;
            }
            Inside::Lines(lines) => {
                if matches!(name, "pre" | "textarea" | "xmp" | "listing") {
                    let lines = std::mem::take(lines);
                    self.inside = Inside::Body;
                    self.lines(&lines);
                }
                return;
            }
            Inside::Body => {}
        }
        match name {
            "a" => self.leave_link(),
            "table" | "tr" | "td" | "th" => self.leave_table(name),
            _ => self.mark(name, false),
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

    /// What needs no more than its name.
    fn mark(&mut self, name: &str, opens: bool) {
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
                writer.part(2);
                if opens && !writer.in_cell {
                    writer.open(&sign);
                } else {
                    writer.close(&sign, "");
                }
            }
            "p" | "dl" | "figure" | "article" | "section" => writer.part(2),
            "blockquote" => writer.quote(opens),
            "ul" | "menu" | "ol" if opens => writer.open_list((name == "ol").then_some(1)),
            "ul" | "menu" | "ol" => writer.close_list(),
            "li" if opens => writer.item(),
            "hr" if opens && !writer.in_cell => {
                writer.part(2);
                writer.put(if writer.is_plain() { "" } else { "---" });
                writer.part(2);
            }
            name if is_block(name) => writer.part(1),
            _ => {}
        }
    }

    fn enter_link(&mut self, tag: &StartTag<()>) {
        self.leave_link();
        self.link = self.place(tag, "href").map(String::from);
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
        match self.place(tag, "src") {
            Some(place) if !self.writer.is_plain() => {
                self.writer.put(&format!("![{words}]({place})"));
            }
            _ => self.writer.words(&words),
        }
    }

    /// Only the outermost table is drawn; those within one of its cells are words.
    fn enter_table(&mut self, name: &str) {
        let table = &mut self.table;
        if name == "table" {
            table.depth += 1;
        }
        if table.depth != 1 {
            self.writer.part(1);
            return;
        }
        match name {
            "table" => {
                (table.rows, table.cells) = (0, 0);
                self.writer.part(2);
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
                    self.writer.part(1);
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
                    self.writer.part(2);
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
                    self.writer.part(1);
                    self.writer.put(&format!("|{}", " --- |".repeat(cells)));
                }
            }
        }
        self.writer.part(1);
    }

    /// The place of the web that an attribute names.
    fn place(&self, tag: &StartTag<()>, name: &str) -> Option<Url> {
        let written = attribute(tag, name);
        if written.trim().is_empty() || written.len() > LINK_BYTES_MAX {
            return None;
        }
        let place = self.base.join(written.trim()).ok()?;
        let is_web = matches!(place.scheme(), "http" | "https" | "mailto");
        Some(place).filter(|place| is_web && place.as_str().len() <= LINK_BYTES_MAX)
    }
}

fn attribute(tag: &StartTag<()>, name: &str) -> String {
    let value = tag.attributes.get(name.as_bytes());
    value.map_or_else(String::new, |value| {
        String::from_utf8_lossy(value).into_owned()
    })
}

/// Whether nobody would see what is inside.
fn is_unseen(name: &str, tag: &StartTag<()>) -> bool {
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

/// Whether the next of its name ends it.
fn ends_itself(name: &str) -> bool {
    matches!(
        name,
        "p" | "li" | "td" | "th" | "tr" | "dt" | "dd" | "option"
    )
}

fn is_foreign(name: &str) -> bool {
    matches!(name, "svg" | "math")
}

fn is_void(name: &str) -> bool {
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

fn is_block(name: &str) -> bool {
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

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;

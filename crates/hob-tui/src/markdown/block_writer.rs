//! Turns the events of the Markdown parser into rows. Pure.

use super::code_rows;
use super::table::TableInProgress;
use crate::text::{BreakAt, Emphasis, Role, Row, Span, Tone, clean_line, width, wrap};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};

/// The deepest nesting that is indented further.
const INDENTS_MAX: usize = 8;
/// The least columns of text, however deep it is nested.
const COLUMNS_MIN: usize = 8;

/// What surrounds the current text.
enum Container {
    Quote,
    /// The number of the next item, if it has numbers.
    List(Option<u64>),
    /// An item; the mark is drawn before its first row.
    Item {
        mark: Option<String>,
        columns: usize,
    },
}

pub(super) struct BlockWriter {
    columns: usize,
    rows: Vec<Row>,
    containers: Vec<Container>,
    spans: Vec<Span>,
    tone: Tone,
    /// The tones outside of the open emphases.
    outer: Vec<Tone>,
    code: Option<(String, String)>,
    link: Option<String>,
    table: Option<TableInProgress>,
    /// A blank row stands before the next block.
    is_apart: bool,
}

impl BlockWriter {
    pub(super) fn new(columns: usize) -> BlockWriter {
        BlockWriter {
            columns,
            rows: Vec::new(),
            containers: Vec::new(),
            spans: Vec::new(),
            tone: Tone::default(),
            outer: Vec::new(),
            code: None,
            link: None,
            table: None,
            is_apart: false,
        }
    }

    pub(super) fn finish(mut self) -> Vec<Row> {
        self.end_text();
        self.rows
    }

    pub(super) fn write(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => {
                let tone = Tone {
                    role: Role::Code,
                    ..self.tone
                };
                self.push(Span::new(clean_line(&text), tone));
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                self.push(Span::new(text.trim_end_matches('\n'), Role::Quiet));
            }
            Event::SoftBreak => self.push(Span::new(" ", self.tone)),
            Event::HardBreak => self.push(Span::new("\n", self.tone)),
            Event::Rule => {
                self.begin_block();
                let line = "─".repeat(self.room());
                self.push_rows(vec![Row::single(line, Role::Quiet)]);
                self.is_apart = true;
            }
            Event::TaskListMarker(is_done) => {
                let mark = if is_done { "[x] " } else { "[ ] " };
                self.push(Span::new(mark, Role::Quiet));
            }
            Event::FootnoteReference(name) => {
                self.push(Span::new(format!("[{name}]"), Role::Quiet));
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.push(Span::new(clean_line(&text), Role::Code));
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                let role = match level {
                    HeadingLevel::H1 | HeadingLevel::H2 => Role::Accent,
                    _ => Role::Heading,
                };
                self.open_tone(Tone::from(role));
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.containers.push(Container::Quote);
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                if self.in_item() {
                    self.end_text();
                } else {
                    self.begin_block();
                }
                self.containers.push(Container::List(first));
            }
            Tag::Item => self.start_item(),
            Tag::Emphasis => self.open_emphasis(Emphasis::ITALIC),
            Tag::Strong => self.open_emphasis(Emphasis::BOLD),
            Tag::Strikethrough => self.open_emphasis(Emphasis::STRIKE),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.to_string());
                self.open_tone(Tone::from(Role::Link));
            }
            Tag::Table(alignments) => {
                self.begin_block();
                self.table = Some(TableInProgress::new(alignments));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.end_text();
                self.is_apart = true;
            }
            TagEnd::Heading(_) => {
                self.end_text();
                self.close_tone();
                self.is_apart = true;
            }
            TagEnd::BlockQuote(_) => {
                self.end_text();
                self.containers.pop();
                self.is_apart = true;
            }
            TagEnd::CodeBlock => {
                if let Some((language, text)) = self.code.take() {
                    let rows = code_rows(&language, &text, self.room());
                    self.push_rows(rows);
                }
                self.is_apart = true;
            }
            TagEnd::List(_) => {
                self.containers.pop();
                self.is_apart = !self.in_item();
            }
            TagEnd::Item => {
                self.end_item();
                self.containers.pop();
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => self.close_tone(),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableCell => {
                let spans = std::mem::take(&mut self.spans);
                if let Some(table) = &mut self.table {
                    table.push_cell(spans);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let rows = table.rows(self.room());
                    self.push_rows(rows);
                }
                self.is_apart = true;
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.code {
            code.push_str(text);
        } else {
            self.push(Span::new(text, self.tone));
        }
    }

    fn push(&mut self, span: Span) {
        self.spans.push(span);
    }

    fn in_item(&self) -> bool {
        matches!(self.containers.last(), Some(Container::Item { .. }))
    }

    fn start_item(&mut self) {
        self.end_text();
        let mark = match self.containers.last_mut() {
            Some(Container::List(Some(number))) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => "• ".to_owned(),
        };
        self.is_apart = false;
        self.containers.push(Container::Item {
            columns: width(&mark),
            mark: Some(mark),
        });
    }

    fn end_item(&mut self) {
        let has_mark = matches!(
            self.containers.last(),
            Some(Container::Item { mark: Some(_), .. })
        );
        // An empty item still shows its mark.
        if !self.spans.is_empty() || has_mark {
            self.spans.push(Span::default());
        }
        self.end_text();
        self.is_apart = false;
    }

    fn end_link(&mut self) {
        let Some(url) = self.link.take() else {
            return;
        };
        self.close_tone();
        let shown: String = self.spans.iter().map(|span| span.text.as_str()).collect();
        let url = clean_line(&url);
        if !shown.ends_with(&url) {
            self.push(Span::new(format!(" ({url})"), Role::Quiet));
        }
    }

    fn open_tone(&mut self, tone: Tone) {
        self.outer.push(self.tone);
        self.tone = Tone {
            emphasis: self.tone.emphasis.with(tone.emphasis),
            ..tone
        };
    }

    fn open_emphasis(&mut self, emphasis: Emphasis) {
        self.outer.push(self.tone);
        self.tone.emphasis = self.tone.emphasis.with(emphasis);
    }

    fn close_tone(&mut self) {
        self.tone = self.outer.pop().unwrap_or_default();
    }

    /// Puts a blank row before the next block, if one stood before it.
    fn begin_block(&mut self) {
        self.end_text();
        if std::mem::take(&mut self.is_apart) && !self.rows.is_empty() {
            let has_mark = matches!(
                self.containers.last(),
                Some(Container::Item { mark: Some(_), .. })
            );
            if !has_mark {
                self.push_rows(vec![Row::default()]);
            }
        }
    }

    fn end_text(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        let spans = std::mem::take(&mut self.spans);
        let rows = wrap(&spans, self.room(), BreakAt::Words);
        self.push_rows(rows);
    }

    /// The columns beside the edges of the containers.
    fn room(&self) -> usize {
        let edge: usize = self.edge_widths().sum();
        self.columns
            .saturating_sub(edge)
            .max(COLUMNS_MIN.min(self.columns.max(1)))
    }

    fn edge_widths(&self) -> impl Iterator<Item = usize> {
        let drawn = self.containers.iter().take(INDENTS_MAX * 2);
        drawn.map(|container| match container {
            Container::Quote => 2,
            Container::List(_) => 0,
            Container::Item { columns, .. } => *columns,
        })
    }

    fn push_rows(&mut self, rows: Vec<Row>) {
        for row in rows {
            let mut edge = Vec::new();
            for container in self.containers.iter_mut().take(INDENTS_MAX * 2) {
                match container {
                    Container::Quote => edge.push(Span::new("▎ ", Role::Gutter)),
                    Container::List(_) => {}
                    Container::Item { mark, columns } => edge.push(match mark.take() {
                        Some(mark) => Span::plain(mark),
                        None => Span::new(" ".repeat(*columns), Role::Gutter),
                    }),
                }
            }
            let row = row.behind(&edge);
            // Deep nesting may leave no room at all.
            if row.width() <= self.columns {
                self.rows.push(row);
            } else {
                let continues = row.continues;
                let mut broken = wrap(&row.spans, self.columns, BreakAt::Anywhere);
                if let Some(first) = broken.first_mut() {
                    first.continues = continues;
                }
                self.rows.extend(broken);
            }
        }
    }
}

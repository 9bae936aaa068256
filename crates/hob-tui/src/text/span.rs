//! Styled text in rows. Pure. A [`Tone`] names a role, not a colour; the theme gives it one when it
//! is drawn, so rows can be kept when the theme changes.

use super::width;

/// The role of a piece of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    #[default]
    Plain,
    /// Less important than what is beside it.
    Quiet,
    Accent,
    Heading,
    Code,
    Link,
    Good,
    Bad,
    Warning,
    Added,
    Removed,
    /// The changed words of an added line.
    AddedWord,
    RemovedWord,
    /// The chosen row of a list, and selected text.
    Selected,
    /// Found by a search.
    Found,
    /// A line at the edge, which is not part of the text.
    Gutter,
    /// A line across the screen with facts about it.
    Bar,
}

/// A role with emphasis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tone {
    pub role: Role,
    pub emphasis: Emphasis,
}

/// The emphasis of a text, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Emphasis(u8);

impl Emphasis {
    pub const BOLD: Emphasis = Emphasis(1);
    pub const ITALIC: Emphasis = Emphasis(2);
    pub const STRIKE: Emphasis = Emphasis(4);

    pub fn contains(self, other: Emphasis) -> bool {
        self.0 & other.0 != 0
    }

    #[must_use]
    pub fn with(self, other: Emphasis) -> Emphasis {
        Emphasis(self.0 | other.0)
    }
}

impl Tone {
    #[must_use]
    pub fn bold(mut self) -> Tone {
        self.emphasis = self.emphasis.with(Emphasis::BOLD);
        self
    }
}

impl From<Role> for Tone {
    fn from(role: Role) -> Tone {
        Tone {
            role,
            emphasis: Emphasis::default(),
        }
    }
}

/// A piece of text in one tone, without line breaks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub tone: Tone,
}

impl Span {
    pub fn new(text: impl Into<String>, tone: impl Into<Tone>) -> Span {
        Span {
            text: text.into(),
            tone: tone.into(),
        }
    }

    pub fn plain(text: impl Into<String>) -> Span {
        Span::new(text, Role::Plain)
    }
}

/// A row of the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub spans: Vec<Span>,
    /// It continues the row above: there is no line break in between.
    pub continues: bool,
}

impl Row {
    pub fn of(spans: Vec<Span>) -> Row {
        Row {
            spans,
            continues: false,
        }
    }

    pub fn single(text: impl Into<String>, tone: impl Into<Tone>) -> Row {
        Row::of(vec![Span::new(text, tone)])
    }

    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| width(&span.text)).sum()
    }

    /// The text of the row without what stands at its edge.
    pub fn text(&self) -> String {
        let spans = self.spans.iter();
        let inner = spans.filter(|span| span.tone.role != Role::Gutter);
        inner.map(|span| span.text.as_str()).collect()
    }

    /// The row behind these spans.
    #[must_use]
    pub fn behind(mut self, edge: &[Span]) -> Row {
        self.spans.splice(0..0, edge.iter().cloned());
        self
    }
}

//! Themes: what each tone looks like. By the terminal's own colours, so that its palette decides.

use crate::text::{Emphasis, Role, Tone};
use ratatui_core::style::{Color, Modifier, Style};

/// A set of looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    #[default]
    Dark,
    Light,
    /// Bold instead of faint, reversed instead of coloured where it matters.
    HighContrast,
    /// No colours: `NO_COLOR`.
    Plain,
}

impl Theme {
    pub const ALL: [Theme; 4] = [Theme::Dark, Theme::Light, Theme::HighContrast, Theme::Plain];

    pub fn name(self) -> &'static str {
        match self {
            Theme::Dark => "dark",
            Theme::Light => "light",
            Theme::HighContrast => "high-contrast",
            Theme::Plain => "plain",
        }
    }

    pub fn named(name: &str) -> Option<Theme> {
        Theme::ALL.into_iter().find(|theme| theme.name() == name)
    }

    /// The theme after this one.
    #[must_use]
    pub fn next(self) -> Theme {
        let place = Theme::ALL.iter().position(|theme| *theme == self);
        Theme::ALL[place.map_or(0, |place| (place + 1) % Theme::ALL.len())]
    }

    /// How a tone looks.
    pub fn style(self, tone: Tone) -> Style {
        let mut style = self.role(tone.role);
        for (emphasis, modifier) in [
            (Emphasis::BOLD, Modifier::BOLD),
            (Emphasis::ITALIC, Modifier::ITALIC),
            (Emphasis::STRIKE, Modifier::CROSSED_OUT),
        ] {
            if tone.emphasis.contains(emphasis) {
                style = style.add_modifier(modifier);
            }
        }
        style
    }

    fn role(self, role: Role) -> Style {
        let style = Style::new();
        let colour = |colour: Color| match self {
            Theme::Plain => style,
            _ => style.fg(colour),
        };
        match role {
            Role::Plain => style,
            Role::Quiet | Role::Gutter => match self {
                Theme::HighContrast => style,
                Theme::Dark | Theme::Light | Theme::Plain => style.add_modifier(Modifier::DIM),
            },
            Role::Accent => colour(Color::Cyan).add_modifier(Modifier::BOLD),
            Role::Heading => style.add_modifier(Modifier::BOLD),
            Role::Code => match self {
                Theme::Light => colour(Color::Magenta),
                _ => colour(Color::Cyan),
            },
            Role::Link => colour(Color::Cyan).add_modifier(Modifier::UNDERLINED),
            Role::Good | Role::Added => colour(Color::Green),
            Role::Bad | Role::Removed => colour(Color::Red),
            Role::Warning => match self {
                // Yellow cannot be read on white.
                Theme::Light => colour(Color::Magenta).add_modifier(Modifier::BOLD),
                _ => colour(Color::Yellow).add_modifier(Modifier::BOLD),
            },
            Role::AddedWord => colour(Color::Green).add_modifier(Modifier::REVERSED),
            Role::RemovedWord => colour(Color::Red).add_modifier(Modifier::REVERSED),
            Role::Selected => style.add_modifier(Modifier::REVERSED),
            Role::Found => colour(Color::Yellow).add_modifier(Modifier::REVERSED),
            Role::Bar => match self {
                Theme::HighContrast => style.add_modifier(Modifier::REVERSED),
                Theme::Dark | Theme::Light | Theme::Plain => style.add_modifier(Modifier::DIM),
            },
        }
    }
}

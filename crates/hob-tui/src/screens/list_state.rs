//! A list on the screen: rows, the chosen one, and the words that filter them. Pure.
//!
//! Invariants: the chosen row stays chosen when the list is read again, as long as it is there; every
//! cell is filtered text.

use super::{ScreenData, content};
use crate::text::{Role, clean_line, fuzzy_match};

/// What the chosen row can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowAction {
    OpenSession(String),
    UseModel(String),
    Service { name: String, is_running: bool },
}

/// A row: its cells and what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRow {
    /// Tells the row from others when the list is read again.
    pub id: String,
    pub cells: Vec<(String, Role)>,
    pub action: Option<RowAction>,
}

impl ListRow {
    pub(super) fn new(id: impl Into<String>, cells: Vec<(String, Role)>) -> ListRow {
        let cells = cells.into_iter();
        ListRow {
            id: id.into(),
            cells: cells
                .map(|(text, role)| (clean_line(&text), role))
                .collect(),
            action: None,
        }
    }

    #[must_use]
    pub(super) fn doing(mut self, action: RowAction) -> ListRow {
        self.action = Some(action);
        self
    }
}

/// The rows of a list under their heads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListContent {
    pub heads: Vec<&'static str>,
    pub rows: Vec<ListRow>,
    /// Said below the rows.
    pub notes: Vec<String>,
    /// Said instead of rows.
    pub empty: &'static str,
}

#[derive(Clone, Debug, Default)]
pub struct ListState {
    content: Option<ListContent>,
    filter: String,
    chosen: usize,
}

impl ListState {
    /// The content; `None` until it was read.
    pub fn content(&self) -> Option<&ListContent> {
        self.content.as_ref()
    }

    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// The number of the chosen one among the rows that are shown.
    pub fn chosen(&self) -> usize {
        self.chosen
    }

    /// The rows that fit the filter, in the order of the list.
    pub fn rows(&self) -> Vec<&ListRow> {
        let rows = self.content.iter().flat_map(|content| &content.rows);
        let fitting = rows.filter(|row| {
            let mut cells = row.cells.iter();
            self.filter.is_empty()
                || cells.any(|(text, _)| fuzzy_match(&self.filter, text).is_some())
        });
        fitting.collect()
    }

    pub(crate) fn chosen_action(&self) -> Option<RowAction> {
        self.rows().get(self.chosen)?.action.clone()
    }

    pub(crate) fn fill(&mut self, data: &ScreenData, wall_ms: u64) {
        let former = self.rows().get(self.chosen).map(|row| row.id.clone());
        self.content = Some(content(data, wall_ms));
        let place = self
            .rows()
            .iter()
            .position(|row| Some(&row.id) == former.as_ref());
        self.chosen = place.unwrap_or(self.chosen);
        self.step(0);
    }

    pub(crate) fn step(&mut self, rows: isize) {
        let last = self.rows().len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(rows).min(last);
    }

    pub(crate) fn set_filter(&mut self, filter: &str) {
        filter.clone_into(&mut self.filter);
        self.chosen = 0;
    }
}

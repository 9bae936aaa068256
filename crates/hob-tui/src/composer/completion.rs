//! What a begun word may become. Pure.

use crate::text::fuzzy_match;

/// The most items that are offered.
const ITEMS_MAX: usize = 8;

/// A proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionItem {
    /// What takes the word's place.
    pub text: String,
    /// What it is, for people.
    pub about: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    items: Vec<CompletionItem>,
    chosen: usize,
}

impl Completion {
    /// The items whose name fits the query, the best first.
    pub fn of(query: &str, items: impl Iterator<Item = (String, CompletionItem)>) -> Completion {
        let fitting = items.filter_map(|(name, item)| Some((fuzzy_match(query, &name)?, item)));
        let mut fitting: Vec<_> = fitting.collect();
        fitting.sort_by(|(one, _), (other, _)| other.cmp(one));
        fitting.truncate(ITEMS_MAX);
        Completion {
            items: fitting.into_iter().map(|(_, item)| item).collect(),
            chosen: 0,
        }
    }

    pub fn items(&self) -> &[CompletionItem] {
        &self.items
    }

    pub fn chosen_index(&self) -> usize {
        self.chosen
    }

    pub fn chosen(&self) -> Option<&CompletionItem> {
        self.items.get(self.chosen)
    }

    pub(super) fn step(&mut self, is_up: bool) {
        let count = self.items.len().max(1);
        let step = if is_up { count - 1 } else { 1 };
        self.chosen = (self.chosen + step) % count;
    }
}

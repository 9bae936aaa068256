//! What lies over a screen: the palette and the help. Pure.

use crate::actions::{ACTIONS, Action, ActionSpec};
use crate::text::fuzzy_match;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overlay {
    Palette { query: String, chosen: usize },
    Help { scroll: usize },
}

impl Overlay {
    pub(crate) fn palette() -> Overlay {
        Overlay::Palette {
            query: String::new(),
            chosen: 0,
        }
    }
}

/// The actions whose title or name fits, the best first. Moves of the caret are no use in a list.
pub(crate) fn palette_rows(query: &str) -> Vec<&'static ActionSpec> {
    let mut fitting: Vec<_> = ACTIONS
        .iter()
        .filter(|spec| is_listed(spec.action))
        .filter_map(|spec| {
            let by_title = fuzzy_match(query, spec.title);
            let by_name = fuzzy_match(query, spec.name);
            Some((by_title.max(by_name)?, spec))
        })
        .collect();
    // Stable, so an empty query keeps the order of the table.
    fitting.sort_by(|(one, _), (other, _)| other.cmp(one));
    fitting.into_iter().map(|(_, spec)| spec).collect()
}

fn is_listed(action: Action) -> bool {
    use crate::actions::Context;
    let spec = action.spec();
    let is_edit = spec.context == Context::Composer
        && !matches!(
            action,
            Action::Queue | Action::Cancel | Action::HistorySearch | Action::Editor
        );
    let is_local = matches!(spec.context, Context::Card | Context::List);
    !is_edit && !is_local && !matches!(action, Action::Palette | Action::SetModel)
}

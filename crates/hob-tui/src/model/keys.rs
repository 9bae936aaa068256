//! Which part of the screen a key belongs to. Pure.

use super::overlay::palette_rows;
use super::{Effect, Model, MouseAction, Overlay, Request};
use crate::actions::{Action, Context, Key, KeyCode};
use crate::cards::CardInput;
use crate::composer::TextBuffer;
use crate::screens::Screen;
use crate::text::clean;
use hob_wire::work::DoubtAnswer;

/// The rows that a turn of the wheel scrolls.
const WHEEL_ROWS: isize = 3;
/// The longest line that is typed into a card or a list.
const LINE_CHARS_MAX: usize = 4_096;

impl Model {
    pub(super) fn press(&mut self, key: Key, is_pasted: bool) -> Vec<Effect> {
        self.last_key_at = self.now;
        if is_pasted {
            return self.press_pasted(key);
        }
        if self.overlay.is_some() {
            return self.press_overlay(key);
        }
        if self.cards.has_keys() {
            return self.press_card(key);
        }
        match self.screen {
            Screen::Onboard => self.press_onboard(key),
            Screen::Chat if self.search.is_some() => self.press_search(key),
            Screen::Chat => self.press_chat(key),
            _ => self.press_list(key),
        }
    }

    /// A paste of a terminal that does not mark it: it only ever adds text.
    fn press_pasted(&mut self, key: Key) -> Vec<Effect> {
        let letter = match key.code {
            KeyCode::Enter => Some('\n'),
            KeyCode::Tab => Some(' '),
            _ => key.text(),
        };
        if let Some(letter) = letter {
            self.paste(letter.encode_utf8(&mut [0; 4]));
        }
        Vec::new()
    }

    pub(super) fn paste(&mut self, text: &str) {
        let line = || clean(text).replace('\n', " ");
        if let Some(key) = self
            .onboard
            .key
            .as_mut()
            .filter(|_| self.screen == Screen::Onboard)
        {
            key.text.push_str(line().trim());
        } else if let Some((_, typed)) = self.card_input() {
            typed.push_str(&line());
        } else if self.screen == Screen::Chat {
            self.composer.paste(text);
        }
    }

    fn card_input(&mut self) -> Option<&mut (CardInput, String)> {
        if !self.cards.has_keys() {
            return None;
        }
        self.cards.top_mut()?.input.as_mut()
    }

    fn press_chat(&mut self, key: Key) -> Vec<Effect> {
        let contexts = [Context::Composer, Context::Chat, Context::Everywhere];
        let is_searching = self.composer.search().is_some();
        let action = self.keymap.action(key, &contexts);
        if is_searching {
            match action {
                Some(Action::HistorySearch) => self.composer.search_history(),
                Some(Action::DeleteLeft) => drop(self.composer.shorten_search()),
                Some(Action::Escape | Action::Cancel) => drop(self.composer.end_search(true)),
                None => return self.type_text(key),
                Some(_) => drop(self.composer.end_search(false)),
            }
            return Vec::new();
        }
        if self.composer.completion().is_some() {
            match action {
                Some(Action::CursorUp) => drop(self.composer.step_completion(true)),
                Some(Action::CursorDown) => drop(self.composer.step_completion(false)),
                Some(Action::Complete) => self.accept_completion(),
                Some(Action::Send) => {
                    let is_command = self.composer.word_to_complete();
                    let is_command = is_command.is_some_and(|word| word.starts_with('/'));
                    self.accept_completion();
                    // A command without an argument is meant at once.
                    if is_command && !self.composer.buffer().text().ends_with(' ') {
                        return self.act(Action::Send, "");
                    }
                }
                Some(Action::Escape | Action::Cancel) => drop(self.composer.close_completion()),
                Some(action) => return self.act_and_complete(action),
                None => return self.type_text(key),
            }
            return Vec::new();
        }
        match action {
            Some(action) => self.act_and_complete(action),
            None => self.type_text(key),
        }
    }

    fn act_and_complete(&mut self, action: Action) -> Vec<Effect> {
        let effects = self.act(action, "");
        if matches!(action, Action::DeleteLeft | Action::Complete) {
            self.offer_completion();
        }
        effects
    }

    fn type_text(&mut self, key: Key) -> Vec<Effect> {
        let Some(letter) = key.text() else {
            return Vec::new();
        };
        // `?` at an empty message asks for help.
        if letter == '?' && self.composer.is_empty() {
            return self.act(Action::Help, "");
        }
        self.transcript.choose_none();
        self.composer.type_char(letter);
        let is_file = self.composer.word_to_complete();
        let is_file = is_file.is_some_and(|word| word.starts_with('@'));
        self.offer_completion();
        if is_file && self.files.is_none() {
            return vec![Effect::ListFiles];
        }
        Vec::new()
    }

    fn press_search(&mut self, key: Key) -> Vec<Effect> {
        let contexts = [Context::Composer, Context::Chat, Context::Everywhere];
        let action = self.keymap.action(key, &contexts);
        let Some(search) = &mut self.search else {
            return Vec::new();
        };
        let mut is_again = false;
        match action {
            Some(Action::DeleteLeft) => drop(search.query.pop()),
            Some(Action::Send | Action::CursorUp | Action::Search) => is_again = true,
            Some(Action::Escape | Action::Cancel) => {
                self.search = None;
                self.transcript.search("", false);
                return Vec::new();
            }
            Some(other) => return self.act(other, ""),
            None => search.query.extend(key.text()),
        }
        search.query.truncate(LINE_CHARS_MAX);
        let query = search.query.clone();
        let is_found = self.transcript.search(&query, is_again);
        self.search = Some(super::SearchLine { query, is_found });
        Vec::new()
    }

    fn press_overlay(&mut self, key: Key) -> Vec<Effect> {
        let action = self
            .keymap
            .action(key, &[Context::List, Context::Everywhere]);
        let page = self.size.1.saturating_sub(6).max(1);
        match &mut self.overlay {
            Some(Overlay::Help { scroll }) => match action {
                Some(Action::ListUp) => *scroll = scroll.saturating_sub(1),
                Some(Action::ListDown) => *scroll += 1,
                Some(Action::ListPageUp) => *scroll = scroll.saturating_sub(page),
                Some(Action::ListPageDown) => *scroll += page,
                Some(Action::Quit | Action::Suspend) => return self.act_any(action),
                _ => self.overlay = None,
            },
            Some(Overlay::Palette { query, chosen }) => {
                let rows = palette_rows(query);
                let last = rows.len().saturating_sub(1);
                match action {
                    Some(Action::ListUp) => *chosen = chosen.saturating_sub(1),
                    Some(Action::ListDown) => *chosen = (*chosen + 1).min(last),
                    Some(Action::ListPageUp) => *chosen = chosen.saturating_sub(page),
                    Some(Action::ListPageDown) => *chosen = (*chosen + page).min(last),
                    Some(Action::ListChoose) => {
                        let found = rows.get(*chosen).map(|spec| spec.action);
                        self.overlay = None;
                        return self.act_any(found);
                    }
                    Some(Action::ListBack | Action::Palette) => self.overlay = None,
                    Some(Action::Quit | Action::Suspend) => return self.act_any(action),
                    _ if key.code == KeyCode::Backspace => {
                        query.pop();
                        *chosen = 0;
                    }
                    _ => {
                        query.extend(key.text());
                        query.truncate(LINE_CHARS_MAX);
                        *chosen = 0;
                    }
                }
            }
            None => {}
        }
        Vec::new()
    }

    fn act_any(&mut self, action: Option<Action>) -> Vec<Effect> {
        action.map_or_else(Vec::new, |action| self.act(action, ""))
    }

    fn press_card(&mut self, key: Key) -> Vec<Effect> {
        if self.card_input().is_some() {
            return self.press_card_input(key);
        }
        match self
            .keymap
            .action(key, &[Context::Card, Context::Everywhere])
        {
            Some(action) if action.spec().context == Context::Card => self.answer_card(action),
            other => self.act_any(other),
        }
    }

    fn press_card_input(&mut self, key: Key) -> Vec<Effect> {
        let Some((input, text)) = self.card_input() else {
            return Vec::new();
        };
        match key.code {
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Enter => {
                let (input, text) = (*input, text.clone());
                return match input {
                    CardInput::Result => {
                        let result = Some(text).filter(|text| !text.is_empty());
                        self.resolve_doubt(DoubtAnswer::Happened, result)
                    }
                    CardInput::Dollars => self.allow_money(&text),
                };
            }
            KeyCode::Esc => {
                if let Some(card) = self.cards.top_mut() {
                    card.input = None;
                }
            }
            _ => {
                if text.len() < LINE_CHARS_MAX {
                    text.extend(key.text());
                }
            }
        }
        Vec::new()
    }

    fn press_list(&mut self, key: Key) -> Vec<Effect> {
        let action = self
            .keymap
            .action(key, &[Context::List, Context::Everywhere]);
        let page = self.size.1.saturating_sub(6).max(1);
        match action {
            Some(Action::ListUp) => self.list.step(-1),
            Some(Action::ListDown) => self.list.step(1),
            Some(Action::ListPageUp) => self.list.step(-page.cast_signed()),
            Some(Action::ListPageDown) => self.list.step(page.cast_signed()),
            Some(Action::ListBack) if !self.list.filter().is_empty() => self.list.set_filter(""),
            Some(Action::ListBack) => return self.show(Screen::Chat),
            Some(Action::ListChoose) => return self.choose_row(),
            Some(Action::ListToggle) => return self.toggle_row(),
            Some(other) => return self.act(other, ""),
            None if key.code == KeyCode::Backspace => {
                let mut filter = self.list.filter().to_owned();
                filter.pop();
                self.list.set_filter(&filter);
            }
            None if key.text() == Some('?') => return self.act(Action::Help, ""),
            None => {
                let mut filter = self.list.filter().to_owned();
                if filter.len() < LINE_CHARS_MAX {
                    filter.extend(key.text());
                }
                self.list.set_filter(&filter);
            }
        }
        Vec::new()
    }

    fn press_onboard(&mut self, key: Key) -> Vec<Effect> {
        let action = self
            .keymap
            .action(key, &[Context::List, Context::Everywhere]);
        match action {
            Some(Action::ListUp) => self.onboard.step(true),
            Some(Action::ListDown) => self.onboard.step(false),
            Some(Action::ListChoose) => {
                let params = self.onboard.choose();
                return params.map_or_else(Vec::new, |params| {
                    vec![Effect::Call(Request::OnboardChoose(Box::new(params)))]
                });
            }
            Some(Action::ListBack) if self.onboard.key.is_some() => self.onboard.key = None,
            Some(Action::ListBack) => return self.show(Screen::Chat),
            Some(other) => return self.act(other, ""),
            None => {
                if let Some(entry) = &mut self.onboard.key {
                    if key.code == KeyCode::Backspace {
                        entry.text.pop();
                    } else if entry.text.len() < LINE_CHARS_MAX {
                        entry.text.extend(key.text());
                    }
                }
            }
        }
        Vec::new()
    }

    pub(super) fn mouse(&mut self, action: MouseAction) -> Vec<Effect> {
        if let Some(card) = self.cards.top_mut()
            && self.overlay.is_none()
            && !matches!(action, MouseAction::Press { .. })
        {
            match action {
                MouseAction::WheelUp => card.scroll = card.scroll.saturating_sub(3),
                _ => card.scroll += 3,
            }
            return Vec::new();
        }
        match (action, self.screen) {
            (MouseAction::WheelUp, Screen::Chat) => return self.scroll(-WHEEL_ROWS),
            (MouseAction::WheelDown, Screen::Chat) => return self.scroll(WHEEL_ROWS),
            (MouseAction::WheelUp, _) => self.list.step(-WHEEL_ROWS),
            (MouseAction::WheelDown, _) => self.list.step(WHEEL_ROWS),
            (MouseAction::Press { row, .. }, Screen::Chat) if self.overlay.is_none() => {
                self.press_row(row);
            }
            _ => {}
        }
        Vec::new()
    }

    /// A click on a foldable block folds it.
    fn press_row(&mut self, row: usize) {
        let top = crate::view::TRANSCRIPT_TOP;
        let rows = self.transcript.visible();
        let found = row.checked_sub(top).and_then(|row| rows.get(row));
        if let Some(row) = found {
            self.transcript.fold(row.index);
        }
    }

    pub(super) fn accept_completion(&mut self) {
        if let Some(item) = self.composer.accept_completion()
            && item.text.ends_with('/')
        {
            self.offer_completion();
        }
    }

    pub(super) fn edit(&mut self, edit: impl FnOnce(&mut TextBuffer)) {
        self.composer.edit(edit);
    }
}

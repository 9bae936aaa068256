//! What each action does. Pure.

use super::{Effect, Model, Overlay, Request, SearchLine};
use crate::actions::{ACTIONS, Action, parse_slash, slash_action, slash_name};
use crate::cards::{CardInput, Question};
use crate::composer::{Completion, CompletionItem, TextBuffer};
use crate::screens::{RowAction, Screen};
use crate::text::{Role, clean_line};
use crate::theme::Theme;
use hob_wire::rooms::agent::{AgentRunParams, QueueMode};
use hob_wire::work::DoubtAnswer;

impl Model {
    /// Carries out an action; `argument` is what stood behind its slash command.
    pub(super) fn act(&mut self, action: Action, argument: &str) -> Vec<Effect> {
        let columns = self.composer_columns();
        match action {
            Action::Palette => self.overlay = Some(Overlay::palette()),
            Action::Help => self.overlay = Some(Overlay::Help { scroll: 0 }),
            Action::Quit => return vec![Effect::Quit],
            Action::Suspend => return vec![Effect::Suspend],
            Action::Redraw => return vec![Effect::Redraw],
            Action::ShowChat => return self.show(Screen::Chat),
            Action::ShowSessions => return self.show(Screen::Sessions),
            Action::ShowServices => return self.show(Screen::Services),
            Action::ShowRuns => return self.show(Screen::Runs),
            Action::ShowCosts => return self.show(Screen::Costs),
            Action::ShowPermissions => return self.show(Screen::Permissions),
            Action::ShowModels => return self.show(Screen::Models),
            Action::ShowDoctor => return self.show(Screen::Doctor),
            Action::ShowAbout => return self.show(Screen::About),
            Action::ChooseModel => return self.show(Screen::Onboard),
            Action::NewSession => return self.new_session(argument),
            Action::Fork => {
                let session = self.session().to_owned();
                return vec![Effect::Call(Request::Fork(session))];
            }
            Action::SetModel => self.set_model(argument),
            Action::NextTheme => self.set_theme(argument),
            Action::ToggleMouse => {
                self.captures_mouse = !self.captures_mouse;
                let text = if self.captures_mouse {
                    "The mouse scrolls and folds here."
                } else {
                    "The mouse is the terminal's: select and copy as usual."
                };
                self.notify(text, Role::Quiet);
                return vec![Effect::CaptureMouse(self.captures_mouse)];
            }
            Action::FocusQuestion => self.cards.toggle_keys(),
            Action::Send => return self.send(QueueMode::Steer),
            Action::Queue => return self.send(QueueMode::Queue),
            Action::Newline => self.edit(|buffer| buffer.insert("\n")),
            Action::Cancel => return self.cancel(),
            Action::Escape => return self.escape(),
            Action::HistorySearch => self.composer.search_history(),
            Action::Editor => return vec![Effect::Edit(self.composer.message())],
            Action::CursorLeft => self.composer.move_caret(TextBuffer::left),
            Action::CursorRight => self.composer.move_caret(TextBuffer::right),
            Action::CursorUp => self.move_row(columns, true),
            Action::CursorDown => self.move_row(columns, false),
            Action::WordLeft => self.composer.move_caret(TextBuffer::word_left),
            Action::WordRight => self.composer.move_caret(TextBuffer::word_right),
            Action::LineStart => self.composer.move_caret(TextBuffer::line_start),
            Action::LineEnd => self.composer.move_caret(TextBuffer::line_end),
            Action::DeleteLeft => self.edit(TextBuffer::delete_left),
            Action::DeleteRight if self.composer.is_empty() => return vec![Effect::Quit],
            Action::DeleteRight => self.edit(TextBuffer::delete_right),
            Action::DeleteWordLeft => self.edit(TextBuffer::cut_word_left),
            Action::DeleteWordRight => self.edit(TextBuffer::cut_word_right),
            Action::CutToEnd => self.edit(TextBuffer::cut_to_end),
            Action::CutToStart => self.edit(TextBuffer::cut_to_start),
            Action::Yank => self.edit(TextBuffer::yank),
            Action::PageUp => return self.scroll(-self.page()),
            Action::PageDown => return self.scroll(self.page()),
            Action::ScrollUp => return self.scroll(-1),
            Action::ScrollDown => return self.scroll(1),
            Action::Top => {
                self.transcript.go_to_first();
                return vec![Effect::ReadOlder];
            }
            Action::Bottom => self.transcript.follow(),
            Action::FoldAll => {
                let unfolds = self.transcript.fold_all();
                let text = if unfolds { "Unfolded." } else { "Folded." };
                self.notify(text, Role::Quiet);
            }
            Action::PreviousBlock => self.transcript.choose(true),
            Action::NextBlock => self.transcript.choose(false),
            Action::FoldBlock => self.transcript.fold_chosen(),
            Action::Search => {
                let query = argument.to_owned();
                let is_found = query.is_empty() || self.transcript.search(&query, false);
                self.search = Some(SearchLine { query, is_found });
            }
            Action::CopyAnswer => match self.transcript.last_answer() {
                Some(text) => return vec![Effect::Copy(text)],
                None => self.notify("There is no answer yet.", Role::Quiet),
            },
            Action::Transcript => return vec![Effect::Page(self.transcript.plain_text())],
            // Actions of cards and lists act only there; words are completed where they are typed.
            _ => {}
        }
        Vec::new()
    }

    /// The columns of the message.
    pub(crate) fn composer_columns(&self) -> usize {
        self.size.0.saturating_sub(2).max(2)
    }

    fn page(&self) -> isize {
        self.size.1.saturating_sub(8).max(1).cast_signed()
    }

    pub(super) fn scroll(&mut self, rows: isize) -> Vec<Effect> {
        if self.transcript.scroll(rows) {
            return vec![Effect::ReadOlder];
        }
        Vec::new()
    }

    fn move_row(&mut self, columns: usize, is_up: bool) {
        let mut has_moved = false;
        self.composer.move_caret(|buffer| {
            has_moved = if is_up {
                buffer.up(columns)
            } else {
                buffer.down(columns)
            };
        });
        if !has_moved {
            self.composer.recall(is_up);
        }
    }

    /// Sends the message, or carries out the command that it is.
    fn send(&mut self, mode: QueueMode) -> Vec<Effect> {
        let text = self.composer.message();
        // A backslash at the end of a line goes on with the next one.
        if self.composer.buffer().text().ends_with('\\') {
            self.edit(|buffer| {
                buffer.line_end();
                buffer.delete_left();
                buffer.insert("\n");
            });
            return Vec::new();
        }
        if text.trim().is_empty() {
            return Vec::new();
        }
        if let Some((name, argument)) = parse_slash(text.trim()) {
            return self.run_slash(name, argument);
        }
        let task = self.composer.take();
        self.transcript.follow();
        let params = AgentRunParams {
            task,
            mode: self.run.is_some().then_some(mode),
            idempotency_key: Some(self.request_key()),
            ..self.run_params.clone()
        };
        vec![
            Effect::KeepHistory,
            Effect::Call(Request::Run(Box::new(params))),
        ]
    }

    fn run_slash(&mut self, name: &str, argument: &str) -> Vec<Effect> {
        let Some(spec) = slash_action(name) else {
            let name = clean_line(name);
            self.notify(
                format!("There is no /{name}; /help lists them."),
                Role::Warning,
            );
            return Vec::new();
        };
        self.composer.take();
        let mut effects = vec![Effect::KeepHistory];
        effects.extend(self.act(spec.action, argument));
        effects
    }

    fn cancel(&mut self) -> Vec<Effect> {
        if self.run.as_ref().is_some_and(|run| !run.is_stopping) {
            return self.stop();
        }
        if !self.composer.is_empty() {
            self.composer.clear();
            return Vec::new();
        }
        if self.leaves_until > self.now {
            return vec![Effect::Quit];
        }
        self.leaves_until = self.now + super::LEAVE_MS;
        self.notify("Again to leave; running work goes on.", Role::Quiet);
        Vec::new()
    }

    fn escape(&mut self) -> Vec<Effect> {
        if self.transcript.choose_none() {
            return Vec::new();
        }
        if self.run.as_ref().is_some_and(|run| !run.is_stopping) {
            return self.stop();
        }
        self.transcript.follow();
        Vec::new()
    }

    fn stop(&mut self) -> Vec<Effect> {
        if let Some(run) = &mut self.run {
            run.is_stopping = true;
        }
        self.notify("Stopping the run …", Role::Warning);
        vec![Effect::Call(Request::Stop(self.session().to_owned()))]
    }

    fn new_session(&mut self, argument: &str) -> Vec<Effect> {
        let session = if argument.is_empty() {
            format!("chat:{}", self.request_key())
        } else {
            argument.to_owned()
        };
        let mut effects = self.show(Screen::Chat);
        effects.extend(self.follow_session(session));
        effects
    }

    fn set_model(&mut self, argument: &str) {
        if argument.is_empty() {
            let model = self.run_params.model.as_deref();
            let model = clean_line(model.unwrap_or("the default model"));
            let text = format!("Using {model}; /model NAME changes it, /models lists them.");
            self.notify(text, Role::Quiet);
            return;
        }
        self.run_params.model = Some(argument.to_owned());
        self.answering = None;
        let text = format!("Using {} from now on.", clean_line(argument));
        self.notify(text, Role::Quiet);
    }

    fn set_theme(&mut self, argument: &str) {
        let theme = match argument {
            "" => Some(self.theme.next()),
            name => Theme::named(name),
        };
        if let Some(theme) = theme {
            self.theme = theme;
            self.notify(format!("Theme {}.", theme.name()), Role::Quiet);
        } else {
            let names = Theme::ALL.map(Theme::name).join(", ");
            self.notify(format!("The themes are {names}."), Role::Warning);
        }
    }

    /// Offers what the word at the caret may become.
    pub(super) fn offer_completion(&mut self) {
        let completion = self.composer.word_to_complete().and_then(|word| {
            if let Some(query) = word.strip_prefix('/') {
                return Some(slash_completion(query));
            }
            let query = word.strip_prefix('@')?;
            let files = self.files.as_ref()?.iter().map(|file| {
                let item = CompletionItem {
                    text: format!("@{file} "),
                    about: String::new(),
                };
                (file.clone(), item)
            });
            Some(Completion::of(query, files))
        });
        self.composer.offer(completion);
    }

    /// Gives the answer of a card, or scrolls it.
    pub(super) fn answer_card(&mut self, action: Action) -> Vec<Effect> {
        let Some(card) = self.cards.top_mut() else {
            return Vec::new();
        };
        let question = Box::new(card.question.clone());
        match (action, card.question.clone()) {
            (Action::CardUp, _) => card.scroll = card.scroll.saturating_sub(1),
            (Action::CardDown, _) => card.scroll += 1,
            (Action::CardLater, _) => self.cards.postpone(self.now),
            (Action::CardStop, asked) => {
                self.cards.postpone(self.now);
                return vec![Effect::Call(Request::StopRun(asked.run()))];
            }
            (action, Question::Permission(permission)) => {
                let answer = crate::cards::permission_answer(&permission, action);
                if let Some(answer) = answer {
                    self.cards.sent(self.now);
                    return vec![Effect::Call(Request::Answer(question, Box::new(answer)))];
                }
            }
            (Action::Happened, Question::Doubt(_)) => {
                card.input = Some((CardInput::Result, String::new()));
            }
            (Action::DidNotHappen, Question::Doubt(_)) => {
                return self.resolve_doubt(DoubtAnswer::DidNot, None);
            }
            (Action::GiveUp, Question::Doubt(_)) => {
                return self.resolve_doubt(DoubtAnswer::GiveUp, None);
            }
            (Action::MoreMoney, Question::Money(_)) => {
                card.input = Some((CardInput::Dollars, String::new()));
            }
            _ => {}
        }
        Vec::new()
    }

    pub(super) fn resolve_doubt(
        &mut self,
        answer: DoubtAnswer,
        result: Option<String>,
    ) -> Vec<Effect> {
        let Some(question) = self.cards.top().map(|card| card.question.clone()) else {
            return Vec::new();
        };
        let Some(params) = crate::cards::doubt_answer(&question, answer, result) else {
            return Vec::new();
        };
        self.cards.sent(self.now);
        let (question, params) = (Box::new(question), Box::new(params));
        vec![Effect::Call(Request::Resolve(question, params))]
    }

    pub(super) fn allow_money(&mut self, dollars: &str) -> Vec<Effect> {
        let Some(card) = self.cards.top_mut() else {
            return Vec::new();
        };
        match crate::cards::money_answer(&card.question, dollars) {
            Ok(params) => {
                let question = Box::new(card.question.clone());
                self.cards.sent(self.now);
                vec![Effect::Call(Request::Allow(question, params))]
            }
            Err(why) => {
                card.problem = Some(format!("This is no amount: {why}."));
                Vec::new()
            }
        }
    }

    pub(super) fn choose_row(&mut self) -> Vec<Effect> {
        match self.list.chosen_action() {
            Some(RowAction::OpenSession(key)) => {
                let mut effects = self.show(Screen::Chat);
                effects.extend(self.follow_session(key));
                effects
            }
            Some(RowAction::UseModel(name)) => {
                self.set_model(&name);
                self.show(Screen::Chat)
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn toggle_row(&mut self) -> Vec<Effect> {
        let Some(RowAction::Service { name, is_running }) = self.list.chosen_action() else {
            return Vec::new();
        };
        let shown = clean_line(&name);
        let (request, doing) = if is_running {
            (Request::StopService(name), "Stopping")
        } else {
            (Request::StartService(name), "Starting")
        };
        self.notify(format!("{doing} {shown} …"), Role::Quiet);
        vec![Effect::Call(request)]
    }
}

fn slash_completion(query: &str) -> Completion {
    let commands = ACTIONS.iter().filter_map(|spec| {
        let name = slash_name(spec)?;
        let has_argument = spec.slash.is_some_and(|slash| slash.contains(' '));
        let item = CompletionItem {
            text: format!("/{name}{}", if has_argument { " " } else { "" }),
            about: spec.title.to_owned(),
        };
        Some((name.to_owned(), item))
    });
    Completion::of(query, commands)
}

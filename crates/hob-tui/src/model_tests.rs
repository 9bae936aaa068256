//! The update machine: by tables, and by random events that never panic.

use super::*;
use crate::actions::{Action, Key, KeyCode};
use crate::cards::Question;
use crate::transcript::BlockUpdate;
use crate::view;
use hob_client::ListChange;
use hob_wire::block::{Block, BlockDetails, BlockKind, BlockStatus};
use hob_wire::rooms::agent::{QueueMode, RunPausedPayload, RunRef};
use hob_wire::rooms::onboard::{OnboardKind, OnboardOption, OnboardOptionsResult};
use hob_wire::rooms::permission::{PermissionDecision, PermissionQuestion};
use hob_wire::work::Tier;
use proptest::prelude::*;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

pub(crate) fn start() -> Start {
    Start {
        run: AgentRunParams {
            session_key: "chat:main".into(),
            ..AgentRunParams::default()
        },
        folder: Some("~/work".into()),
        version: "0.1.0".into(),
        theme: Theme::Dark,
        keymap: Keymap::default(),
        history: vec!["an earlier message".into()],
        size: (80, 24),
        mouse: true,
        reduced_motion: false,
        zone_seconds: 0,
        key_seed: "seed".into(),
        notice: None,
    }
}

pub(crate) fn model() -> Model {
    let (mut model, _) = Model::new(start());
    at(&mut model, 10_000);
    model
}

pub(crate) fn at(model: &mut Model, now: u64) -> Vec<Effect> {
    let wall_ms = 1_794_778_625_000 + now;
    update(model, Event::Time { now, wall_ms })
}

pub(crate) fn press(model: &mut Model, keys: &str) -> Vec<Effect> {
    let keys = keys.split(' ').map(|key| Key::parse(key).unwrap());
    keys.flat_map(|key| {
        let is_pasted = false;
        update(model, Event::Key { key, is_pasted })
    })
    .collect()
}

pub(crate) fn type_text(model: &mut Model, text: &str) -> Vec<Effect> {
    let letters = text.chars().map(|letter| match letter {
        ' ' => Key::plain(KeyCode::Char(' ')),
        letter => Key::char(letter),
    });
    letters
        .flat_map(|key| {
            let is_pasted = false;
            update(model, Event::Key { key, is_pasted })
        })
        .collect()
}

pub(crate) fn run_id(last: u8) -> RunId {
    format!("01890a5d-ac96-774b-bcce-b302099a80{last:02x}")
        .parse()
        .unwrap()
}

pub(crate) fn question(id: &str) -> Question {
    Question::Permission(Box::new(PermissionQuestion {
        id: id.into(),
        session_key: "chat:main".into(),
        run_id: run_id(1),
        call_id: "c1".into(),
        tool: "exec".into(),
        args: serde_json::json!({ "command": "cargo test" }),
        tier: Tier::Exec,
        sentence: "Run cargo test".into(),
        offers: Vec::new(),
        preview: Some("$ cargo test\nfolder /work\nsandbox: workspace".into()),
        digest: "d".into(),
        asked_at: 0,
        deadline_at: 0,
        attended: true,
    }))
}

fn started(model: &mut Model, run: u8) {
    let news = News::Started {
        session: "chat:main".into(),
        run: run_id(run),
        model: "sim/small".into(),
    };
    update(model, Event::News(news));
}

fn calls(effects: &[Effect]) -> Vec<&Request> {
    let calls = effects.iter().filter_map(|effect| match effect {
        Effect::Call(request) => Some(request),
        _ => None,
    });
    calls.collect()
}

#[test]
fn a_message_is_sent_once_with_its_key() {
    let mut model = model();
    type_text(&mut model, "hello there");
    let effects = press(&mut model, "enter");
    let [Request::Run(params)] = calls(&effects)[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(params.task, "hello there");
    assert_eq!(params.session_key, "chat:main");
    assert_eq!(params.idempotency_key.as_deref(), Some("seed-1"));
    assert_eq!(params.mode, None);
    assert!(model.composer.is_empty());
    assert!(calls(&press(&mut model, "enter")).is_empty());
    assert_eq!(model.history().last().unwrap(), "hello there");
}

#[test]
fn a_working_run_is_told_or_the_message_waits() {
    let mut model = model();
    started(&mut model, 1);
    for (key, mode) in [("enter", QueueMode::Steer), ("alt-q", QueueMode::Queue)] {
        type_text(&mut model, "also this");
        let effects = press(&mut model, key);
        let [Request::Run(params)] = calls(&effects)[..] else {
            panic!("{effects:?}");
        };
        assert_eq!(params.mode, Some(mode));
    }
}

#[test]
fn a_pasted_line_break_sends_nothing() {
    let mut model = model();
    update(&mut model, Event::Paste("one\r\ntwo\n".into()));
    assert_eq!(model.composer.message(), "one\ntwo\n");
    let enter = Key::plain(KeyCode::Enter);
    let pasted = Event::Key {
        key: enter,
        is_pasted: true,
    };
    assert!(update(&mut model, pasted).is_empty());
    assert_eq!(model.composer.message(), "one\ntwo\n\n");
}

#[test]
fn what_could_not_be_sent_comes_back() {
    let mut model = model();
    let failed = |lacks_model| {
        let failure = Failure {
            sentence: "No.".into(),
            lacks_model,
        };
        Event::Reply(Box::new(Reply::Run {
            message: "my words".into(),
            was_working: false,
            result: Err(failure),
        }))
    };
    update(&mut model, failed(false));
    assert_eq!(model.composer.message(), "my words");
    assert_eq!(model.screen, Screen::Chat);
    let effects = update(&mut model, failed(true));
    assert_eq!(model.screen, Screen::Onboard);
    assert!(matches!(
        calls(&effects)[..],
        [Request::OnboardOptions { state_only: false }]
    ));
}

#[test]
fn escape_stops_and_a_second_ctrl_c_leaves() {
    let mut model = model();
    started(&mut model, 1);
    let effects = press(&mut model, "esc");
    assert!(matches!(calls(&effects)[..], [Request::Stop(_)]));
    let completed = News::Completed {
        session: "chat:main".into(),
        run: run_id(1),
        is_success: false,
        message: Some("Stopped.".into()),
    };
    update(&mut model, Event::News(completed));
    assert!(model.run.is_none());
    type_text(&mut model, "half");
    assert!(press(&mut model, "ctrl-c").is_empty());
    assert!(model.composer.is_empty());
    assert!(press(&mut model, "ctrl-c").is_empty());
    assert!(matches!(press(&mut model, "ctrl-c")[..], [Effect::Quit]));
    let mut later = self::model();
    press(&mut later, "ctrl-c");
    at(&mut later, 30_000);
    assert!(press(&mut later, "ctrl-c").is_empty(), "too late to leave");
}

#[test]
fn a_question_takes_keys_only_after_it_was_seen() {
    let mut model = model();
    type_text(&mut model, "y");
    update(&mut model, Event::News(News::Asked(question("1"))));
    // A message is being written: the keys are its own, however long it takes.
    at(&mut model, 60_000);
    assert!(calls(&type_text(&mut model, "n")).is_empty());
    assert_eq!(model.composer.message(), "yn");
    press(&mut model, "ctrl-u");
    assert!(calls(&type_text(&mut model, "y")).is_empty());
    press(&mut model, "ctrl-u");
    assert_eq!(model.next_tick_ms(), Some(crate::cards::ARM_MS));
    at(&mut model, 60_000 + crate::cards::ARM_MS);
    // A paste is no answer.
    let key = Key::char('y');
    let pasted = Event::Key {
        key,
        is_pasted: true,
    };
    assert!(calls(&update(&mut model, pasted)).is_empty());
    model.composer.clear();
    let effects = type_text(&mut model, "y");
    let [Request::Answer(_, answer)] = calls(&effects)[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(answer.decision, PermissionDecision::Allow);
    assert_eq!(answer.digest.as_deref(), Some("d"));
    assert!(model.cards.top().is_none(), "the card is answered");
}

#[test]
fn an_answer_from_elsewhere_closes_the_card_and_a_refused_one_opens_it() {
    let mut model = model();
    update(&mut model, Event::News(News::Asked(question("1"))));
    update(&mut model, Event::News(News::Answered { id: "1".into() }));
    assert_eq!(model.cards.count(), 0);
    update(&mut model, Event::News(News::Asked(question("2"))));
    press(&mut model, "alt-a n");
    assert!(model.cards.top().is_none());
    let refused = Reply::Answered {
        question: Box::new(question("2")),
        result: Err(Failure {
            sentence: "It changed.".into(),
            lacks_model: false,
        }),
    };
    update(&mut model, Event::Reply(Box::new(refused)));
    let card = model.cards.top().unwrap();
    assert_eq!(card.problem.as_deref(), Some("It changed."));
}

#[test]
fn money_is_asked_for_in_the_card() {
    let mut model = model();
    let paused = RunPausedPayload {
        run: RunRef {
            session_key: "chat:main".into(),
            run_id: run_id(1),
        },
        message: "The day's budget is used up.".into(),
    };
    let question = Question::Money(Box::new(paused));
    update(&mut model, Event::News(News::Asked(question)));
    press(&mut model, "alt-a m x enter");
    assert!(model.cards.top().unwrap().problem.is_some());
    press(&mut model, "backspace 0 . 5");
    let effects = press(&mut model, "enter");
    let [Request::Allow(_, params)] = calls(&effects)[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(params.micro_dollars, 500_000);
}

#[test]
fn slash_commands_act_and_unknown_ones_are_said() {
    let mut model = model();
    type_text(&mut model, "/model smart");
    press(&mut model, "enter");
    assert_eq!(model.run_params.model.as_deref(), Some("smart"));
    type_text(&mut model, "/nothing ");
    press(&mut model, "enter");
    assert!(model.notice.as_ref().unwrap().text.contains("no /nothing"));
    press(&mut model, "ctrl-u");
    // The completion of a begun command is taken by enter.
    type_text(&mut model, "/sess");
    let effects = press(&mut model, "enter");
    assert_eq!(model.screen, Screen::Sessions);
    assert!(matches!(
        calls(&effects)[..],
        [Request::Screen(Screen::Sessions)]
    ));
    press(&mut model, "esc");
    assert_eq!(model.screen, Screen::Chat);
}

#[test]
fn the_palette_does_what_is_chosen() {
    let mut model = model();
    press(&mut model, "ctrl-p");
    type_text(&mut model, "leave");
    let effects = press(&mut model, "enter");
    assert!(matches!(effects[..], [Effect::Quit]));
    assert!(model.overlay.is_none());
    type_text(&mut model, "?");
    assert!(matches!(model.overlay, Some(Overlay::Help { .. })));
    press(&mut model, "down esc");
    assert!(model.overlay.is_none());
}

#[test]
fn a_daemon_that_comes_back_is_asked_what_was_missed() {
    let mut model = model();
    update(&mut model, Event::Link(LinkState::Searching));
    let effects = update(&mut model, Event::Link(LinkState::Connected));
    let names = calls(&effects);
    assert!(names.iter().any(|it| matches!(it, Request::Attend)));
    assert!(names.iter().any(|it| matches!(it, Request::Questions)));
    assert!(names.iter().any(|it| matches!(it, Request::RunStatus(_))));
}

#[test]
fn nothing_ticks_while_nothing_moves() {
    let mut model = model();
    model.notice = None;
    assert_eq!(model.next_tick_ms(), None);
    started(&mut model, 1);
    assert_eq!(model.next_tick_ms(), Some(MOTION_MS));
    update(&mut model, Event::Focus(false));
    assert_eq!(model.next_tick_ms(), Some(REDUCED_MOTION_MS));
}

#[test]
fn the_first_run_offers_the_choice_and_ends_in_the_conversation() {
    let mut model = model();
    let state = OnboardOptionsResult {
        offer: true,
        model: None,
        demo: false,
        options: Vec::new(),
        notes: Vec::new(),
    };
    let reply = |is_state_only, result: &OnboardOptionsResult| {
        Event::Reply(Box::new(Reply::Options {
            is_state_only,
            result: Ok(result.clone()),
        }))
    };
    update(&mut model, reply(true, &state));
    assert_eq!(model.screen, Screen::Onboard);
    let paste = OnboardOption {
        id: "paste".into(),
        kind: OnboardKind::Paste,
        title: "Paste a key".into(),
        models: Vec::new(),
        providers: vec!["anthropic".into(), "openai".into()],
        tools: None,
        download_bytes: None,
        memory_bytes: None,
        licence: None,
    };
    let found = OnboardOptionsResult {
        options: vec![paste],
        ..state.clone()
    };
    update(&mut model, reply(false, &found));
    press(&mut model, "enter down");
    update(&mut model, Event::Paste("sk-1234\n".into()));
    let effects = press(&mut model, "enter");
    let [Request::OnboardChoose(params)] = calls(&effects)[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(params.provider.as_deref(), Some("openai"));
    assert_eq!(params.key.as_deref(), Some("sk-1234"));
    assert!(!format!("{:?}", model.onboard).contains("sk-1234"));
}

fn some_block(id: u8, text: &str) -> Block {
    Block {
        id: id.to_string(),
        revision: u64::from(id),
        kind: [
            BlockKind::Text,
            BlockKind::Thinking,
            BlockKind::ToolCall,
            BlockKind::ToolOutput,
            BlockKind::Notice,
            BlockKind::Question,
        ][usize::from(id) % 6],
        run_id: None,
        status: if id.is_multiple_of(2) {
            BlockStatus::Open
        } else {
            BlockStatus::Closed
        },
        start: 0,
        text: text.into(),
        details: BlockDetails::default(),
    }
}

fn some_event(kind: u8, number: u8, text: String) -> Event {
    let specs = crate::actions::ACTIONS;
    let action = specs[usize::from(number) % specs.len()];
    let key = || {
        let key = action.keys.first().and_then(|key| Key::parse(key));
        key.unwrap_or(Key::char('x'))
    };
    match kind {
        0..=9 => Event::Key {
            key: key(),
            is_pasted: number == 7,
        },
        10..=13 => Event::Key {
            key: Key::char(text.chars().next().unwrap_or('/')),
            is_pasted: false,
        },
        14 => Event::Paste(text),
        15 => Event::Resize(usize::from(number) / 2, usize::from(number) / 6),
        16 => Event::News(News::Asked(question(&number.to_string()))),
        17 => Event::News(News::Answered {
            id: number.to_string(),
        }),
        18 => {
            let change = ListChange::Inserted { index: 0 };
            let blocks = [some_block(number, &text)];
            Event::Blocks(BlockUpdate::new(vec![change], &blocks))
        }
        19 => Event::Blocks(BlockUpdate::new(
            vec![
                ListChange::Appended {
                    index: usize::from(number),
                    text,
                },
                ListChange::Forgotten {
                    count: usize::from(number % 3),
                },
            ],
            &[],
        )),
        20 => Event::Mouse(MouseAction::WheelUp),
        21 => Event::Mouse(MouseAction::Press {
            column: 3,
            row: usize::from(number),
        }),
        22 => Event::News(News::Started {
            session: "chat:main".into(),
            run: run_id(number),
            model: text,
        }),
        23 => Event::Link(if number.is_multiple_of(2) {
            LinkState::Searching
        } else {
            LinkState::Connected
        }),
        24 => Event::Files(vec![text, "src/main.rs".into()]),
        _ => Event::Time {
            now: u64::from(number) * 1_000,
            wall_ms: 0,
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_order_of_events_panics_and_every_frame_is_clean(
        events in proptest::collection::vec((0u8..26, any::<u8>(), any::<String>()), 0..50)
    ) {
        let mut model = model();
        for (kind, number, text) in events {
            update(&mut model, some_event(kind, number, text));
            let (columns, rows) = model.size;
            let columns = u16::try_from(columns).unwrap().max(1);
            let rows = u16::try_from(rows).unwrap().max(1);
            let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
            let caret = view::draw(&mut model, &mut buffer);
            prop_assert!(caret.0 < columns && caret.1 < rows);
            for cell in &buffer.content {
                prop_assert!(!cell.symbol().chars().any(char::is_control), "{:?}", cell);
            }
        }
    }
}

#[test]
fn every_action_can_be_carried_out_anywhere() {
    for spec in crate::actions::ACTIONS {
        for screen in [
            Screen::Chat,
            Screen::Onboard,
            Screen::Runs,
            Screen::Services,
        ] {
            let mut model = model();
            model.screen = screen;
            model.act(spec.action, "");
            model.act(spec.action, "argument");
            let _ = Action::named(spec.name);
        }
    }
}

//! Tests of the append-only view: nothing twice, nothing missing.

use super::super::scenario_tests::{Happening, Session, happening};
use super::super::{BlockList, BlockRequest};
use super::*;
use proptest::prelude::*;

/// A printer that follows one run.
struct Printer {
    list: BlockList,
    text: Option<AnswerText>,
    out: Vec<AnswerOutput>,
}

impl Printer {
    fn new(session: &Session) -> Self {
        let mut list = BlockList::new(usize::MAX);
        let request = list.next_request().unwrap();
        list.apply_page(session.page(request, u64::MAX / 2), &mut Vec::new());
        Printer {
            list,
            text: None,
            out: Vec::new(),
        }
    }

    /// Applies the changes from `known` on, except those that are lost.
    fn follow(&mut self, session: &Session, known: usize, lost: bool) {
        for change in &session.changes[known..] {
            if let Some(run) = change.run_id {
                let is_other = self.text.as_ref().is_none_or(|text| text.run != run);
                if is_other {
                    self.finish();
                    self.text = Some(AnswerText::new(run, 1));
                    self.out.clear();
                }
            }
            if lost {
                continue;
            }
            let mut changes = Vec::new();
            self.list.apply_change(change.clone(), &mut changes);
            self.update(&changes);
        }
    }

    fn catch_up(&mut self, session: &Session) {
        while let Some(request) = self.list.next_request() {
            let mut changes = Vec::new();
            let page = session.page(request, u64::MAX / 2);
            self.list.apply_page(page, &mut changes);
            self.update(&changes);
        }
    }

    fn update(&mut self, changes: &[ListChange]) {
        if let Some(text) = &mut self.text {
            text.update(self.list.blocks(), changes, &mut self.out);
        }
    }

    fn finish(&mut self) {
        if let Some(text) = &mut self.text {
            text.finish(self.list.blocks(), &mut self.out);
        }
    }

    /// The text shown of each step, as somebody reads it who takes replacements at their word.
    fn shown(&self) -> Vec<(u32, String)> {
        let mut steps: Vec<(u32, String)> = Vec::new();
        for output in &self.out {
            match output {
                AnswerOutput::Replaced { step } => {
                    let last = steps.last_mut().unwrap();
                    assert_eq!(last.0, *step);
                    last.1.clear();
                }
                AnswerOutput::Show { step, kind, text } if *kind == BlockKind::Text => {
                    match steps.last_mut() {
                        Some(last) if last.0 == *step => last.1.push_str(text),
                        _ => steps.push((*step, text.clone())),
                    }
                }
                AnswerOutput::Show { .. } => {}
            }
        }
        steps
    }
}

/// The stored text of each step of a run.
fn stored(session: &Session, run: RunId) -> Vec<(u32, String)> {
    let mut steps: Vec<(u32, String)> = Vec::new();
    for block in session.all() {
        let is_text = block.kind == BlockKind::Text && block.run_id == Some(run);
        let Some(step) = block.details.step.filter(|_| is_text) else {
            continue;
        };
        match steps.last_mut() {
            Some(last) if last.0 == step => last.1.push_str(&block.text),
            _ => steps.push((step, block.text)),
        }
    }
    steps.retain(|(_, text)| !text.is_empty());
    steps
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_shown_text_is_the_stored_text(
        happenings in prop::collection::vec((happening(), prop::bool::weighted(0.15)), 1..80),
    ) {
        let mut session = Session::new();
        let mut printer = Printer::new(&session);
        for (what, lost) in happenings {
            let known = session.changes.len();
            session.happens(what);
            printer.follow(&session, known, lost);
            printer.catch_up(&session);
        }
        let known = session.changes.len();
        // A last answer, so that the run has an end that is stored.
        session.happens(Happening::Text("last".to_owned()));
        session.happens(Happening::Answer { calls: 0, differs: false });
        session.finish();
        printer.follow(&session, known, false);
        printer.list.renew();
        printer.catch_up(&session);
        printer.finish();
        let run = printer.text.as_ref().unwrap().run;
        let mut shown = printer.shown();
        // A step whose text was dropped at the end of the run stays on paper.
        let expected = stored(&session, run);
        shown.retain(|(step, _)| expected.iter().any(|(stored, _)| stored == step));
        prop_assert_eq!(shown, expected);
    }
}

fn text(out: &[AnswerOutput]) -> String {
    let texts = out.iter().map(|output| match output {
        AnswerOutput::Show { text, .. } => text.as_str(),
        AnswerOutput::Replaced { .. } => "[replaced]",
    });
    texts.collect()
}

/// A session with a run whose first attempt said `first`.
fn run_that_said(first: &str) -> (Session, Printer) {
    let mut session = Session::new();
    let mut printer = Printer::new(&session);
    session.happens(Happening::End(false));
    session.happens(Happening::Text(first.to_owned()));
    printer.follow(&session, 0, false);
    assert_eq!(text(&printer.out), first);
    (session, printer)
}

#[test]
fn the_same_text_of_a_retry_is_not_repeated() {
    let (mut session, mut printer) = run_that_said("It is ten. ");
    let known = session.changes.len();
    session.happens(Happening::Retry);
    session.happens(Happening::Text("It is".to_owned()));
    session.happens(Happening::Text(" ten. Good day.".to_owned()));
    printer.follow(&session, known, false);
    assert_eq!(text(&printer.out), "It is ten. Good day.");
}

#[test]
fn another_text_of_a_retry_replaces_the_former() {
    let (mut session, mut printer) = run_that_said("It is ten. ");
    let known = session.changes.len();
    session.happens(Happening::Retry);
    session.happens(Happening::Text("It is".to_owned()));
    printer.follow(&session, known, false);
    assert_eq!(text(&printer.out), "It is ten. ");
    let known = session.changes.len();
    session.happens(Happening::Text(" nine.".to_owned()));
    printer.follow(&session, known, false);
    assert_eq!(text(&printer.out), "It is ten. [replaced]It is nine.");
}

#[test]
fn a_shorter_answer_replaces_the_text_at_the_end_of_its_step() {
    let (mut session, mut printer) = run_that_said("It is ten. ");
    let known = session.changes.len();
    session.happens(Happening::Retry);
    session.happens(Happening::Text("It is".to_owned()));
    session.happens(Happening::Answer {
        calls: 0,
        differs: false,
    });
    printer.follow(&session, known, false);
    assert_eq!(text(&printer.out), "It is ten. [replaced]It is");
}

#[test]
fn a_reconnect_repeats_nothing() {
    let (mut session, mut printer) = run_that_said("one\n\ntwo ");
    printer.list.disconnect();
    session.happens(Happening::Text("three".to_owned()));
    assert_eq!(printer.list.next_request(), Some(BlockRequest::After(0)));
    printer.list.request_failed();
    printer.catch_up(&session);
    assert_eq!(text(&printer.out), "one\n\ntwo three");
}

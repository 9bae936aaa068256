//! What tmux says, split anywhere and among anything.

use super::*;
use proptest::prelude::*;

fn read(pieces: &[&[u8]]) -> Vec<ControlEvent> {
    let mut parser = ControlParser::default();
    let mut events = Vec::new();
    for piece in pieces {
        parser.feed(piece, &mut |event| events.push(event));
    }
    events
}

const TALK: &str = "%begin 1 279 0\n%end 1 279 0\n%session-changed $0 a\n\
    %begin 1 284 1\n120 30\n%end of the line\n%end 1 9 1\n%end 1 284 1\n\
    %layout-change @0 b25d,80x24,0,0,0 b25d,80x24,0,0,0 *\n\
    %begin 1 286 1\nparse error: unknown command: foo\n%error 1 286 1\n\
    %begin 1 287 0\n%error 1 287 0\n\
    %client-detached /dev/pts/4\n%output %0 never asked for\nnonsense\n\n%exit server exited\n";

fn talk() -> Vec<ControlEvent> {
    vec![
        ControlEvent::Attached,
        ControlEvent::Answer(Ok(vec![
            "120 30".into(),
            "%end of the line".into(),
            "%end 1 9 1".into(),
        ])),
        ControlEvent::Layout,
        ControlEvent::Answer(Err("parse error: unknown command: foo".into())),
        ControlEvent::Failed(String::new()),
        ControlEvent::Clients,
        ControlEvent::Exit(Some("server exited".into())),
    ]
}

#[test]
fn answers_are_told_from_notices_and_from_what_others_did() {
    assert_eq!(read(&[TALK.as_bytes()]), talk());
    assert_eq!(read(&[b"%exit\n"]), [ControlEvent::Exit(None)]);
}

#[test]
fn a_line_without_end_and_an_answer_without_end_are_bounded() {
    let mut parser = ControlParser::default();
    let mut none = |event| panic!("{event:?}");
    for _ in 0..100 {
        parser.feed(&[b'x'; 4096], &mut none);
    }
    assert_eq!(parser.line.len(), LINE_BYTES_MAX);
    parser.feed(b"\n%begin 1 1 1\n", &mut none);
    for _ in 0..5_000 {
        parser.feed(b"line\n", &mut none);
    }
    let mut events = Vec::new();
    parser.feed(b"%end 1 1 1\n", &mut |event| events.push(event));
    let [ControlEvent::Answer(Ok(lines))] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(lines.len(), ANSWER_LINES_MAX);
}

proptest! {
    #[test]
    fn it_does_not_matter_where_it_is_split(cuts in proptest::collection::vec(0..TALK.len(), 0..40)) {
        let mut cuts = cuts;
        cuts.push(0);
        cuts.push(TALK.len());
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &TALK.as_bytes()[pair[0]..pair[1]]).collect();
        prop_assert_eq!(read(&pieces), talk());
    }

    #[test]
    fn whatever_comes_between_the_answers_stay_in_order(
        junk in proptest::collection::vec("[^\n]{0,40}", 0..30),
        answers in proptest::collection::vec("[a-z ]{0,20}", 1..20),
    ) {
        let mut said = String::new();
        let mut junk = junk.into_iter().cycle();
        for (number, answer) in answers.iter().enumerate() {
            // A line of anything that does not itself begin an answer.
            if let Some(line) = junk.next() && !line.starts_with("%begin") {
                said.push_str(&line);
                said.push('\n');
            }
            said.extend([format!("%begin 7 {number} 1\n{answer}\n%end 7 {number} 1\n")]);
        }
        let events = read(&[said.as_bytes()]);
        let found: Vec<_> = events
            .into_iter()
            .filter_map(|event| match event {
                ControlEvent::Answer(Ok(mut lines)) => lines.pop(),
                _ => None,
            })
            .collect();
        prop_assert_eq!(found, answers);
    }

    #[test]
    fn no_bytes_end_the_parser(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        let mut parser = ControlParser::default();
        parser.feed(&bytes, &mut |_| {});
        prop_assert!(parser.line.len() <= LINE_BYTES_MAX);
    }
}

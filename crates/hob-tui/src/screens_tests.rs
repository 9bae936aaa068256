//! The rows of the screens, and what stays chosen.

use super::*;
use hob_wire::rooms::session::Session;
use serde_json::json;

fn session(number: u8, parent: Option<u8>) -> Session {
    let id = |number: u8| format!("01890a5d-ac96-774b-bcce-b302099a80{number:02x}");
    serde_json::from_value(json!({
        "id": id(number), "sessionKey": format!("chat:{number}"), "kind": "main",
        "title": format!("title\u{1b}[2J {number}"), "parent": parent.map(id),
        "messages": 4, "createdAt": 0, "updatedAt": 60_000,
    }))
    .unwrap()
}

fn sessions(list: Vec<Session>) -> ScreenData {
    ScreenData::Sessions(SessionListResult {
        sessions: list,
        next: None,
    })
}

#[test]
fn children_stand_below_their_parents() {
    let data = sessions(vec![
        session(3, Some(1)),
        session(2, None),
        session(1, None),
        session(4, Some(3)),
        session(5, Some(99)),
    ]);
    let content = content(&data, 120_000);
    let names: Vec<&str> = content
        .rows
        .iter()
        .map(|it| it.cells[0].0.as_str())
        .collect();
    assert_eq!(
        names,
        ["chat:2", "chat:1", "  └ chat:3", "    └ chat:4", "chat:5"]
    );
    assert_eq!(content.rows[0].cells[1].0, "title 2");
    assert_eq!(content.rows[0].cells[4].0, "1m");
}

#[test]
fn the_chosen_row_stays_chosen_and_the_filter_narrows() {
    let mut list = ListState::default();
    list.step(5);
    list.fill(&sessions(vec![session(1, None), session(2, None)]), 0);
    list.step(1);
    let three = vec![session(3, None), session(1, None), session(2, None)];
    list.fill(&sessions(three), 0);
    assert_eq!(list.chosen(), 2);
    assert_eq!(
        list.chosen_action(),
        Some(RowAction::OpenSession("chat:2".into()))
    );
    list.set_filter("title3");
    assert_eq!(list.rows().len(), 1);
    list.step(-10);
    assert_eq!(list.chosen(), 0);
    list.set_filter("zzz");
    assert_eq!(list.chosen_action(), None);
}

//! Sessions far longer than a window: what is shown of them, what is said about the rest, and what
//! a run that was cut off is shown when it goes on.

use super::bench::{self, World};
use super::house::{House, config, folder, results, task, thinking, until, waiting};
use super::resume::copy;
use futures_util::future::join_all;
use hob_sim::{Answer, Gate, Sim, SimRequest};
use hob_wire::Role;
use hob_wire::rooms::agent::{AgentRunParams, AgentRunResult, ContextPolicy};
use hob_wire::rooms::session::{SessionCreateParams, SessionSendParams};
use serde_json::json;
use tokio::task::coop::unconstrained;

/// Sends under way at once while a session is filled.
const SENT_AT_ONCE: u64 = 200;

async fn make(house: &House, session: &str) {
    let params = SessionCreateParams {
        session_key: Some(session.to_owned()),
        ..SessionCreateParams::default()
    };
    house.store.create_session(params).await.expect("is made");
}

/// Fills a session with turns of a question and an answer, numbered from 1.
async fn fill(house: &House, session: &str, messages: u64) {
    let all: Vec<u64> = (1..=messages).collect();
    for some in all.chunks(usize::try_from(SENT_AT_ONCE).expect("fits")) {
        let sent = some.iter().map(|number| {
            let role = match number % 2 {
                1 => Role::User,
                _ => Role::Assistant,
            };
            house.store.send_message(SessionSendParams {
                session_key: session.to_owned(),
                content: format!("message {number} {}", "word ".repeat(40))
                    .as_str()
                    .into(),
                role: Some(role),
                idempotency_key: None,
            })
        });
        // Unconstrained: tokio's budget would put some of them off, and others before them.
        let sent = unconstrained(join_all(sent)).await;
        let places = sent.into_iter().map(|sent| sent.expect("is stored").seq);
        assert!(places.is_sorted(), "they are stored in their order");
    }
}

/// The number in parentheses of the note about what was left out.
async fn said_left_out(house: &House, reply: &AgentRunResult) -> u64 {
    let notes = house.status(reply).await.notes;
    let note = notes.iter().find(|note| note.contains("were left out"));
    number_in(note.unwrap_or_else(|| panic!("a note: {notes:?}")))
}

fn number_in(text: &str) -> u64 {
    let number = text
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'));
    let number = number.and_then(|(number, _)| number.parse().ok());
    number.unwrap_or_else(|| panic!("a number in {text:?}"))
}

/// Everything a model was shown, its own new words aside.
fn shown(asked: &SimRequest) -> (String, Vec<String>) {
    let texts = asked.messages.iter().map(|said| said.text.clone());
    (asked.system.clone(), texts.collect())
}

fn first_number(asked: &SimRequest) -> u64 {
    let mut words = asked.messages[0].text.split_whitespace().skip(1);
    let number = words.next().and_then(|word| word.parse().ok());
    number.expect("a numbered message")
}

fn counting() -> Sim {
    thinking(|asked| Answer::words(asked.messages.len().to_string()))
}

#[tokio::test]
async fn with_no_window_known_one_is_assumed_and_the_rest_is_counted() {
    const MESSAGES: u64 = 6_000;
    let (folder, sim) = (folder(), counting());
    let house = House::open(folder.path(), &config(&sim, ""));
    make(&house, "a").await;
    fill(&house, "a", MESSAGES).await;
    let reply = house.run(waiting("a", "Go on.")).await;
    let asked = sim.asked().remove(0);
    let sent: usize = asked.messages.iter().map(|said| said.text.len()).sum();
    assert!((200_000..512_000).contains(&sent), "{sent} bytes were sent");
    assert_eq!(asked.messages[0].role, Role::User);
    let left_out = MESSAGES - (asked.messages.len() as u64 - 1);
    assert_eq!(first_number(&asked), left_out + 1);
    assert_eq!(said_left_out(&house, &reply).await, left_out);
    let told = asked.system.rsplit("The oldest messages").next();
    assert_eq!(number_in(told.expect("is told")), left_out);
    house.close().await;
}

#[tokio::test]
async fn what_a_fork_does_not_show_of_its_ancestors_is_counted() {
    let (folder, sim) = (folder(), counting());
    let small = format!("{}context_tokens = 20000\n", config(&sim, ""));
    let house = House::open(folder.path(), &small);
    make(&house, "a").await;
    fill(&house, "a", 400).await;
    let fork = |session: &str| AgentRunParams {
        context: Some(ContextPolicy::Fork),
        ..waiting(session, "Fork.")
    };
    // The child holds its task and its answer; a grandchild sees both and the parent's end.
    let child = house.run(fork("a")).await;
    assert_eq!(
        said_left_out(&house, &child).await,
        first_number(&sim.asked()[0]) - 1
    );
    let grandchild = house.run(fork(&child.session_key)).await;
    let asked = sim.asked().remove(1);
    assert_eq!(
        said_left_out(&house, &grandchild).await,
        first_number(&asked) - 1
    );
    assert_eq!(
        asked.messages.len() as u64,
        400 - (first_number(&asked) - 1) + 3
    );
    // A child that fills the window itself counts the parent without reading it.
    fill(&house, &child.session_key, 500).await;
    let full = house.run(waiting(&child.session_key, "Go on.")).await;
    let asked = sim.asked().remove(2);
    assert_eq!(
        said_left_out(&house, &full).await,
        400 + 2 + first_number(&asked) - 1
    );
    house.close().await;
}

#[tokio::test]
async fn a_run_cut_off_on_a_long_session_is_shown_the_same_again() {
    for begun in [0, 1] {
        let gate = Gate::new();
        let hold = gate.clone();
        let sim = thinking(move |asked| match results(asked) {
            at if at == begun => Answer::asks("pure", json!({ "n": at })).held(&hold),
            at if at < begun => Answer::asks("pure", json!({ "n": at })),
            _ => Answer::words("Done."),
        });
        let (origin, world) = (folder(), World::default());
        let small = format!("{}context_tokens = 20000\n", config(&sim, ""));
        let first = House::open(origin.path(), &small);
        make(&first, "a").await;
        fill(&first, "a", 500).await;
        bench::serve(&first, &world).await;
        first.run(task("a", "Look.")).await;
        until(|| gate.waiting() == 1).await;
        let copied = copy(origin.path());
        first.crash().await;
        gate.open();
        let second = House::open(copied.path(), &small);
        bench::serve(&second, &world).await;
        second.hears("run.completed", 1).await;
        let asked = sim.asked();
        assert_eq!(asked.len(), begun + 3, "one call was made again");
        assert_eq!(shown(&asked[begun]), shown(&asked[begun + 1]));
        assert!(
            first_number(&asked[begun]) > 1,
            "it is longer than the window"
        );
        second.close().await;
    }
}

#[tokio::test]
async fn a_run_that_sees_nothing_but_its_task_leaves_nothing_out() {
    let (folder, sim) = (folder(), counting());
    let small = format!("{}context_tokens = 4000\n", config(&sim, ""));
    let house = House::open(folder.path(), &small);
    make(&house, "a").await;
    fill(&house, "a", 300).await;
    let fresh = AgentRunParams {
        context: Some(ContextPolicy::Fresh),
        ..waiting("a", "Look.")
    };
    let reply = house.run(fresh).await;
    assert_eq!(reply.response.as_deref(), Some("1"));
    assert_eq!(house.status(&reply).await.notes, [""; 0]);
    house.close().await;
}

//! Runs that other runs start: whose they are, what they cost together, and who pays.

use super::rig::{reserve, run, step};
use crate::support::{Home, Open};
use hob_store::{BudgetScope, NewRun, ParentLink, RunRow, SpendingCeilings, StoreError};
use hob_wire::RunId;
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::{Cost, RunState};

const NOTHING: Cost = Cost {
    micro_dollars: Some(0),
    input_tokens: 0,
    output_tokens: 0,
    calls: 0,
};

/// A run that `parent` starts, in a session of its own.
fn child(parent: &RunRow, session: &str) -> NewRun {
    NewRun {
        parent_link: Some(ParentLink {
            parent: parent.id,
            label: Some(format!("about {session}")),
            children_max: 3,
        }),
        ..run(session, "help")
    }
}

fn cost(micro_dollars: Option<u64>, input_tokens: u64) -> Cost {
    Cost {
        micro_dollars,
        input_tokens,
        output_tokens: 1,
        calls: 1,
    }
}

/// Writes down what a run has cost so far.
async fn charge(store: &Open, run: &RunRow, cost: Cost) {
    let index = store.run(&run.id).await.unwrap().journal_len;
    let mut write = step(run, index, RunState::Running);
    write.summary.cost = cost;
    store.write_step(write).await.unwrap();
}

async fn children(store: &Open, run: &RunRow) -> Vec<RunId> {
    let rows = store.children(&run.id).await.unwrap();
    assert!(rows.iter().all(|row| row.parent == Some(run.id)));
    rows.iter().map(|row| row.id).collect()
}

#[tokio::test]
async fn children_are_those_of_one_run_in_the_order_they_came() {
    let home = Home::new();
    let store = home.open();
    let first = store.accept(run("first", "x")).await;
    let other = store.accept(run("other", "x")).await;
    let one = store.accept(child(&first, "one")).await;
    let strange = store.accept(child(&other, "strange")).await;
    let two = store.accept(child(&first, "two")).await;
    let below = store.accept(child(&one, "below")).await;
    assert_eq!((first.parent, one.parent), (None, Some(first.id)));
    let session = store.get_session(&SessionRef::parse("one")).await.unwrap();
    assert_eq!(session.parent, Some(first.session_id));
    assert_eq!(session.label.as_deref(), Some("about one"));
    store.close().await;

    let store = home.open();
    assert_eq!(children(&store, &first).await, [one.id, two.id]);
    assert_eq!(children(&store, &other).await, [strange.id]);
    assert_eq!(children(&store, &one).await, [below.id]);
    assert_eq!(children(&store, &two).await, []);
    // They are told as they are now, and stay when they have ended.
    store
        .write_step(step(&two, 0, RunState::Done))
        .await
        .unwrap();
    let rows = store.children(&first.id).await.unwrap();
    assert_eq!(rows[1], store.run(&two.id).await.unwrap());
    assert_eq!(rows[1].summary.state, RunState::Done);
    store.close().await;
}

#[tokio::test]
async fn a_run_has_no_more_children_than_it_may_and_none_after_its_end() {
    let home = Home::new();
    let store = home.open();
    let parent = store.accept(run("parent", "x")).await;
    for session in ["a", "b", "c"] {
        let born = store.accept(child(&parent, session)).await;
        let index = born.journal_len;
        // Those that ended count, too.
        store
            .write_step(step(&born, index, RunState::Done))
            .await
            .unwrap();
    }
    let fourth = store.accept_run(child(&parent, "d")).await.unwrap_err();
    assert!(matches!(fourth, StoreError::Conflict(_)), "{fourth:?}");
    assert!(fourth.to_string().contains("3 others"), "{fourth}");
    let missing = store.get_session(&SessionRef::parse("d")).await;
    missing.expect_err("a refused child leaves no session");

    let ended = store.whole_run("ended", "x").await;
    let late = store.accept_run(child(&ended, "late")).await.unwrap_err();
    assert!(matches!(late, StoreError::Conflict(_)), "{late:?}");
    assert!(late.to_string().contains("has ended"), "{late}");
    let nobody = RunRow {
        id: run("x", "x").id,
        ..ended
    };
    let orphan = store.accept_run(child(&nobody, "orphan")).await;
    let orphan = orphan.unwrap_err();
    assert!(matches!(orphan, StoreError::NotFound(_)), "{orphan:?}");
    store.close().await;
}

#[tokio::test]
async fn a_family_costs_what_all_below_cost_and_not_the_run_itself() {
    let home = Home::new();
    let store = home.open();
    let first = store.accept(run("first", "x")).await;
    charge(&store, &first, cost(Some(1_000), 1_000)).await;
    assert_eq!(store.descendants_cost(&first.id).await.unwrap(), NOTHING);
    let one = store.accept(child(&first, "one")).await;
    let two = store.accept(child(&first, "two")).await;
    let below = store.accept(child(&one, "below")).await;
    let stranger = store.accept(run("stranger", "x")).await;
    assert_eq!(store.descendants_cost(&first.id).await.unwrap(), NOTHING);

    charge(&store, &one, cost(Some(1), 10)).await;
    charge(&store, &below, cost(Some(20), 200)).await;
    charge(&store, &stranger, cost(Some(5_000), 5_000)).await;
    // Its price is not known, its tokens are.
    charge(&store, &two, cost(None, 3_000)).await;
    let all = Cost {
        micro_dollars: Some(21),
        input_tokens: 3_210,
        output_tokens: 3,
        calls: 3,
    };
    assert_eq!(store.descendants_cost(&first.id).await.unwrap(), all);
    let of_one = cost(Some(20), 200);
    assert_eq!(store.descendants_cost(&one.id).await.unwrap(), of_one);
    assert_eq!(store.descendants_cost(&below.id).await.unwrap(), NOTHING);
    // What is written again replaces what was there: costs are sums already.
    charge(&store, &below, cost(Some(30), 300)).await;
    let of_one = cost(Some(30), 300);
    assert_eq!(store.descendants_cost(&one.id).await.unwrap(), of_one);
    store.close().await;
}

#[tokio::test]
async fn a_cost_is_summed_over_many_generations() {
    /// More than any setting allows to be below one another.
    const GENERATIONS: u64 = 16;
    let home = Home::new();
    let store = home.open();
    let first = store.accept(run("0", "x")).await;
    let mut last = first.clone();
    for generation in 1..=GENERATIONS {
        last = store.accept(child(&last, &generation.to_string())).await;
        charge(&store, &last, cost(Some(1), 2)).await;
    }
    let all = Cost {
        micro_dollars: Some(GENERATIONS),
        input_tokens: 2 * GENERATIONS,
        output_tokens: GENERATIONS,
        calls: 16,
    };
    assert_eq!(store.descendants_cost(&first.id).await.unwrap(), all);
    store.close().await;
}

#[tokio::test]
async fn the_session_of_the_first_parent_pays() {
    let home = Home::new();
    let store = home.open();
    let first = store.accept(run("first", "x")).await;
    let one = store.accept(child(&first, "one")).await;
    let below = store.accept(child(&one, "below")).await;
    let ceilings = SpendingCeilings {
        session: Some(100),
        ..SpendingCeilings::default()
    };
    let pay = async |run: &RunRow, key: &str, amount: u64| {
        let index = store.run(&run.id).await.unwrap().journal_len;
        let mut write = step(run, index, RunState::Running);
        write.reserve = Some(reserve(key, Some(amount), ceilings));
        store.write_step(write).await
    };
    pay(&below, "b/1", 60).await.unwrap();
    pay(&one, "o/1", 30).await.unwrap();
    let over = StoreError::OverBudget {
        scope: BudgetScope::Session,
        limit: 100,
        spent: 90,
    };
    for run in [&first, &one, &below] {
        let refused = pay(run, "more", 11).await.unwrap_err();
        assert_eq!(refused, over, "{}", run.session_key);
    }
    pay(&first, "f/1", 10).await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn a_child_is_not_forgotten_while_its_parent_counts_it() {
    let home = Home::new();
    let store = home.open();
    let parent = store.accept(run("parent", "x")).await;
    let born = store.accept(child(&parent, "help")).await;
    let mut ended = step(&born, born.journal_len, RunState::Done);
    ended.summary.cost = cost(Some(7), 3);
    store.write_step(ended).await.unwrap();
    let session = SessionRef::parse("help");
    let refused = store.delete_session(&session).await.unwrap_err();
    assert!(matches!(refused, StoreError::Conflict(_)), "{refused:?}");
    let family = store.descendants_cost(&parent.id).await.unwrap();
    assert_eq!(family.micro_dollars, Some(7));

    let index = store.run(&parent.id).await.unwrap().journal_len;
    let over = step(&parent, index, RunState::Done);
    store.write_step(over).await.unwrap();
    store.delete_session(&session).await.unwrap();
    store.close().await;
}

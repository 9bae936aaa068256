//! A loop that a real language model answers.

use super::{builder, patiently};
use crate::loops::{assert_whole, history, show};

#[test]
fn a_real_model_answers_a_loop_and_is_shown_its_own_words() {
    let house = builder().start();
    house.hob(&["service", "install", "llm", "--yes"]).success();
    std::fs::write(house.work().join("weather.txt"), "Sunny.\n").expect("a file");
    let line = "hob loop create talk --task 'Name the capital of France.' --no-tools --every 1s \
                --max 2 --monitor 'cat weather.txt' --budget-tokens 4000 --start";
    house.shell(line).success();
    patiently("two answers", || {
        show(&house, "talk")["state"]["running"] == false
    });
    let ended = show(&house, "talk");
    assert_eq!(ended["state"]["stopped"], "max-iterations", "{ended}");
    let said = history(&house, "talk");
    assert_whole(&said);
    assert_eq!(said.len(), 2);
    for one in &said {
        assert_eq!(one["success"], true, "{one}");
        assert!(
            one["response"]
                .as_str()
                .is_some_and(|it| !it.trim().is_empty()),
            "{one}"
        );
        assert!(
            one["prompt"]
                .as_str()
                .is_some_and(|it| it.contains("Sunny.")),
            "{one}"
        );
    }
    let first = said[0]["response"].as_str().unwrap_or_default().trim();
    let second = said[1]["prompt"].as_str().unwrap_or_default();
    let head: String = first.chars().take(40).collect();
    assert!(
        second.contains("# Previous Response") && second.contains(&head),
        "{second}"
    );
}

//! Everyday questions to the demo model. What it says is often wrong; what counts is that no answer
//! is longer than its cap and none repeats a line three times.

use super::{builder, rpc};
use crate::support::House;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The cap of an answer, in tokens.
const TOKENS_MAX: u64 = 256;

const QUESTIONS: [&str; 50] = [
    "What is the capital of France?",
    "What is the capital of Italy?",
    "Who wrote Romeo and Juliet?",
    "How many days are in a leap year?",
    "What is 7 times 8?",
    "How do I boil an egg?",
    "What is photosynthesis?",
    "Name three rivers in Europe.",
    "What is the largest planet in the solar system?",
    "How do I tie a tie?",
    "What does HTTP stand for?",
    "Why is the sky blue?",
    "Write a haiku about autumn.",
    "What is the difference between weather and climate?",
    "Give me five ideas for dinner.",
    "How do I remove a coffee stain?",
    "What is the boiling point of water?",
    "Translate \"good morning\" into French.",
    "Who painted the Mona Lisa?",
    "What is a prime number?",
    "How do I write a cover letter?",
    "Explain gravity to a child.",
    "What is the speed of light?",
    "List the planets of the solar system.",
    "How many continents are there?",
    "What is the tallest mountain in the world?",
    "What should I pack for a weekend trip?",
    "How do I sleep better?",
    "What is inflation?",
    "What is a good name for a cat?",
    "How do vaccines work?",
    "Write a short birthday message for my mother.",
    "What is the opposite of cold?",
    "How do I make pancakes?",
    "What is the Python language used for?",
    "How do I list files in Linux?",
    "What is an API?",
    "Tell me a joke.",
    "What is the currency of Japan?",
    "When did the Second World War end?",
    "How do I learn to play the guitar?",
    "What are the primary colours?",
    "What is machine learning?",
    "How far away is the moon?",
    "What do bees do?",
    "Summarise the story of Cinderella.",
    "What is a healthy breakfast?",
    "How do I save money?",
    "What is the meaning of life?",
    "What's my uptime?",
];

/// How the answers ended.
#[derive(Debug, Default)]
struct Figures {
    answered: usize,
    cut: usize,
    ended_by_guard: usize,
    tokens: u64,
    most_tokens: u64,
}

#[test]
fn fifty_everyday_questions_stay_within_the_cap_and_repeat_no_line_three_times() {
    let house = builder().start();
    house.hob(&["service", "install", "llm", "--yes"]).success();
    let mut figures = Figures::default();
    for (number, question) in QUESTIONS.iter().enumerate() {
        ask(&house, number, question, &mut figures);
    }
    eprintln!("{figures:?}");
    assert_eq!(figures.answered + figures.ended_by_guard, QUESTIONS.len());
}

fn ask(house: &House, number: usize, question: &str, figures: &mut Figures) {
    let session = format!("everyday:{number}");
    let ended = house.hob(&["ask", "--session", &session, question]);
    assert!(
        ended.stderr.contains("is a demo model"),
        "it says so before it answers: {ended:?}"
    );
    match ended.code {
        Some(0) => figures.answered += 1,
        Some(8) => figures.ended_by_guard += 1,
        _ => panic!("{question}: {ended:?}"),
    }
    let run = rpc(house, "agent.status", &json!({ "sessionKey": session }));
    let tokens = run["cost"]["outputTokens"].as_u64().expect("a count");
    assert!(tokens <= TOKENS_MAX, "{question}: {tokens} tokens");
    let notes = run["notes"].as_array().cloned().unwrap_or_default();
    let is_cut = |note: &Value| note.as_str().is_some_and(|note| note.contains("was cut"));
    figures.cut += usize::from(notes.iter().any(is_cut));
    figures.tokens += tokens;
    figures.most_tokens = figures.most_tokens.max(tokens);
    let mut lines: BTreeMap<&str, u32> = BTreeMap::new();
    let said = ended.stdout.lines().map(str::trim);
    for line in said.filter(|line| !line.is_empty() && !line.starts_with("```")) {
        *lines.entry(line).or_default() += 1;
    }
    let often = lines.iter().find(|(_, times)| **times >= 3);
    assert!(
        often.is_none(),
        "{question}: {often:?} in:\n{}",
        ended.stdout
    );
}

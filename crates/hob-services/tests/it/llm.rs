//! What is found of a local model, in which order.

use crate::rig::{Rig, serve, settings_of};
use hob_services::FoundService;
use hob_services::install::{InstallRecipe, InstallSite};

const LLAMA: &[(&str, &str)] = &[(
    "/v1/models",
    r#"{"object":"list","data":[{"id":"qwen3","owned_by":"llamacpp"}]}"#,
)];
const OLLAMA: &[(&str, &str)] = &[
    (
        "/v1/models",
        r#"{"object":"list","data":[{"id":"nomic-embed-text","owned_by":"library"},{"id":"llama3:8b","owned_by":"library"}]}"#,
    ),
    ("/api/version", r#"{"version":"0.12.0"}"#),
];
const LM_STUDIO: &[(&str, &str)] = &[
    (
        "/v1/models",
        r#"{"data":[{"id":"vectors","owned_by":"organization_owner"},{"id":"gemma"}]}"#,
    ),
    (
        "/api/v0/models",
        r#"{"data":[{"id":"vectors","type":"embeddings","state":"loaded"},{"id":"phi","type":"llm","state":"not-loaded"},{"id":"gemma","type":"vlm","state":"loaded"}]}"#,
    ),
];
/// Speaks the same protocol, and is none of those that are looked for.
const OTHER: &[(&str, &str)] = &[(
    "/v1/models",
    r#"{"data":[{"id":"gpt","owned_by":"someone"}]}"#,
)];
const EMPTY: &[(&str, &str)] = &[
    ("/v1/models", r#"{"data":[]}"#),
    ("/api/version", r#"{"version":"0.12.0"}"#),
];

fn servers(addresses: &[&str]) -> String {
    format!("[llm]\nservers = {addresses:?}\n")
}

#[tokio::test]
async fn a_running_server_is_known_by_what_it_answers() {
    let rig = Rig::new(&[]);
    for (answers, kind, name) in [
        (LLAMA, "llama-server", "qwen3"),
        (OLLAMA, "Ollama 0.12.0", "llama3:8b"),
        (LM_STUDIO, "LM Studio", "gemma"),
    ] {
        let address = serve(answers);
        let expected = FoundService::Running {
            url: format!("http://{address}"),
            what: format!("{kind} at {address}"),
            model: Some(name.to_owned()),
        };
        assert_eq!(rig.find(&servers(&[&address])).await, expected);
    }
}

#[tokio::test]
async fn the_first_that_has_a_model_is_taken_and_others_are_left_alone() {
    let rig = Rig::new(&[]);
    let (other, empty, llama) = (serve(OTHER), serve(EMPTY), serve(LLAMA));
    let text = servers(&["127.0.0.1:1", &other, &empty, &llama]);
    let found = rig.find(&text).await;
    assert!(matches!(found, FoundService::Running { url, .. } if url == format!("http://{llama}")));
    let found = rig.find(&servers(&[&other, &empty])).await;
    let FoundService::Missing { why } = found else {
        panic!("{found:?}")
    };
    assert!(why.contains("hob service install llm"), "{why}");
}

#[tokio::test]
async fn a_llama_server_on_the_path_runs_what_the_person_has() {
    let rig = Rig::new(&[]);
    std::fs::create_dir(rig.path("models")).expect("made");
    std::fs::write(rig.path("models/tiny-chat.gguf"), "GGUF").expect("written");
    let nothing = servers(&[]);
    // A model alone is no server.
    assert!(matches!(
        rig.find(&nothing).await,
        FoundService::Missing { .. }
    ));
    let program = rig.program("llama-server", "");
    let found = rig.find(&nothing).await;
    let FoundService::Command {
        argv,
        model,
        modest,
        ..
    } = found
    else {
        panic!("{found:?}")
    };
    assert_eq!(argv[0], program);
    assert!(argv.contains(&"{port}".into()), "{argv:?}");
    assert!(argv.contains(&rig.path("models/tiny-chat.gguf").into()));
    assert_eq!((model.as_deref(), modest), (Some("tiny-chat"), false));
}

#[tokio::test]
async fn the_file_a_person_names_is_what_they_get_or_a_sentence() {
    let rig = Rig::new(&[]);
    let running = serve(LLAMA);
    rig.program("llama-server", "");
    let with = |model: &str| format!("[llm]\nmodel = {model:?}\nservers = [{running:?}]\n");
    let file = rig.path("big.gguf");
    let found = rig.find(&with(&file.display().to_string())).await;
    let FoundService::Missing { why } = found else {
        panic!("{found:?}")
    };
    assert!(why.contains("there is no such file"), "{why}");
    std::fs::write(&file, "GGUF").expect("written");
    for named in [file.display().to_string(), "~/big.gguf".to_owned()] {
        let found = rig.find(&with(&named)).await;
        assert!(
            matches!(&found, FoundService::Command { argv, .. } if argv.contains(&file.clone().into())),
            "{found:?}"
        );
    }
    let found = rig.find(&with("big.gguf")).await;
    assert!(matches!(found, FoundService::Missing { why } if why.contains("whole path")));
}

/// A home in which an installation lies.
fn installed(rig: &Rig, python: &str) {
    let folder = InstallSite::new(rig.home.service("llm")).installed();
    std::fs::create_dir_all(&folder).expect("made");
    let text = format!(r#"{{"fingerprint":"x","notes":{{"python":"{python}"}}}}"#);
    std::fs::write(folder.join(".recipe"), text).expect("written");
}

#[tokio::test]
async fn what_was_installed_is_started_with_the_modest_model_or_the_named_one() {
    let rig = Rig::new(&[]);
    installed(&rig, "/bin/sh");
    let found = rig.find(&servers(&[])).await;
    let FoundService::Command {
        argv,
        env,
        model,
        modest,
        ..
    } = found
    else {
        panic!("{found:?}")
    };
    assert_eq!(
        (argv[0].to_str(), argv[2].to_str()),
        (Some("/bin/sh"), Some("{port}"))
    );
    assert_eq!(
        (model.as_deref(), modest),
        (Some("SmolLM2-135M-Instruct"), true)
    );
    let library = rig.home.service("llm").join("installed/python");
    assert!(
        env.contains(&("PYTHONPATH".into(), library.into())),
        "{env:?}"
    );
    let file = rig.path("big.gguf");
    std::fs::write(&file, "GGUF").expect("written");
    let text = format!("[llm]\nmodel = {:?}\n", file.display().to_string());
    let found = rig.find(&text).await;
    let FoundService::Command {
        argv,
        model,
        modest,
        ..
    } = found
    else {
        panic!("{found:?}")
    };
    assert_eq!(argv[3], file);
    assert_eq!((model.as_deref(), modest), (Some("big"), false));
}

#[tokio::test]
async fn another_python_steps_in_when_the_one_it_was_installed_with_is_gone() {
    let rig = Rig::new(&[]);
    installed(&rig, "/gone/python3");
    let found = rig.find(&servers(&[])).await;
    assert!(
        matches!(&found, FoundService::Missing { why } if why.contains("/gone/python3")),
        "{found:?}"
    );
    rig.program("python3", "echo hob 3 9 pip /old/python3");
    rig.program("python3.12", "echo hob 3 12 none /new/python3.12");
    let found = rig.find(&servers(&[])).await;
    assert!(
        matches!(&found, FoundService::Command { argv, .. } if argv[0] == "/new/python3.12"),
        "{found:?}"
    );
}

async fn recipe(rig: &Rig) -> Result<InstallRecipe, String> {
    let settings = settings_of("");
    let install = hob_services::llm::ENTRY.install.expect("it is installed");
    install(&rig.place(&settings)).await
}

#[tokio::test]
async fn without_python_or_pip_the_obstacle_is_said_with_what_to_do() {
    let rig = Rig::new(&[]);
    rig.program("apt-get", "");
    let why = recipe(&rig).await.expect_err("no Python");
    assert!(why.contains("Python 3.10 or newer"), "{why}");
    assert!(why.contains("sudo apt-get install python3."), "{why}");
    assert!(
        why.contains("Ollama") && why.contains("ANTHROPIC_API_KEY"),
        "{why}"
    );
    rig.program("python3", "echo hob 3 11 none /usr/bin/python3");
    let why = recipe(&rig).await.expect_err("no pip");
    assert!(why.contains("sudo apt-get install python3-pip."), "{why}");
    rig.program("python3.13", "echo hob 3 13 pip /usr/bin/python3.13");
    let recipe = recipe(&rig).await.expect("Python with pip");
    assert_eq!(
        recipe.notes,
        [("python".to_owned(), "/usr/bin/python3.13".to_owned())]
    );
}

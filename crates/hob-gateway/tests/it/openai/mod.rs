//! The OpenAI surface, with a fake agent.

pub(crate) mod agent;

use crate::house::{Answer, House, PATIENCE, exchange, parse};
use agent::Agent;
use hob_wire::content::Role;
use hob_wire::rooms::tool::Tier;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn wish(wish: &str, more: &Value) -> Value {
    let mut body = json!({ "model": "sim/one", "messages": [{ "role": "user", "content": wish }] });
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    body
}

fn request(house: &House, token: &str, body: &Value) -> String {
    let body = body.to_string();
    // Version 1.0, so that a stream comes as it is, ended by its connection.
    format!(
        "POST /v1/chat/completions HTTP/1.0\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        house.host(),
        body.len()
    )
}

async fn ask(house: &House, token: &str, body: &Value) -> Answer {
    exchange(&house.host(), request(house, token, body).as_bytes()).await
}

/// Sends a request and leaves the answer to be read.
async fn open(house: &House, body: &Value) -> TcpStream {
    let mut client = TcpStream::connect(house.host()).await.unwrap();
    let text = request(house, &house.owner(), body);
    client.write_all(text.as_bytes()).await.unwrap();
    client
}

/// Reads until `word` has come.
async fn read_to(client: &mut TcpStream, word: &str) -> Vec<u8> {
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(word) {
        let read = tokio::time::timeout(PATIENCE, client.read_buf(&mut seen)).await;
        assert_ne!(read.expect("it goes on").unwrap(), 0);
    }
    seen
}

/// The events of a stream; those that are not JSON as texts.
fn events(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let kind = answer.header("content-type").unwrap();
    assert!(kind.starts_with("text/event-stream"));
    let text = answer.text();
    let events = text.trim_end().split("\n\n");
    events
        .map(|event| {
            let data = event.strip_prefix("data: ").unwrap();
            serde_json::from_str(data).unwrap_or_else(|_| json!(data))
        })
        .collect()
}

fn contents(events: &[Value]) -> String {
    let deltas = events
        .iter()
        .map(|event| &event["choices"][0]["delta"]["content"]);
    deltas.filter_map(Value::as_str).collect()
}

#[tokio::test]
async fn a_completion_comes_whole_or_as_a_stream() {
    let house = House::new().await;
    let agent = Agent::move_in(&house);
    let (_, token) = house.token("chat", None).await;
    let answer = ask(&house, &token, &wish("hello", &json!({}))).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let whole = answer.json();
    assert_eq!(whole["object"], "chat.completion");
    assert_eq!(whole["choices"][0]["message"]["content"], "Hello");
    assert_eq!(whole["usage"]["total_tokens"], 5);
    let more = json!({ "stream": true, "stream_options": { "include_usage": true } });
    let streamed = events(&ask(&house, &token, &wish("hello", &more)).await);
    assert_eq!(streamed[0]["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(streamed[1]["choices"][0]["delta"]["content"], "Hel");
    assert_eq!(streamed[2]["choices"][0]["delta"]["content"], "lo");
    assert_eq!(streamed[3]["choices"][0]["finish_reason"], "stop");
    assert_eq!(streamed[4]["usage"]["total_tokens"], 5);
    assert_eq!(streamed[5], "[DONE]");
    let asked = agent.last_chat();
    assert_eq!(asked.model.as_deref(), Some("sim/one"));
    assert_eq!((asked.tools.len(), asked.ceiling), (0, Some(Tier::Read)));
    assert_eq!(asked.messages[0].role, Role::User);
    assert!(agent.aborted.lock().unwrap().is_empty());
    house.stop().await;
}

#[tokio::test]
async fn a_stream_whose_deltas_are_all_lost_is_whole() {
    let house = House::new().await;
    Agent::move_in(&house);
    let (_, token) = house.token("chat", None).await;
    let body = wish("lost", &json!({ "stream": true }));
    let streamed = events(&ask(&house, &token, &body).await);
    assert_eq!(contents(&streamed), "First.\n\nHello");
    house.stop().await;
}

#[tokio::test]
async fn hob_has_tools_of_its_own_as_far_as_the_token_reaches() {
    let house = House::new().await;
    let agent = Agent::move_in(&house);
    let hob = |more: Value| {
        let mut body = wish("hello", &more);
        body["model"] = json!("hob");
        body
    };
    let (_, token) = house.token("chat", None).await;
    ask(&house, &token, &hob(json!({}))).await;
    let asked = agent.last_chat();
    assert_eq!((asked.model, asked.tools), (None, vec!["time".to_owned()]));
    let theirs = json!({ "type": "function", "function": { "name": "time" } });
    ask(&house, &token, &hob(json!({ "tools": [theirs] }))).await;
    let asked = agent.last_chat();
    assert_eq!((asked.tools.len(), asked.client_tools.len()), (0, 1));
    ask(&house, &house.owner(), &hob(json!({}))).await;
    let asked = agent.last_chat();
    assert_eq!((asked.tools.len(), asked.ceiling), (2, None));
    house.stop().await;
}

#[tokio::test]
async fn calls_are_the_clients_to_run() {
    let house = House::new().await;
    Agent::move_in(&house);
    let owner = house.owner();
    let tools = json!([{ "type": "function", "function": { "name": "add" } }]);
    let whole = ask(&house, &owner, &wish("call", &json!({ "tools": tools }))).await;
    let choice = &whole.json()["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["tool_calls"][1]["id"], "two");
    let more = json!({ "tools": tools, "stream": true, "parallel_tool_calls": false });
    let streamed = events(&ask(&house, &owner, &wish("call", &more)).await);
    let calls: Vec<&Value> = streamed
        .iter()
        .map(|event| &event["choices"][0]["delta"]["tool_calls"][0])
        .filter(|call| !call.is_null())
        .collect();
    assert_eq!(calls[0]["function"]["name"], "add");
    assert_eq!(calls[1]["function"]["arguments"], "{\"x\":1}");
    assert_eq!(calls.len(), 2);
    house.stop().await;
}

#[tokio::test]
async fn a_session_takes_the_last_user_message() {
    let house = House::new().await;
    let agent = Agent::move_in(&house);
    let (_, token) = house.token("chat", None).await;
    for stream in [false, true] {
        let body = json!({
            "model": "hob", "stream": stream, "metadata": { "session": "chat:main" },
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": "first" },
                { "role": "assistant", "content": "well" },
                { "role": "user", "content": [{ "type": "text", "text": "second" }] },
            ],
        });
        let answer = ask(&house, &token, &body).await;
        let said = if stream {
            contents(&events(&answer))
        } else {
            let content = &answer.json()["choices"][0]["message"]["content"];
            content.as_str().unwrap().to_owned()
        };
        assert_eq!(said, "Hello there");
        let asked = agent.runs.lock().unwrap().last().unwrap().clone();
        assert_eq!(
            (asked.session_key.as_str(), asked.task.as_str()),
            ("chat:main", "second")
        );
        assert_eq!(asked.ceiling, Some(Tier::Read));
    }
    assert!(agent.chats.lock().unwrap().is_empty());
    let tools = json!([{ "type": "function", "function": { "name": "add" } }]);
    let more = json!({ "metadata": { "session": "chat:main" }, "tools": tools });
    let answer = ask(&house, &token, &wish("hello", &more)).await;
    assert_eq!(
        (answer.status, &answer.json()["error"]["param"]),
        (400, &json!("tools"))
    );
    house.stop().await;
}

#[tokio::test]
async fn failures_are_statuses_until_the_first_word() {
    let house = House::new().await;
    let agent = Agent::move_in(&house);
    let owner = house.owner();
    let cases = [
        ("fail", 502, "model_failed"),
        ("full", 429, "rate_limit_exceeded"),
        ("poor", 429, "insufficient_quota"),
        ("unknown", 404, "model_not_found"),
    ];
    for (what, status, code) in cases {
        for stream in [false, true] {
            let answer = ask(&house, &owner, &wish(what, &json!({ "stream": stream }))).await;
            assert_eq!((answer.status, answer.code()), (status, code.to_owned()));
            let wait = (what == "full").then_some("3");
            assert_eq!(answer.header("retry-after"), wait, "{what}");
            let final_word = (what == "poor").then_some("false");
            assert_eq!(answer.header("x-should-retry"), final_word, "{what}");
        }
    }
    let mut client = open(&house, &wish("break", &json!({ "stream": true }))).await;
    let mut seen = read_to(&mut client, "Hel").await;
    agent.stop.notify_waiters();
    client.read_to_end(&mut seen).await.unwrap();
    let streamed = events(&parse(&seen));
    assert_eq!(contents(&streamed), "Hel");
    let last = &streamed.last().unwrap()["error"];
    assert_eq!(
        (&last["message"], &last["type"]),
        (&json!("It broke."), &json!("server_error"))
    );
    assert!(agent.aborted.lock().unwrap().is_empty());
    house.stop().await;
}

#[tokio::test]
async fn refusals_before_the_surface_have_its_form() {
    let house = House::new().await;
    Agent::move_in(&house);
    let (_, reader) = house.token("read", None).await;
    let hello = wish("hello", &json!({}));
    let wrong = ask(&house, "wrong", &hello).await;
    assert_eq!(
        (wrong.status, wrong.code()),
        (401, "invalid_api_key".to_owned())
    );
    assert!(wrong.header("www-authenticate").is_some());
    assert_eq!(wrong.json()["error"]["type"], "invalid_request_error");
    let weak = ask(&house, &reader, &hello).await;
    assert_eq!(
        (weak.status, weak.code()),
        (403, "insufficient_permissions".to_owned())
    );
    let bearer = format!("Authorization: Bearer {reader}");
    let nowhere = house.get("/v1/nowhere", &[&bearer]).await;
    assert_eq!(
        (nowhere.status, nowhere.code()),
        (404, "not_found".to_owned())
    );
    let method = house.get("/v1/chat/completions", &[&bearer]).await;
    assert_eq!((method.status, method.header("allow")), (405, Some("POST")));
    assert!(method.json()["error"]["message"].is_string());
    let foreign = house
        .get("/v1/models", &[&bearer, "Origin: http://evil.example"])
        .await;
    assert_eq!(
        (foreign.status, foreign.code()),
        (403, "insufficient_permissions".to_owned())
    );
    let bad = request(&house, &house.owner(), &json!(5)).replace("\r\n\r\n5", "\r\n\r\n{");
    let bad = house.send(&bad).await;
    assert_eq!((bad.status, bad.code()), (400, "invalid_json".to_owned()));
    let large = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\nConnection: close\r\n\r\n",
        house.host(),
        house.owner()
    );
    assert_eq!(house.send(&large).await.status, 413);
    house.stop().await;
}

#[tokio::test]
async fn models_are_listed_and_found() {
    let house = House::new().await;
    Agent::move_in(&house);
    let (_, reader) = house.token("read", None).await;
    let bearer = format!("Authorization: Bearer {reader}");
    let listed = house.get("/v1/models", &[&bearer]).await.json();
    let ids: Vec<&Value> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["id"])
        .collect();
    assert_eq!(
        (&listed["object"], ids),
        (&json!("list"), vec![&json!("hob"), &json!("sim/one")])
    );
    for (path, owner) in [
        ("hob", "hob"),
        ("sim/one", "sim"),
        ("sim%2Fone", "sim"),
        ("fast", "hob"),
    ] {
        let found = house.get(&format!("/v1/models/{path}"), &[&bearer]).await;
        assert_eq!(found.json()["owned_by"], owner, "{path}");
    }
    let missing = house.get("/v1/models/sim/two", &[&bearer]).await;
    assert_eq!(
        (missing.status, missing.code()),
        (404, "model_not_found".to_owned())
    );
    house.stop().await;
}

/// Waits until the agent was told to stop a chat, and that it was the last one.
async fn stopped(agent: &Agent) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while agent.aborted.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waited.await.expect("the run is stopped");
    let chat = agent.last_chat().chat_id;
    assert_eq!(*agent.aborted.lock().unwrap(), [chat]);
}

#[tokio::test]
async fn a_client_that_hangs_up_stops_its_run() {
    for (what, stream) in [("hang", true), ("hang", false), ("silent", true)] {
        let house = House::new().await;
        let agent = Agent::move_in(&house);
        let body = wish(what, &json!({ "stream": stream }));
        let mut client = open(&house, &body).await;
        if what == "hang" && stream {
            read_to(&mut client, "Once").await;
        } else {
            let asked = tokio::time::timeout(PATIENCE, async {
                while agent.chats.lock().unwrap().is_empty() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            });
            asked.await.expect("the agent is asked");
        }
        drop(client);
        stopped(&agent).await;
        house.stop().await;
    }
}

#[tokio::test]
async fn a_revoked_token_ends_its_stream() {
    let house = House::new().await;
    let agent = Agent::move_in(&house);
    let (id, token) = house.token("chat", None).await;
    let body = wish("hang", &json!({ "stream": true }));
    let asking = ask(&house, &token, &body);
    let revoking = async {
        while agent.chats.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let answer = house
            .rpc(&house.owner(), "token.revoke", &json!({ "token": id }))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    let (answer, ()) = tokio::join!(asking, revoking);
    assert!(
        answer.status == 401 || answer.text().contains("revoked"),
        "{answer:?}"
    );
    stopped(&agent).await;
    house.stop().await;
}

#[tokio::test]
async fn no_request_timeout_cuts_an_answer_however_long_it_takes() {
    let config = "gateway.request_timeout = \"50ms\"";
    let house = House::with(config, Some("127.0.0.1:0")).await.unwrap();
    let agent = Agent::move_in(&house);
    for (what, stream) in [
        ("slow", true),
        ("slow", false),
        ("silent", true),
        ("silent", false),
    ] {
        agent.chats.lock().unwrap().clear();
        let body = wish(what, &json!({ "stream": stream }));
        let token = house.owner();
        let answer = ask(&house, &token, &body);
        let later = async {
            while agent.chats.lock().unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            // Several looks of whoever ends silence.
            tokio::time::sleep(Duration::from_millis(800)).await;
            agent.stop.notify_waiters();
        };
        let (answer, ()) = tokio::join!(answer, later);
        assert_eq!(answer.status, 200, "{what} {stream}: {}", answer.text());
        assert!(!answer.text().contains("error"), "{}", answer.text());
        assert!(
            agent.aborted.lock().unwrap().is_empty(),
            "nothing was stopped"
        );
    }
    house.stop().await;
}

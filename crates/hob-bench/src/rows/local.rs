//! The local model through hob's `/v1/chat/completions`, against the same server asked directly:
//! how many tokens a second, and how much later the first one comes.

use crate::daemon::{BenchHome, ServerProcess};
use crate::measure::{LatencySamples, RoundPairs, rate};
use crate::peer::BusPeer;
use crate::report::{BenchGoal, BenchRow};
use crate::stream::{self, StampedPiece, StreamTarget, wall_us};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::time::Duration;

pub(crate) const NOTE: &str = "the model hob installs (135M, on this machine's cores), kept running by hob; both sides read it with one raw client, at temperature 0, and every answer of hob is word for word that of the server. Another question each round, so that neither side finds it half answered; rounds alternate.";

/// The system text hob sends to the small model.
const SYSTEM: &str = "You are a helpful assistant.";
const ROUNDS: usize = 15;
const TOKENS: usize = 96;
const SERVER: &str = "the server itself";
const INSTALL_PATIENCE: Duration = Duration::from_mins(10);
const INSTALL_LOOK: Duration = Duration::from_millis(200);

pub(crate) async fn run(quick: bool) -> Result<Vec<BenchRow>> {
    let local = LocalServers::start().await?;
    let (mut hob, mut bare) = (LatencySamples::default(), LatencySamples::default());
    let mut speed = RoundPairs::default();
    // The first question warms the server up.
    local.ask(&local.bare, 0).await?;
    for round in 0..if quick { 2 } else { ROUNDS } {
        // Each side is first in every other round: the second finds the question in a cache.
        let (direct, through) = if round % 2 == 0 {
            let direct = local.ask(&local.bare, 2 * round + 1).await?;
            (direct, local.ask(&local.hob, 2 * round + 2).await?)
        } else {
            let through = local.ask(&local.hob, 2 * round + 1).await?;
            (local.ask(&local.bare, 2 * round + 2).await?, through)
        };
        bare.push(direct.first);
        hob.push(through.first);
        speed.push(direct.rate, through.rate);
    }
    local.check_words().await?;
    Ok(vec![
        BenchRow {
            name: "local model, tokens".to_owned(),
            unit: "/s",
            hob: speed.hob(),
            yardstick: Some(speed.yardstick()),
            yardstick_name: SERVER,
            goal: Some(BenchGoal::RatioAtLeast(0.97)),
        },
        BenchRow {
            name: "local model, first token, p50".to_owned(),
            unit: "ms",
            hob: hob.percentile_ms(50),
            yardstick: Some(bare.percentile_ms(50)),
            yardstick_name: SERVER,
            goal: Some(BenchGoal::AddedAtMost(5.0)),
        },
    ])
}

/// One answer.
struct LocalAnswer {
    first: Duration,
    /// Tokens a second after the first.
    rate: f64,
    text: String,
}

/// The model's server, and hob in front of it.
struct LocalServers {
    bare: StreamTarget,
    hob: StreamTarget,
    _alive: (BenchHome, ServerProcess),
}

impl LocalServers {
    async fn start() -> Result<Self> {
        let home = BenchHome::new()?;
        // Only the model of hob's own: another server of this machine is another measurement.
        std::fs::write(home.path().join("config.toml"), "[llm]\nservers = []\n")?;
        let daemon = home.start()?;
        let token = home.token()?;
        let url = format!("ws://{}/ws", daemon.address);
        let mut peer = BusPeer::connect(&url, Some(&token)).await?;
        install(&mut peer).await?;
        let params = json!({ "name": "llm", "wait": true });
        let started = peer.call("service.start", params).await?;
        let port = started["port"].as_u64().context("a port")?;
        let models = peer
            .call("model.list", json!({ "provider": "llm" }))
            .await?;
        let model = models["models"][0]["name"].as_str().context("a model")?;
        let bare = StreamTarget {
            address: format!("127.0.0.1:{port}"),
            token: None,
            model: model.to_owned(),
            stamps_begin_us: 0,
        };
        let hob = StreamTarget {
            address: daemon.address.clone(),
            token: Some(token),
            model: format!("llm/{model}"),
            stamps_begin_us: 0,
        };
        Ok(LocalServers {
            bare,
            hob,
            _alive: (home, daemon),
        })
    }

    /// Asks one side; both are sent the same words.
    async fn ask(&self, target: &StreamTarget, number: usize) -> Result<LocalAnswer> {
        let question = format!("Write about the number {number} and what it is used for.");
        let body = json!({
            "temperature": 0,
            "max_tokens": TOKENS,
            "messages": [
                { "role": "system", "content": SYSTEM },
                { "role": "user", "content": question },
            ],
        });
        let begun_us = wall_us();
        let pieces = stream::ask(target, body).await?;
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else {
            anyhow::bail!("{} said nothing", target.model);
        };
        let generating = Duration::from_micros(last.at_us.saturating_sub(first.at_us));
        ensure!(
            pieces.len() > TOKENS / 4,
            "it said only {} pieces",
            pieces.len()
        );
        Ok(LocalAnswer {
            first: Duration::from_micros(first.at_us.saturating_sub(begun_us)),
            rate: rate(pieces.len() - 1, generating),
            text: text(&pieces),
        })
    }

    /// Both sides say the same to the same question, or they were not asked the same.
    async fn check_words(&self) -> Result<()> {
        let direct = self.ask(&self.bare, 7).await?.text;
        let through = self.ask(&self.hob, 7).await?.text;
        ensure!(
            direct == through,
            "the server said {direct:?} and hob {through:?}"
        );
        Ok(())
    }
}

fn text(pieces: &[StampedPiece]) -> String {
    pieces.iter().map(|piece| piece.said.as_str()).collect()
}

async fn install(peer: &mut BusPeer) -> Result<()> {
    let params = json!({ "name": "llm", "yes": true });
    peer.call("service.install", params).await?;
    let installed = async {
        loop {
            let listed = peer.call("service.list", json!({})).await?;
            let services = listed["services"].as_array().context("services")?;
            let llm = services.iter().find(|service| service["name"] == "llm");
            let llm = llm.cloned().unwrap_or(Value::Null);
            ensure!(
                llm["installation"]["state"] != "failed",
                "{}",
                llm["installation"]
            );
            if llm["installed"] == true {
                return Ok(());
            }
            tokio::time::sleep(INSTALL_LOOK).await;
        }
    };
    tokio::time::timeout(INSTALL_PATIENCE, installed).await?
}

//! A request routed to a service and back, against a relay that reads nothing: the same client
//! and the same service over the same two hops.

use crate::daemon::{BenchHome, start_role};
use crate::measure::{LatencySamples, RoundPairs, rate};
use crate::peer::{BusPeer, request};
use crate::report::{BenchGoal, BenchRow};
use anyhow::Result;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const IN_FLIGHT: usize = 64;
/// Rounds of hob and relay alternate, so that both meet the same noise.
const ROUNDS: usize = 5;

pub(crate) async fn run(quick: bool) -> Result<Vec<BenchRow>> {
    let count = if quick { 500 } else { 10_000 };
    let mut hob = RelayClient::through_hob().await?;
    let mut relay = RelayClient::through_relay().await?;
    let mut rates = RoundPairs::default();
    let (mut hob_times, mut relay_times) = (LatencySamples::default(), LatencySamples::default());
    for _ in 0..ROUNDS {
        let hob_rate = hob.pipelined(count).await?;
        rates.push(relay.pipelined(count).await?, hob_rate);
        hob_times.extend(hob.one_by_one(count / 5).await?);
        relay_times.extend(relay.one_by_one(count / 5).await?);
    }
    let row = |name: String, unit, hob, yardstick, goal| BenchRow {
        name,
        unit,
        hob,
        yardstick: Some(yardstick),
        yardstick_name: "bare two-hop relay",
        goal,
    };
    let mut percentile = |percent| {
        let name = format!("routed round trip, p{percent}");
        row(
            name,
            "ms",
            hob_times.percentile_ms(percent),
            relay_times.percentile_ms(percent),
            None,
        )
    };
    let (p50, p99) = (percentile(50), percentile(99));
    let goal = Some(BenchGoal::RatioAtLeast(0.8));
    let name = format!("routed round trips, {IN_FLIGHT} in flight");
    Ok(vec![
        row(name, "/s", rates.hob(), rates.yardstick(), goal),
        p50,
        p99,
    ])
}

/// A client with a service behind something in the middle.
pub(super) struct RelayClient {
    client: BusPeer,
    params: Value,
    _middle: Box<dyn std::any::Any>,
}

impl RelayClient {
    async fn through_hob() -> Result<Self> {
        let home = BenchHome::new()?;
        let daemon = home.start()?;
        let url = format!("ws://{}/ws", daemon.address);
        let token = home.token()?;
        let mut service = BusPeer::connect(&url, Some(&token)).await?;
        let register = json!({ "service": "bench", "methods": ["bench.echo"] });
        service.call("gateway.register", register).await?;
        let client = BusPeer::connect(&url, Some(&token)).await?;
        Ok(RelayClient::new(client, service, Box::new((daemon, home))))
    }

    pub(super) async fn through_relay() -> Result<Self> {
        let relay = start_role("relay")?;
        let url = format!("ws://{}/", relay.address);
        let service = BusPeer::connect(&url, None).await?;
        let client = BusPeer::connect(&url, None).await?;
        Ok(RelayClient::new(client, service, Box::new(relay)))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the service ends with its socket"
    )]
    fn new(client: BusPeer, service: BusPeer, middle: Box<dyn std::any::Any>) -> Self {
        tokio::spawn(service.echo());
        let params = json!({ "text": "x".repeat(256) });
        RelayClient {
            client,
            params,
            _middle: middle,
        }
    }

    async fn pipelined(&mut self, count: usize) -> Result<f64> {
        let frame = request("b", "bench.echo", &self.params);
        let started = Instant::now();
        let mut sent = 0;
        let mut answered = 0;
        while answered < count {
            let room = (count - sent).min(IN_FLIGHT - (sent - answered));
            // Topping up by halves lets both ends batch, as any busy client does.
            if room >= IN_FLIGHT / 2 || (sent + room == count && room > 0) {
                self.client
                    .send_all(std::iter::repeat_n(frame.clone(), room))
                    .await?;
                sent += room;
            }
            self.client.next().await?;
            answered += 1;
        }
        Ok(rate(count, started.elapsed()))
    }

    pub(super) async fn one_by_one(&mut self, count: usize) -> Result<LatencySamples> {
        let frame = request("b", "bench.echo", &self.params);
        let mut samples = LatencySamples::default();
        for _ in 0..count {
            let started = Instant::now();
            self.client.send(frame.clone()).await?;
            tokio::time::timeout(Duration::from_secs(10), self.client.next()).await??;
            samples.push(started.elapsed());
        }
        Ok(samples)
    }
}

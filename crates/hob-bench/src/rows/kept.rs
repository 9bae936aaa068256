//! What keeping services costs: processor and memory of a daemon with twenty of them at rest
//! against the same daemon with none, and starting one until it is ready against the bare program.

use crate::daemon::{BenchHome, ServerProcess};
use crate::idle_cost::IdleComparison;
use crate::measure::LatencySamples;
use crate::peer::BusPeer;
use crate::report::BenchRow;
use crate::yardsticks::program;
use anyhow::{Result, ensure};
use serde_json::json;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

pub(crate) const NOTE: &str = "twenty small HTTP servers (Python), each asked for its health every five seconds; processor time is the daemon's own, and memory that of the daemon and of the shims its services hang on (shared pages counted once). Ready means that the health request was answered; the bare program is asked again every 2 ms.";

const SERVICES: usize = 20;
const REST: Duration = Duration::from_secs(30);
const STARTS: usize = 11;
const SERVER: &str = "import http.server, sys\n\
class Health(http.server.BaseHTTPRequestHandler):\n\
\tdef do_GET(self):\n\
\t\tself.send_response(200)\n\
\t\tself.send_header('Content-Length', '2')\n\
\t\tself.end_headers()\n\
\t\tself.wfile.write(b'ok')\n\
\tdef log_message(self, *words): pass\n\
http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Health).serve_forever()\n";

pub(crate) async fn run(quick: bool) -> Result<Vec<BenchRow>> {
    let rest = if quick { Duration::from_secs(2) } else { REST };
    let mut rows: Vec<BenchRow> = idle(rest).await?.into();
    rows.push(readiness(if quick { 2 } else { STARTS }).await?);
    Ok(rows)
}

async fn idle(rest: Duration) -> Result<[BenchRow; 2]> {
    let alone = BenchHome::new()?;
    let bare = alone.start()?;
    let home = BenchHome::new()?;
    let names: Vec<String> = (0..SERVICES).map(|at| format!("kept{at}")).collect();
    describe(&home, names.iter().map(String::as_str))?;
    let daemon = home.start()?;
    let mut peer = home.connect(&daemon).await?;
    for name in &names {
        start(&mut peer, name).await?;
    }
    // What starting left to be done is not rest.
    tokio::time::sleep(rest / 10).await;
    let at_rest = IdleComparison {
        what: format!("{SERVICES} services"),
        hob: &daemon,
        bare: &bare,
        bare_name: "no service",
        memory_mb: ServerProcess::memory_with_shims_mb,
    };
    at_rest.rows(rest).await
}

async fn readiness(starts: usize) -> Result<BenchRow> {
    let home = BenchHome::new()?;
    describe(&home, std::iter::once("quick"))?;
    let daemon = home.start()?;
    let mut peer = home.connect(&daemon).await?;
    let (mut hob, mut bare) = (LatencySamples::default(), LatencySamples::default());
    for _ in 0..starts {
        bare.push(program::ready(&["python3", "-c", SERVER])?);
        let begun = Instant::now();
        start(&mut peer, "quick").await?;
        hob.push(begun.elapsed());
        peer.call("service.stop", json!({ "name": "quick" }))
            .await?;
    }
    Ok(BenchRow {
        name: "a service from start to ready, p50".to_owned(),
        unit: "ms",
        hob: hob.percentile_ms(50),
        yardstick: Some(bare.percentile_ms(50)),
        yardstick_name: "the bare program",
        goal: None,
    })
}

fn describe<'a>(home: &BenchHome, names: impl Iterator<Item = &'a str>) -> Result<()> {
    let folder = home.path().join("services");
    std::fs::create_dir_all(&folder)?;
    for name in names {
        let mut text = "kind = \"http\"\nport = 0\nhealth = \"/health\"\n".to_owned();
        let program = serde_json::to_string(SERVER)?;
        writeln!(
            text,
            "command = [\"python3\", \"-c\", {program}, \"{{port}}\"]"
        )?;
        std::fs::write(folder.join(format!("{name}.toml")), text)?;
    }
    Ok(())
}

async fn start(peer: &mut BusPeer, name: &str) -> Result<()> {
    let params = json!({ "name": name, "wait": true });
    let started = peer.call("service.start", params).await?;
    ensure!(started["state"] == "running", "{started}");
    Ok(())
}

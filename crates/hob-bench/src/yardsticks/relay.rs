//! A bare two-hop relay: whatever comes from one socket goes to the other, unread. The first to
//! connect is the service, every later one its client in turn.

use anyhow::Result;
use futures_util::{SinkExt, StreamExt};
use std::io::Write;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};
use tokio_tungstenite::tungstenite::Message;

const QUEUE: usize = 1_024;

type SenderSlot = Arc<Mutex<Option<mpsc::Sender<Message>>>>;

#[expect(
    clippy::disallowed_methods,
    reason = "a yardstick stands on nothing of ours"
)]
pub(crate) async fn run() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "LISTENS={}", listener.local_addr()?)?;
    let (service, client) = (SenderSlot::default(), SenderSlot::default());
    let (stream, _) = listener.accept().await?;
    tokio::spawn(serve(stream, Arc::clone(&service), Arc::clone(&client)));
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(serve(stream, Arc::clone(&client), Arc::clone(&service)));
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a yardstick stands on nothing of ours"
)]
async fn serve(stream: TcpStream, own: SenderSlot, other: SenderSlot) -> Result<()> {
    stream.set_nodelay(true)?;
    let socket = tokio_tungstenite::accept_async(stream).await?;
    let (mut sink, mut source) = socket.split();
    let (sender, mut queue) = mpsc::channel::<Message>(QUEUE);
    *own.lock().await = Some(sender);
    tokio::spawn(async move {
        while let Some(message) = queue.recv().await {
            sink.feed(message).await?;
            while let Ok(message) = queue.try_recv() {
                sink.feed(message).await?;
            }
            sink.flush().await?;
        }
        anyhow::Ok(())
    });
    let mut target = None;
    while let Some(Ok(message)) = source.next().await {
        // The other side may still be shaking hands.
        while target.is_none() {
            target.clone_from(&*other.lock().await);
            tokio::task::yield_now().await;
        }
        if let (Message::Text(_), Some(target)) = (&message, &target) {
            target.send(message).await?;
        }
    }
    Ok(())
}

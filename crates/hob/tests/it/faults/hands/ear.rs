//! A web server on loopback that counts who comes: whatever left the house is heard here.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Pages by their paths.
type Pages = Arc<Mutex<BTreeMap<String, String>>>;

pub(super) struct Ear {
    hits: Arc<AtomicUsize>,
    asked: Arc<Mutex<Vec<String>>>,
    pages: Pages,
    pub(super) port: u16,
}

impl Ear {
    /// Says `inside secrets` to everybody; `/to/URL` sends them on to another address.
    pub(super) fn open() -> Ear {
        let listener = TcpListener::bind("[::]:0").expect("a port");
        let port = listener.local_addr().expect("a port").port();
        let hits = Arc::new(AtomicUsize::new(0));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let pages = Pages::default();
        let (count, heard, shelf) = (Arc::clone(&hits), Arc::clone(&asked), Arc::clone(&pages));
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let path = path(&mut stream);
                let answer = answer(&path, &shelf);
                heard.lock().expect("a list").push(path);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Ear {
            hits,
            asked,
            pages,
            port,
        }
    }

    /// Says this page to who asks for `path`.
    pub(super) fn serve(&self, path: &str, page: String) {
        let mut pages = self.pages.lock().expect("pages");
        pages.insert(path.to_owned(), page);
    }

    pub(super) fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }

    /// The paths that were asked for and hold `word`.
    pub(super) fn heard(&self, word: &str) -> Vec<String> {
        let asked = self.asked.lock().expect("a list");
        let with = asked.iter().filter(|path| path.contains(word));
        with.cloned().collect()
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

fn path(stream: &mut TcpStream) -> String {
    let mut head = [0; 8_192];
    let read = stream.read(&mut head).unwrap_or(0);
    let asked = String::from_utf8_lossy(&head[..read]).into_owned();
    asked.split(' ').nth(1).unwrap_or("/").to_owned()
}

fn answer(path: &str, pages: &Pages) -> String {
    if let Some(place) = path.strip_prefix("/to/") {
        return format!("HTTP/1.1 302 Found\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n");
    }
    let page = pages.lock().expect("pages").get(path).cloned();
    let (kind, body) = match page {
        Some(page) => ("text/html; charset=utf-8", page),
        None => ("text/plain", "inside secrets".to_owned()),
    };
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")
}

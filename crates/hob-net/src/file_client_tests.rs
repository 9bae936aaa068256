//! Which origins may be configured, and where a redirect may lead. The requests themselves are
//! tested with a hub on loopback, in hob-services.

use super::*;
use crate::http_client::HttpOptions;
use hob_kit::clock::Clock;

fn origin(text: &str) -> FileOrigin {
    FileOrigin::parse(text).unwrap()
}

fn route(from: &str, to: &str) -> Result<RedirectRoute, NetError> {
    origin(from).check_redirect(&Url::parse(to).unwrap())
}

#[test]
fn an_origin_is_https_or_on_this_machine() {
    for good in [
        "https://huggingface.co",
        "https://models.example.org:8443/hf/",
        "http://127.0.0.1:8000",
        "http://[::1]:8000",
        "http://localhost:8000/",
    ] {
        assert!(FileOrigin::parse(good).is_ok(), "{good}");
    }
    for wrong in [
        "http://huggingface.co",
        "http://192.168.1.2",
        "http://127.0.0.1.example.org",
        "ftp://huggingface.co",
        "https://name:key@huggingface.co",
        "https://huggingface.co/?token=x",
        "huggingface.co",
        "",
    ] {
        assert!(FileOrigin::parse(wrong).is_err(), "{wrong}");
    }
    let hub = origin("https://models.example.org:8443/hf/");
    assert_eq!(hub.url("/a/b"), "https://models.example.org:8443/hf/a/b");
    assert_eq!(hub.host(), "models.example.org:8443");
}

#[test]
fn a_redirect_leaves_the_origin_only_over_https_or_within_this_machine() {
    let hub = "https://huggingface.co";
    assert_eq!(
        route(hub, "https://huggingface.co/moved"),
        Ok(RedirectRoute::Origin)
    );
    assert_eq!(
        route(hub, "https://cdn.example.org/x"),
        Ok(RedirectRoute::Internet)
    );
    // Another port is another origin, which must not get the token.
    assert_eq!(
        route(hub, "https://huggingface.co:8443/x"),
        Ok(RedirectRoute::Internet)
    );
    assert!(route(hub, "http://cdn.example.org/x").is_err());
    assert!(route(hub, "http://huggingface.co/x").is_err());
    assert!(route(hub, "http://127.0.0.1:9/x").is_err());
    let here = "http://127.0.0.1:8000";
    assert_eq!(
        route(here, "http://127.0.0.1:8001/x"),
        Ok(RedirectRoute::Loopback)
    );
    assert!(route(here, "http://10.0.0.1/x").is_err());
}

#[tokio::test]
async fn a_redirect_to_a_private_host_is_refused_before_it_is_requested() {
    let clock = Clock::system();
    let web = WebClient::new(clock.clone());
    for target in [
        "https://127.0.0.1:1/x",
        "https://10.1.2.3/x",
        "https://169.254.169.254/latest/meta-data",
        "https://[::ffff:127.0.0.1]/x",
    ] {
        let url = Url::parse(target).unwrap();
        let hosts = PrivateHosts::default();
        let sent = web.get_redirected(url, &[], &hosts, HEAD_TIMEOUT).await;
        assert!(matches!(sent, Err(NetError::Refused(_))), "{target}");
    }
    let client = FileClient {
        http: HttpClient::new(HttpOptions::new(clock)).unwrap(),
        web,
        origin: origin("http://127.0.0.1:1"),
        token: None,
        private_hosts: PrivateHosts::default(),
    };
    // The text after the origin must not become another host.
    for path in ["@example.org/", ".example.org/", "0/"] {
        let got = client.get(path, None).await;
        assert!(matches!(got, Err(NetError::Refused(_))), "{path}: {got:?}");
    }
}

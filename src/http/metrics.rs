//! Metrics of a server in Prometheus' text format.
//!
//! Names and labels are few and bounded: paths are the routes, never those of requests, and workspaces are counted by the
//! class of their size, never by their names.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::engine::{GitStatus, Status};

/// Media type of the text.
pub const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// State of a store.
pub struct State {
    /// Status of the store and its index.
    pub status: Status,
    /// Status of the repository.
    pub git: GitStatus,
}

/// Bounds of the histogram's buckets in seconds.
const TIMES: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
];

/// Counters of events.
pub struct Metrics {
    requests: Family<Request, Counter>,
    seconds: Family<Route, Histogram>,
    refused: Family<Layer, Counter>,
    workspace_requests: Family<WorkspaceRequest, Counter>,
    workspace_seconds: Family<Class, Histogram>,
    /// Number of open connections.
    pub connections: Gauge,
    /// Number of open event streams.
    pub listeners: Gauge,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Request {
    route: String,
    method: &'static str,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Route {
    route: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Layer {
    layer: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Lane {
    lane: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Class {
    class: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct WorkspaceRequest {
    class: &'static str,
    status: u16,
}

/// Class of a workspace by its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeClass {
    /// At most 10,000 memories.
    Small,
    /// At most 100,000 memories.
    Medium,
    /// More.
    Large,
}

impl SizeClass {
    /// All classes, in the order of their sizes.
    pub const ALL: [SizeClass; 3] = [SizeClass::Small, SizeClass::Medium, SizeClass::Large];

    /// Returns the class of a workspace with so many memories.
    pub fn of(memories: usize) -> SizeClass {
        match memories {
            0..=10_000 => SizeClass::Small,
            10_001..=100_000 => SizeClass::Medium,
            _ => SizeClass::Large,
        }
    }

    /// Returns the name of the class, as in the label.
    pub fn as_str(self) -> &'static str {
        match self {
            SizeClass::Small => "small",
            SizeClass::Medium => "medium",
            SizeClass::Large => "large",
        }
    }
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics {
            requests: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(TIMES)),
            refused: Family::default(),
            workspace_requests: Family::default(),
            workspace_seconds: Family::new_with_constructor(|| Histogram::new(TIMES)),
            connections: Gauge::default(),
            listeners: Gauge::default(),
        }
    }
}

impl Metrics {
    /// Counts a response and its time.
    pub fn answered(&self, route: &str, method: &'static str, status: u16, took: Duration) {
        let request = Request {
            route: route.to_owned(),
            method,
            status,
        };
        self.requests.get_or_create(&request).inc();
        let route = Route {
            route: route.to_owned(),
        };
        self.seconds
            .get_or_create(&route)
            .observe(took.as_secs_f64());
    }

    /// Counts a response of a workspace and its time.
    pub fn answered_in(&self, class: SizeClass, status: u16, took: Duration) {
        let class = class.as_str();
        let request = WorkspaceRequest { class, status };
        self.workspace_requests.get_or_create(&request).inc();
        self.workspace_seconds
            .get_or_create(&Class { class })
            .observe(took.as_secs_f64());
    }

    /// Counts a refused request.
    pub fn refused(&self, layer: &'static str) {
        self.refused.get_or_create(&Layer { layer }).inc();
    }
}

/// Load of a server at this moment.
pub struct Load {
    /// Number of open MCP sessions.
    pub sessions: usize,
    /// Number of running and of waiting calls that read.
    pub reads: (usize, usize),
    /// Number of running and of waiting calls that write.
    pub writes: (usize, usize),
    /// Numbers of open workspaces of each class, in the order of [`SizeClass::ALL`]; `None` of the figures of one store.
    pub workspaces: Option<[usize; 3]>,
}

/// Returns the metrics as text, with the current state of server and store.
pub fn text(metrics: &Metrics, load: &Load, state: Option<&State>) -> String {
    let mut registry = Registry::with_prefix("memdir");
    registry.register(
        "http_requests",
        "Requests answered",
        metrics.requests.clone(),
    );
    registry.register_with_unit(
        "http_request_duration",
        "How long they took",
        Unit::Seconds,
        metrics.seconds.clone(),
    );
    registry.register(
        "http_refused",
        "Requests refused, by the layer",
        metrics.refused.clone(),
    );
    registry.register(
        "http_connections",
        "Open connections",
        metrics.connections.clone(),
    );
    registry.register(
        "http_listeners",
        "Open streams of events",
        metrics.listeners.clone(),
    );
    let sessions = gauge(load.sessions);
    registry.register("mcp_sessions", "Open MCP sessions", sessions);
    let running = Family::<Lane, Gauge>::default();
    let waiting = Family::<Lane, Gauge>::default();
    for (lane, (runs, waits)) in [("reads", load.reads), ("writes", load.writes)] {
        running.get_or_create(&Lane { lane }).set(runs as i64);
        waiting.get_or_create(&Lane { lane }).set(waits as i64);
    }
    registry.register("calls_running", "Calls that run", running);
    registry.register("calls_waiting", "Calls that wait for their turn", waiting);
    if let Some(open) = load.workspaces {
        workspaces(&mut registry, metrics, open);
    }
    if let Some(state) = state {
        store(&mut registry, state);
    }
    let mut text = String::new();
    match encode(&mut text, &registry) {
        Ok(()) => text,
        Err(error) => format!("# {error}\n"),
    }
}

fn workspaces(registry: &mut Registry, metrics: &Metrics, open: [usize; 3]) {
    let count = Family::<Class, Gauge>::default();
    for (class, open) in SizeClass::ALL.into_iter().zip(open) {
        let class = class.as_str();
        count.get_or_create(&Class { class }).set(open as i64);
    }
    registry.register(
        "workspaces_open",
        "Open workspaces, by the class of their size",
        count,
    );
    registry.register(
        "workspace_requests",
        "Requests answered, by the class of the workspace",
        metrics.workspace_requests.clone(),
    );
    registry.register_with_unit(
        "workspace_request_duration",
        "How long they took",
        Unit::Seconds,
        metrics.workspace_seconds.clone(),
    );
}

fn store(registry: &mut Registry, state: &State) {
    let status = &state.status;
    let mut put = |name: &str, help: &str, value: u64| {
        let gauge = Gauge::<f64, AtomicU64>::default();
        gauge.set(value as f64);
        registry.register(name, help, gauge);
    };
    put("files", "Memory files on disk", status.files as u64);
    put(
        "indexed_files",
        "In the index as they are",
        status.indexed as u64,
    );
    put(
        "waiting_files",
        "Found, but not in the index yet",
        status.waiting as u64,
    );
    put(
        "unreadable_files",
        "Files that are no text",
        status.unreadable as u64,
    );
    put(
        "archived_files",
        "Files in the archive",
        status.archived as u64,
    );
    put("memory_bytes", "Bytes of all memory files", status.bytes);
    put("index_bytes", "Bytes of the index", status.index_bytes);
    put(
        "conflicts",
        "Pairs of memories that contradict each other",
        status.conflicts as u64,
    );
    let GitStatus::On {
        remote, held_back, ..
    } = &state.git
    else {
        return;
    };
    put(
        "held_back_files",
        "Not committed because of a credential",
        held_back.len() as u64,
    );
    if let Some(remote) = remote {
        put(
            "sync_unsent_commits",
            "Commits that the remote does not have",
            remote.unsent as u64,
        );
        let failed = remote
            .last
            .as_ref()
            .is_some_and(|last| last.state == "failed");
        put(
            "sync_failing",
            "Whether the last attempt failed",
            u64::from(failed),
        );
    }
}

/// Returns a gauge that stands at `value`.
fn gauge(value: usize) -> Gauge {
    let gauge: Gauge<i64, std::sync::atomic::AtomicI64> = Gauge::default();
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
    gauge
}

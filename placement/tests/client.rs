//! The engine and the fake keep the same promises to placement.

use std::sync::Arc;

use apportion::config::{EngineConfig, QueueConfig};
use apportion::{ApplicationSpec, EndCause, Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources};
use apportion_placement::{
    Callback, ClientError, ClusterClient, ContainerRef, ContainerRequest, EngineClient, FakeCluster,
    RequestId,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A client, and what makes the cluster behind it move.
struct Cluster<C> {
    client: C,
    step: Box<dyn Fn()>,
}

fn engine_cluster(events_max: usize) -> Result<Cluster<EngineClient>, Box<dyn std::error::Error>> {
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None)?;
    for host in ["alpha", "beta"] {
        engine.handle().add_node(NodeSpec::new(host, Resources::new(&[100])))?;
    }
    let spec = ApplicationSpec::new("service", "root.default", "ann");
    let client = EngineClient::submit(engine.handle(), spec, events_max)?;
    Ok(Cluster { client, step: Box::new(move || engine.run_until_quiet()) })
}

fn fake_cluster() -> Cluster<FakeCluster> {
    let mut client = FakeCluster::new();
    client.add_node("alpha", Resources::new(&[100]));
    client.add_node("beta", Resources::new(&[100]));
    Cluster { client, step: Box::new(|| {}) }
}

fn request(size: i64, host: Option<&str>) -> ContainerRequest {
    let host = host.map(str::to_owned);
    ContainerRequest { size: Resources::new(&[size]), priority: 0, host, relax_locality: false }
}

fn allocation(callbacks: &[Callback]) -> Option<(RequestId, ContainerRef, &str)> {
    match callbacks {
        [Callback::Allocated { request, container, host }] => Some((*request, *container, host)),
        _ => None,
    }
}

fn keeps_its_promises<C: ClusterClient>(cluster: &mut Cluster<C>) -> Outcome {
    let Cluster { client, step } = cluster;
    step();
    assert_eq!(client.nodes().len(), 2);

    // A request for a host comes to that host, and only one callback tells of it.
    let wanted = client.request(request(60, Some("beta")))?;
    step();
    let callbacks = client.poll();
    let (served, container, host) = allocation(&callbacks).ok_or("one allocation")?;
    assert_eq!((served, host), (wanted, "beta"));
    assert!(client.poll().is_empty());
    let beta = client.nodes().into_iter().find(|node| node.host == "beta").ok_or("beta is reported")?;
    assert_eq!(beta.free, Resources::new(&[40]));

    // What does not fit on the host waits for it, although another host has room, and can be taken back.
    let waiting = client.request(request(60, Some("beta")))?;
    step();
    assert!(client.poll().is_empty());
    client.cancel(waiting)?;
    step();
    assert_eq!(client.poll(), [Callback::Withdrawn { request: waiting }]);

    // A released container ends as released, once, and its room serves the next request.
    client.release(container)?;
    step();
    assert_eq!(client.poll(), [Callback::Completed { container, cause: Some(EndCause::Released) }]);
    assert_eq!(client.release(container), Err(ClientError::UnknownContainer(container)));
    let again = client.request(request(100, Some("beta")))?;
    step();
    assert_eq!(allocation(&client.poll()).map(|(served, ..)| served), Some(again));

    let unknown = client.request(request(1, Some("gamma")));
    assert_eq!(unknown, Err(ClientError::UnknownHost { host: "gamma".into() }));
    Ok(())
}

#[test]
fn the_engine_keeps_its_promises() -> Outcome {
    keeps_its_promises(&mut engine_cluster(100)?)
}

#[test]
fn the_fake_keeps_its_promises() -> Outcome {
    keeps_its_promises(&mut fake_cluster())
}

/// A client that polls too rarely finds out what it missed.
#[test]
fn a_lagging_client_catches_up() -> Outcome {
    let mut cluster = engine_cluster(2)?;
    let requests: Vec<RequestId> =
        (0..4).map(|_| cluster.client.request(request(10, None))).collect::<Result<_, _>>()?;
    (cluster.step)();
    let mut served: Vec<RequestId> = Vec::new();
    for callback in cluster.client.poll() {
        if let Callback::Allocated { request, .. } = callback {
            served.push(request);
        }
    }
    served.sort();
    assert_eq!(served, requests);
    Ok(())
}

/// What was cancelled while callbacks were lost is not mistaken for what was placed, and what is still to come
/// is not given up.
#[test]
fn a_lagging_client_tells_cancelled_from_placed() -> Outcome {
    let Cluster { mut client, step } = engine_cluster(1)?;
    let cancelled = client.request(request(1_000, None))?;
    let placed = [client.request(request(10, None))?, client.request(request(10, None))?];
    client.cancel(cancelled)?;
    step();
    let later = client.request(request(10, None))?;
    let mut served = Vec::new();
    let mut withdrawn = Vec::new();
    // What arrived before the stream was full comes first, what was missed with the next poll.
    for callback in [client.poll(), client.poll()].concat() {
        match callback {
            Callback::Allocated { request, .. } => served.push(request),
            Callback::Withdrawn { request } => withdrawn.push(request),
            Callback::Completed { .. } => return Err("nothing has ended".into()),
        }
    }
    served.sort();
    assert_eq!((served, withdrawn), (placed.to_vec(), vec![cancelled]));
    step();
    assert_eq!(allocation(&client.poll()).map(|(served, ..)| served), Some(later));
    Ok(())
}

/// The fake relaxes, loses nodes, and refuses to end what has ended.
#[test]
fn the_fake_can_be_made_to_misbehave() -> Outcome {
    let Cluster { mut client, .. } = fake_cluster();
    client.set_usable("alpha", false);
    let relaxed = ContainerRequest { relax_locality: true, ..request(50, Some("alpha")) };
    let id = client.request(relaxed)?;
    assert!(client.poll().is_empty());
    client.relax();
    let callbacks = client.poll();
    let (served, container, host) = allocation(&callbacks).ok_or("one allocation")?;
    assert_eq!((served, host), (id, "beta"));
    client.lose_node("beta");
    assert_eq!(client.poll(), [Callback::Completed { container, cause: Some(EndCause::NodeLost) }]);
    assert!(client.complete(container, EndCause::Completed).is_err());
    Ok(())
}

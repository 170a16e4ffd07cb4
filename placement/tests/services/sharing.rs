//! Several services on one cluster: none takes another's containers for its own.

use std::sync::Arc;

use apportion::config::{EngineConfig, QueueConfig};
use apportion::{ApplicationSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources};
use apportion_placement::{
    Callback, ClientError, ClusterClient, ContainerRef, ContainerRequest, EngineClient, FakeClient,
    FakeCluster, Fault, Launch, RequestId, SharedFakeCluster,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn request(id: u64) -> ContainerRequest {
    ContainerRequest::new(RequestId(id), Resources::new(&[1]), 3)
}

fn came(callbacks: &[Callback]) -> Vec<(Option<RequestId>, ContainerRef)> {
    let mut came = Vec::new();
    for callback in callbacks {
        if let Callback::Allocated(allocations) = callback {
            came.extend(allocations.iter().map(|found| (found.request, found.container)));
        }
    }
    came
}

#[test]
fn clients_of_one_engine_give_no_number_twice() -> Outcome {
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None)?;
    engine.handle().add_node(NodeSpec::new("alpha", Resources::new(&[10])))?;
    let mut containers = Vec::new();
    for user in ["ann", "bob"] {
        let spec = ApplicationSpec::new("service", "root.default", user);
        let mut client = EngineClient::submit(engine.handle(), spec, 100)?;
        client.request(request(1))?;
        engine.run_until_quiet();
        containers.extend(came(&client.poll()));
    }
    let expected = [(Some(RequestId(1)), ContainerRef(0)), (Some(RequestId(1)), ContainerRef(1))];
    assert_eq!(containers, expected);
    Ok(())
}

fn two_services(slots: i64) -> (SharedFakeCluster, FakeClient, FakeClient) {
    let mut cluster = FakeCluster::new();
    cluster.add_node("alpha", Resources::new(&[slots]));
    let cluster = SharedFakeCluster::new(cluster);
    let (one, other) = (cluster.client(), cluster.client());
    (cluster, one, other)
}

#[test]
fn services_of_a_fake_get_callbacks_about_their_own_containers_only() -> Outcome {
    let (_, mut one, mut other) = two_services(2);
    one.request(request(1))?;
    other.request(request(1))?;
    assert_eq!(one.request(request(1)), Ok(()), "a number is free again once its request is served");
    let callbacks = one.poll();
    let own = came(&callbacks);
    let others = came(&other.poll());
    assert_eq!((own.len(), others.len()), (1, 1));
    assert_eq!(others[0].0, Some(RequestId(1)));
    assert_eq!(one.request(request(1)), Err(ClientError::RequestRepeated(RequestId(1))));
    assert!(one.explain(RequestId(1)).is_some() && other.explain(RequestId(1)).is_none());

    let container = others[0].1;
    assert_eq!(one.release(container), Err(ClientError::UnknownContainer(container)));
    assert_eq!(one.start(container, &Launch::of("web")), Err(ClientError::UnknownContainer(container)));
    other.start(container, &Launch::of("web"))?;
    assert_eq!((one.poll(), other.poll()), (vec![], vec![Callback::Started(container)]));
    Ok(())
}

#[test]
fn a_blacklist_holds_for_one_service_only() -> Outcome {
    let (_, mut one, mut other) = two_services(2);
    one.update_blacklist(&["alpha".into()], &[])?;
    one.request(request(1))?;
    other.request(request(1))?;
    assert!(came(&one.poll()).is_empty());
    assert_eq!(came(&other.poll()).len(), 1);
    one.update_blacklist(&[], &["alpha".into()])?;
    assert_eq!(came(&one.poll()).len(), 1);
    Ok(())
}

#[test]
fn a_service_that_ends_leaves_room() -> Outcome {
    let (cluster, mut one, mut other) = two_services(1);
    one.request(request(1))?;
    one.request(request(2))?;
    other.request(request(1))?;
    assert!(came(&other.poll()).is_empty());
    one.finish();
    assert_eq!(came(&other.poll()).len(), 1);
    assert_eq!(cluster.with(|cluster| cluster.waiting().count()), 0);
    Ok(())
}

/// A late callback belongs to the previous master.
#[test]
fn late_callbacks_do_not_reach_the_next_master() -> Outcome {
    let (cluster, mut one, _other) = two_services(3);
    one.poll();
    cluster.with(|cluster| cluster.inject(Fault::DelayCallback));
    one.request(request(1))?;
    assert_eq!(one.take_over().len(), 1);
    let told = one.poll();
    assert!(matches!(&told[..], [Callback::NodesUpdated(_)]), "{told:?}");
    Ok(())
}

/// It also takes over a container whose allocation was lost.
#[test]
fn a_service_takes_over_only_its_own_containers() -> Outcome {
    let (cluster, mut one, mut other) = two_services(3);
    cluster.with(|cluster| cluster.inject(Fault::LoseCallback));
    one.request(request(1))?;
    other.request(request(1))?;
    one.request(request(2))?;
    one.update_blacklist(&["alpha".into()], &[])?;
    one.request(request(3))?;
    let running = one.take_over();
    assert_eq!(running.len(), 2);
    assert!(one.explain(RequestId(3)).is_none(), "requests are withdrawn");
    let unreported = running[0].container;
    one.release(unreported)?;
    let told = one.poll();
    assert!(matches!(&told[..], [Callback::NodesUpdated(_), Callback::Completed(_)]), "{told:?}");
    Ok(())
}

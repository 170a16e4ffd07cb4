//! Several services on one cluster: none takes another's containers for its own.

use std::sync::Arc;

use apportion::config::{EngineConfig, QueueConfig};
use apportion::{ApplicationSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources};
use apportion_placement::{
    Callback, ClusterClient, ContainerNumbers, ContainerRef, ContainerRequest, EngineClient, RequestId,
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
    let numbers = ContainerNumbers::default();
    let mut containers = Vec::new();
    for user in ["ann", "bob"] {
        let spec = ApplicationSpec::new("service", "root.default", user);
        let client = EngineClient::submit(engine.handle(), spec, 100)?;
        let mut client = client.with_container_numbers(&numbers);
        client.request(request(1))?;
        engine.run_until_quiet();
        containers.extend(came(&client.poll()));
    }
    let expected = [(Some(RequestId(1)), ContainerRef(1)), (Some(RequestId(1)), ContainerRef(2))];
    assert_eq!(containers, expected);
    Ok(())
}

//! Bodies of fuzz targets: replaying any bytes as a log ends in a state or an error.

use std::sync::Arc;

use super::Replay;
use crate::change::Change;
use crate::config::{EngineConfig, QueueConfig};
use crate::log::{HEADER, SNAPSHOT_HEADER, frame_head};
use crate::resource::ResourceTypes;

/// Replays `data` as a log. Then replays it as the changes after a valid configuration and as a snapshot, with correct
/// checksums, to reach the decoders and the checks too.
#[cfg_attr(
    not(feature = "fuzz"),
    expect(unreachable_pub, reason = "without the feature, only tests call it")
)]
pub fn fuzz_log(data: &[u8]) {
    replay(data);
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    let configured = Change::Configured { config: Arc::new(config) };
    let mut log = HEADER.to_vec();
    push_frame(&mut log, &postcard::to_stdvec(&configured).expect("a configuration encodes"));
    push_frame(&mut log, data);
    replay(&log);
    let mut snapshot = SNAPSHOT_HEADER.to_vec();
    push_frame(&mut snapshot, data);
    // A snapshot with a correct checksum is trusted: its sums are not compared with each other.
    drop(Replay::read(&*snapshot, None));
}

fn replay(log: &[u8]) {
    if let Ok(mut replay) = Replay::read(log, None) {
        let report = replay.audit();
        assert!(report.is_clean(), "a log that replays gives a sound state:\n{report}");
    }
}

pub(super) fn push_frame(log: &mut Vec<u8>, payload: &[u8]) {
    log.extend(frame_head(payload).expect("less than 1 GiB"));
    log.extend(payload);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::log::{FRAME_HEADER_BYTES, SharedLog};
    use crate::{ApplicationSpec, AskSpec, Clock, Engine, ManualClock, Mode, NodeSpec, Resources};

    /// The joined payloads of a small run's frames; the configuration comes first.
    fn real_payload() -> Vec<u8> {
        let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
        let (log, clock) = (SharedLog::new(), Arc::new(ManualClock::new()));
        let clock_of_engine = Arc::clone(&clock) as Arc<dyn Clock>;
        let engine =
            Engine::start(config, Mode::Serial, clock_of_engine, Some(Box::new(log.clone()))).unwrap();
        let handle = engine.handle();
        let node = handle.add_node(NodeSpec::new("n", Resources::new(&[100, 10]))).unwrap();
        let events = handle.event_stream(100);
        let spec = ApplicationSpec::new("a", "root.default", "u");
        let application = handle.submit_application(spec, &events).unwrap();
        handle.submit_ask(application, AskSpec::new(Resources::new(&[40, 1]), 3)).unwrap();
        engine.run_until_quiet();
        clock.set(5_000);
        handle.tick().unwrap();
        engine.run_until_quiet();
        let running = vec![crate::RunningContainer::new(application, Resources::new(&[30, 2])).with_tag("t")];
        let recovered = handle.recover_node(NodeSpec::new("m", Resources::new(&[50, 5])), running).unwrap();
        engine.run_until_quiet();
        let container = recovered.containers.try_take().unwrap()[0].unwrap();
        drop(handle.resize_container(container, Resources::new(&[20, 3])).unwrap());
        handle.set_node_partition(recovered.node, crate::PartitionId::DEFAULT).unwrap();
        engine.run_until_quiet();
        handle.drain_node(node).unwrap();
        handle.remove_node(node).unwrap();
        engine.run_until_quiet();
        payload_of(&log.bytes())
    }

    fn payload_of(log: &[u8]) -> Vec<u8> {
        let (mut rest, mut payload) = (&log[HEADER.len()..], Vec::new());
        while let Some((head, behind)) = rest.split_at_checked(FRAME_HEADER_BYTES) {
            let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
            payload.extend(&behind[..length]);
            rest = &behind[length..];
        }
        payload
    }

    /// The state of that run, as a snapshot without its header.
    fn real_snapshot() -> Vec<u8> {
        let mut log = HEADER.to_vec();
        push_frame(&mut log, &real_payload());
        let mut snapshot = Vec::new();
        Replay::read(&*log, None).unwrap().write_snapshot(&mut snapshot).unwrap();
        snapshot.split_off(SNAPSHOT_HEADER.len() + FRAME_HEADER_BYTES)
    }

    fn read_snapshot(payload: &[u8]) {
        let mut snapshot = SNAPSHOT_HEADER.to_vec();
        push_frame(&mut snapshot, payload);
        drop(Replay::read(&*snapshot, None));
    }

    /// The bytes include the lengths of lists. So a list that must not be empty becomes empty.
    #[test]
    fn each_byte_of_a_snapshot_may_be_damaged() {
        let mut payload = real_snapshot();
        for place in 0..payload.len() {
            let whole = payload[place];
            for damaged in [0, 1, whole.wrapping_sub(1), whole.wrapping_add(1), 0x7f, 0xff] {
                payload[place] = damaged;
                read_snapshot(&payload);
            }
            payload[place] = whole;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn arbitrary_bytes_do_not_panic(data in prop::collection::vec(any::<u8>(), 0..400)) {
            fuzz_log(&data);
        }

        #[test]
        fn a_damaged_run_does_not_panic(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
            let mut payload = real_payload();
            for (place, byte) in edits {
                let place = place.index(payload.len());
                payload[place] = byte;
            }
            let mut log = HEADER.to_vec();
            push_frame(&mut log, &payload);
            replay(&log);
        }

        #[test]
        fn a_damaged_snapshot_does_not_panic(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
            let mut payload = real_snapshot();
            for (place, byte) in edits {
                let place = place.index(payload.len());
                payload[place] = byte;
            }
            read_snapshot(&payload);
        }
    }

    /// A log that holds only a configuration, with one number replaced.
    fn log_with(config: &EngineConfig, number: u64, other: u64) -> Vec<u8> {
        let configured = Change::Configured { config: Arc::new(config.clone()) };
        let payload = postcard::to_stdvec(&configured).unwrap();
        let [number, other] = [number, other].map(|number| postcard::to_stdvec(&number).unwrap());
        let places = payload.windows(number.len()).enumerate().filter(|(_, bytes)| *bytes == number);
        let [place] = places.map(|(place, _)| place).collect::<Vec<_>>()[..] else { panic!("not once") };
        let mut log = HEADER.to_vec();
        push_frame(&mut log, &[&payload[..place], &other, &payload[place + number.len()..]].concat());
        log
    }

    /// Multiplications rely on the bounds of these numbers.
    #[test]
    fn factors_and_percentages_out_of_range_are_no_configuration() {
        let leaf = QueueConfig::single_leaf().children.remove(0);
        let leaf = leaf.with_user_limit_minimum("12.3456".parse().unwrap());
        let leaf = leaf.with_user_weight("u", "654.321".parse().unwrap());
        let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root([leaf]));
        for (number, most, beyond) in [
            (123_456, 1_000_000, 1_000_001),
            (123_456, 0, u64::from(u32::MAX)),
            (654_321, 1_000_000_000, 1_000_000_001),
            (654_321, 1, u64::MAX),
        ] {
            assert!(Replay::read(&*log_with(&config, number, most), None).is_ok(), "{most}");
            assert!(Replay::read(&*log_with(&config, number, beyond), None).is_err(), "{beyond}");
        }
    }

    #[test]
    fn the_undamaged_run_replays() {
        let mut log = HEADER.to_vec();
        push_frame(&mut log, &real_payload());
        assert!(Replay::read(log.as_slice(), None).is_ok());
    }
}

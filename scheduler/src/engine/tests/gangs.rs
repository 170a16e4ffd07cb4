//! Looks for gangs that are decided late.

use super::{Bench, config, leaf, memory};
use crate::change::{ApplicationSpec, AskSpec, GangSpec};
use crate::engine::gangs::search_for_gang;
use crate::ids::{ApplicationId, GangId};

impl Bench {
    /// A gang of one member, as large as the node.
    fn gang(&self, application: ApplicationId) -> GangId {
        let spec = GangSpec::new(application).with_role("worker", AskSpec::new(memory(2), 1));
        self.engine.handle().submit_gang(spec).unwrap().gang
    }

    fn places(&self, gang: GangId) -> usize {
        self.shared.state.read().facts.places_of(gang).count()
    }
}

/// Otherwise the earlier gang would wait for the whole turn of the later one.
#[test]
fn a_gang_gathers_not_before_an_earlier_one_that_its_search_did_not_see() {
    let bench = Bench::serial(config([leaf("a")]));
    bench.node("n0", 2);
    let application = bench.application("root.a");
    bench.ask(application, 2, 1);
    let first = ApplicationSpec::new("first", "root.a", "user").with_priority(5);
    let first = bench.engine.handle().submit_application(first, &bench.events).unwrap();
    bench.engine.run_until_quiet();
    let later = bench.gang(application);
    bench.commit();
    let search = search_for_gang(&bench.shared).unwrap();
    let earlier = bench.gang(first);
    bench.decide(search);
    bench.engine.run_until_quiet();
    assert_eq!((bench.places(earlier), bench.places(later)), (1, 0));
}

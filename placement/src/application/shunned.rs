//! Hosts that would suit a component if the service did not avoid them.

use std::sync::Arc;

use super::fleet::Fleet;
use super::outstanding::{OutstandingRequest, Reach};
use crate::component::ComponentId;

/// The most hosts that a message names.
const NAMED_HOSTS_MAX: usize = 5;

/// Why the service avoids a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AvoidReason {
    Excluded,
    Unreliable,
}

/// The suitable hosts that the service avoids.
#[derive(Debug, Default)]
pub(super) struct Shunned {
    hosts: Vec<(Arc<str>, AvoidReason)>,
    /// Whether the service avoids every suitable host.
    pub(super) is_all: bool,
}

impl Shunned {
    /// Names the hosts and the reasons; `None` if there is no host.
    pub(super) fn explanation(&self) -> Option<String> {
        let named = self.hosts.iter().take(NAMED_HOSTS_MAX).map(|(host, shun)| match shun {
            AvoidReason::Excluded => format!("{host} (excluded)"),
            AvoidReason::Unreliable => format!("{host} (unreliable: too many instances failed there)"),
        });
        let named: Vec<String> = named.collect();
        let more = self.hosts.len().saturating_sub(NAMED_HOSTS_MAX);
        let more = if more > 0 { format!(" and {more} more hosts") } else { String::new() };
        (!named.is_empty()).then(|| format!("the service avoids {}{more}", named.join(", ")))
    }

    /// Returns how to make these hosts usable again.
    pub(super) fn remedy(&self, window_ends_ms: Option<u64>) -> Option<String> {
        let first =
            |wanted: AvoidReason| self.hosts.iter().find(|(_, shun)| *shun == wanted).map(|(host, _)| host);
        let readmit = first(AvoidReason::Excluded).map(|host| format!("readmit {host}"));
        let mend = first(AvoidReason::Unreliable).map(|host| {
            let until = match window_ends_ms {
                Some(ends_ms) => format!("until the failure window ends at {ends_ms} ms"),
                None => "without limit: the failure window has no end".to_owned(),
            };
            format!("see why instances fail on {host}, which is avoided {until}; or raise the node failure threshold")
        });
        let remedies: Vec<String> = readmit.into_iter().chain(mend).collect();
        (!remedies.is_empty()).then(|| remedies.join("; "))
    }
}

impl Fleet {
    /// Collects the avoided hosts that would suit a request, or its component if there is no request.
    pub(super) fn shunned(&self, component: ComponentId, waits: Option<&OutstandingRequest>) -> Shunned {
        let Some(known) = self.component(component) else { return Shunned::default() };
        let (label, size) = (known.spec.label.as_deref(), &known.spec.size);
        let would_do = self.history.nodes().filter(|(host, node)| {
            let is_fit = node.is_online && node.has_label(label) && node.most_of(size) > 0;
            is_fit && self.is_in_reach(host, waits) && !self.would_be_together(component, host, None)
        });
        let (mut hosts, mut count) = (Vec::new(), 0);
        for (host, node) in would_do {
            count += 1;
            let is_alone = self.history.entry(host, component).is_some_and(|entry| entry.is_shunned);
            let is_unreliable = (node.is_unreliable && !known.is_strict()) || is_alone;
            let unreliable = is_unreliable.then_some(AvoidReason::Unreliable);
            let shun = if node.is_excluded { Some(AvoidReason::Excluded) } else { unreliable };
            hosts.extend(shun.map(|shun| (host.clone(), shun)));
        }
        Shunned { is_all: count > 0 && hosts.len() == count, hosts }
    }

    fn is_in_reach(&self, host: &Arc<str>, waits: Option<&OutstandingRequest>) -> bool {
        let Some(waits) = waits else { return true };
        match waits.reach {
            Reach::Host => waits.request.hosts.contains(host),
            Reach::Rack => {
                self.rack(host).is_some_and(|rack| waits.request.racks.contains(rack))
                    || waits.request.hosts.contains(host)
            }
            // A list omits the hosts that the service avoids.
            Reach::Listed | Reach::Anywhere => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shunned(hosts: usize) -> Shunned {
        let hosts = (1..=hosts).map(|number| (format!("h{number}").into(), AvoidReason::Excluded));
        Shunned { hosts: hosts.collect(), is_all: true }
    }

    #[test]
    fn at_most_five_hosts_are_named() {
        assert_eq!(shunned(0).explanation(), None);
        assert_eq!(shunned(1).explanation().unwrap(), "the service avoids h1 (excluded)");
        let five =
            "the service avoids h1 (excluded), h2 (excluded), h3 (excluded), h4 (excluded), h5 (excluded)";
        assert_eq!(shunned(5).explanation().unwrap(), five);
        assert_eq!(shunned(7).explanation().unwrap(), format!("{five} and 2 more hosts"));
    }

    /// The first host of each kind is an example.
    #[test]
    fn each_reason_to_avoid_a_host_has_a_remedy() {
        let mut both = shunned(2);
        both.hosts.insert(0, ("h0".into(), AvoidReason::Unreliable));
        assert_eq!(shunned(0).remedy(None), None);
        assert_eq!(shunned(2).remedy(None).unwrap(), "readmit h1");
        let until = both.remedy(Some(7)).unwrap();
        assert!(until.starts_with("readmit h1; see why instances fail on h0, "), "{until}");
        assert!(until.contains("until the failure window ends at 7 ms"), "{until}");
        assert!(both.remedy(None).unwrap().contains("without limit"));
    }
}

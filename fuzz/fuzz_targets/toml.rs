#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| apportion::config::toml::fuzz_toml(data));

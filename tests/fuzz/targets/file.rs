#![no_main]

libfuzzer_sys::fuzz_target!(|input: memdir_fuzz::File| memdir_fuzz::file(input));

#![no_main]

libfuzzer_sys::fuzz_target!(|input: memdir_fuzz::McpLine| memdir_fuzz::mcp_line(input));

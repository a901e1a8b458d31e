#!/usr/bin/env node
// Starts the program that npm installed for this platform, and ends as it ends.
"use strict";

const { spawn } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;
// A machine with glibc has a package of its own; the static program runs on it, too.
const hasGlibc = () => Boolean(process.report.getReport().header.glibcVersionRuntime);
const names = process.platform !== "linux" ? [platform] : hasGlibc() ? [platform, `${platform}-musl`] : [`${platform}-musl`];
const file = process.platform === "win32" ? "memdir.exe" : "memdir";

function find() {
  for (const name of names) {
    try {
      return require.resolve(`@memdir/${name}/bin/${file}`);
    } catch (error) {
      if (error.code !== "MODULE_NOT_FOUND") throw error;
    }
  }
  console.error(`error: npm has not installed memdir's program for ${names.join(" or ")}`);
  console.error("hint: install without --omit=optional; docs/INSTALL.md names the platforms and other ways");
  process.exit(1);
}

const program = spawn(find(), process.argv.slice(2), { stdio: "inherit" });
// The terminal sends its signals to both; what only this process gets is handed on.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => program.kill(signal));
}
program.on("error", (error) => {
  console.error(`error: cannot start ${program.spawnfile}: ${error.message}`);
  process.exit(1);
});
program.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});

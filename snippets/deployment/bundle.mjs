/* Bundle a module and all it imports into one file for browsers, and write LICENSES.txt,
 * the licences of what went in, beside it (one bundle for each folder):
 *
 *   npm ci --ignore-scripts
 *   node bundle.mjs runtime.mjs OUT/runtime.js
 *
 * The same versions (package-lock.json) give the same bytes.
 */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const [entry, target] = process.argv.slice(2);
const out = resolve(target);

const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: [entry],
  outfile: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2020",
  legalComments: "none", // in LICENSES.txt, once instead of once for each file
  metafile: true,
  logLevel: "error",
});

/* The folder of each package that has code in the bundle; what a package replaces by
 * nothing for browsers has none. */
const used = Object.values(metafile.outputs)
  .flatMap(({ inputs }) => Object.keys(inputs))
  .filter((path) => !path.startsWith("(disabled)"))
  .map((path) => path.match(/^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//)?.[1])
  .filter(Boolean);

/* The text of a package's licence: its file, else the end of its readme. Google's
 * packages carry a name alone. */
function text(folder) {
  const names = readdirSync(join(here, folder));
  const file = names.find((name) => /^licen[cs]e/i.test(name));
  if (file) return readFileSync(join(here, folder, file), "utf8");
  const readme = names.find((name) => /^readme/i.test(name));
  if (!readme) return undefined;
  return readFileSync(join(here, folder, readme), "utf8").match(/^licen[cs]e\b[^]*/im)?.[0];
}

const notices = [...new Set(used)].sort().map((folder) => {
  const about = JSON.parse(readFileSync(join(here, folder, "package.json"), "utf8"));
  const { name, version, license, author, repository } = about;
  const google = /^@(tensorflow|litertjs)\//.test(name);
  const by = google ? "Google LLC. All Rights Reserved." : (author?.name ?? author);
  const from = (repository?.url ?? repository ?? "").replace(/^git\+/, "");
  const terms = text(folder)?.trim() ?? `The text of ${license} stands in this file.`;
  return `${name} ${version}, ${license}\nCopyright ${by}\n${from}\n\n${terms}\n`;
});
const all = notices.join();
if (all.includes("stands in this file") && !all.includes("TERMS AND CONDITIONS"))
  notices.push(text("node_modules/long")); // under Apache-2.0 too, and it has the text
const line = "-".repeat(80);
writeFileSync(join(dirname(out), "LICENSES.txt"), notices.join(`\n${line}\n\n`));

/* Score pages with Lighthouse: `node score.mjs ADDRESS RUNS PAGE...`, one line of JSON for each page and device.
 *
 * The scores of a page are the median of its runs. CHROME_PATH names the browser.
 */
import { launch } from "chrome-launcher";
import lighthouse, { desktopConfig } from "lighthouse";

const [address, runs, ...pages] = process.argv.slice(2);
const FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic",
  "--disable-background-networking", "--disable-component-update"];
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

const chrome = await launch({ chromeFlags: FLAGS });
try {
  for (const page of pages) {
    for (const [device, config] of [["desktop", desktopConfig], ["mobile", undefined]]) {
      const results = [];
      for (let run = 0; run < Number(runs); run += 1) {
        const flags = { port: chrome.port, logLevel: "error", disableFullPageScreenshot: true };
        results.push((await lighthouse(address + page, flags, config)).lhr);
      }
      const scores = Object.fromEntries(Object.keys(results[0].categories).map((category) =>
        [category, median(results.map((result) => Math.round(100 * result.categories[category].score)))]));
      const lost = [...new Set(results.flatMap((result) => Object.values(result.categories).flatMap((category) =>
        category.auditRefs.filter(({ id, weight }) => weight > 0 && result.audits[id].score !== null
          && result.audits[id].score < 0.9).map(({ id }) => id))))];
      const shift = Math.max(...results.map((result) => result.audits["cumulative-layout-shift"].numericValue));
      console.log(JSON.stringify({ page, device, scores, lost, shift }));
    }
  }
} finally {
  chrome.kill();
}

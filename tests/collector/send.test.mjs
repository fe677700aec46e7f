// Send a report with the client: node send.test.mjs CLIENT < {url, report, ticket}. Prints what became of it.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const prdp = await import(pathToFileURL(process.argv[2]));
const { url, report, ticket } = JSON.parse(readFileSync(0, "utf8"));
const found = await prdp
  .send(url, prdp.Report.ofBytes(prdp.unhex(report)), ticket, { pause: 10 })
  .catch((error) => ({ error: error.message }));
console.log(JSON.stringify(found));

// Send a report with the client: node send.test.mjs CLIENT < {url, report, ticket, ...options}. Prints what became
// of it; without a report, fetches the campaign. With {account}, prints what is left in a stored account.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const prdp = await import(pathToFileURL(process.argv[2]));
const { url, report, ticket, account, ...options } = JSON.parse(readFileSync(0, "utf8"));
const storage = { getItem: () => account, setItem() {} };
const left = async () => ({ left: new prdp.Client({ storage }).left });
const asked = account !== undefined
  ? left()
  : report
  ? prdp.send(url, prdp.Report.ofBytes(prdp.unhex(report)), ticket, { pause: 10, ...options })
  : prdp.fetchCampaign(url, options).then(() => ({}));
const found = await asked.catch((error) => ({ error: error.message, name: error.name }));
console.log(JSON.stringify(found));

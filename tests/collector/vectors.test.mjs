// Hold the JavaScript client to vectors: node vectors.test.mjs CLIENT VECTORS. Prints one line of JSON.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [client, file] = process.argv.slice(2);
const { check } = await import(new URL("./check-vectors.mjs", import.meta.url));
const prdp = await import(pathToFileURL(client));
const found = await check(prdp, JSON.parse(readFileSync(file, "utf8")));
console.log(JSON.stringify(found));
